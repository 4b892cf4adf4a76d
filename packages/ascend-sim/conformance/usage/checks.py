# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.usage.checks``: run on a simulated host by the Python of a torch_npu.

The host has 2 cards. Prints each check's result as JSON. What is computed must be as on the CPU,
and an error as on the card.
"""

import argparse
import json
import time
from typing import Callable

from conformance.usage import first_use, ranks, single
from conformance.usage.processes import ended, forked, reason

CHECKS = (*single.CHECKS, *first_use.CHECKS, *ranks.CHECKS)
REPEATED = (
    *first_use.CHECKS,
    ranks.fully_sharded,
    single.refused_types,
    single.types_of_the_source,
    single.sparse_coalesce,
)
"""Those that could hang."""


def say(name: str, result: str) -> None:
    """``pass``, or why not."""
    print("check: " + json.dumps([name, result]), flush=True)


def result(check: "Callable[[], None]", runs: int) -> str:
    """``pass``, or why not; each run in a process of its own, which its errors end."""
    slowest = 0.0
    for run in range(runs):
        begin = time.monotonic()
        code, said = ended(*forked(check))
        slowest = max(slowest, time.monotonic() - begin)
        if code:
            return f"run {run + 1} of {runs} ended with {code}: {reason(said)}"
    return "pass" if runs == 1 else f"pass, {runs} runs of at most {slowest:.0f} s"


def main() -> None:
    """Run the checks that are named, or all."""
    import torch_npu  # noqa: F401 - the processes have it, and no device yet

    options = argparse.ArgumentParser(prog="python -m conformance.usage.checks")
    options.add_argument("names", nargs="*", metavar="CHECK")
    options.add_argument("--runs", type=int, default=1, help="of each check that could hang")
    asked = options.parse_args()
    for check in CHECKS:
        if not asked.names or check.__name__ in asked.names:
            say(check.__name__, result(check, asked.runs if check in REPEATED else 1))


if __name__ == "__main__":
    main()
