# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.campaign``: edits the YAML files at random; see campaign.py."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.campaign.campaign import Campaign, Outcome, table, told

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run the campaign, print every failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many edits (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="which edits (1)")
    parser.add_argument("--only", type=int, help="make this edit alone, and say what became of it")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Campaign(ROOT, Path(scratch), options.seed)
        if options.only is not None:
            print(told(campaign.judge(campaign.edit(options.only)), options.seed))
            return 0
        verdicts = []
        for verdict in campaign.run(range(options.count)):
            verdicts.append(verdict)
            if verdict.outcome is Outcome.FAILURE:
                print(told(verdict, options.seed), flush=True)
    print(table(verdicts))
    return int(any(each.outcome is Outcome.FAILURE for each in verdicts))


if __name__ == "__main__":
    sys.exit(main())
