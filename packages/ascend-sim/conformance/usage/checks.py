# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.usage.checks``: run on a simulated host by the Python of a torch_npu.

The host has 2 cards. Prints each check's result as JSON. What is computed must be as on the CPU,
and an error as on the card.
"""

import json
import sys

from conformance.usage import ranks, single
from conformance.usage.processes import ended, forked, reason

CHECKS = (*single.CHECKS, *ranks.CHECKS)


def say(name: str, result: str) -> None:
    """``pass``, or why not."""
    print("check: " + json.dumps([name, result]), flush=True)


def main(names: "list[str]") -> None:
    """Run these checks, or all; each in a process of its own, which its errors end."""
    import torch_npu  # noqa: F401 - the processes have it, and no device yet

    for check in CHECKS:
        if names and check.__name__ not in names:
            continue
        code, said = ended(*forked(check))
        say(check.__name__, "pass" if code == 0 else f"ended with {code}: {reason(said)}")


if __name__ == "__main__":
    main(sys.argv[1:])
