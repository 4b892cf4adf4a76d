# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fetch``: faults at random over fetches; see fetch_campaign.py."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

from tests.fetch.fetch_campaign import Campaign, Outcome, make_case, table, told
from tests.fetch.server import serving


def main() -> int:
    """Run the campaign, print every failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.fetch", description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="how many faults (2,000)")
    parser.add_argument("--seed", type=int, default=1, help="which faults (1)")
    parser.add_argument("--only", type=int, help="this fault alone, and what became of it")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as scratch, serving() as files:
        campaign = Campaign(Path(scratch), files, options.seed)
        if options.only is not None:
            print(told(campaign.judge(make_case(options.seed, options.only)), options.seed))
            return 0
        verdicts = []
        for number in range(options.count):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                [verdict] = campaign.run([number])
            verdicts.append(verdict)
            if verdict.outcome is Outcome.FAILURE or "Traceback" in said.getvalue():
                print(told(verdict, options.seed), said.getvalue(), sep="\n", flush=True)
    print(table(verdicts))
    return int(any(each.outcome is Outcome.FAILURE for each in verdicts))


if __name__ == "__main__":
    sys.exit(main())
