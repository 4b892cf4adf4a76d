# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fuzz``: 1,000,000 random calls of the device's C interface.

The device is built with sanitizers, or the one that NPUSIM_TEST_BUILD names. A seed makes the calls
of one process again, except for those of several threads: their order is up to the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.device.hosts import Host, build
from tests.fuzz.campaign import Campaign, table

CALLS_PER_PROCESS = 10_000
MEMORY_MB = 512
"""MiB of a card: little, because processes with sanitizers take several times as much."""


def main() -> int:
    """Make the calls, print each failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000, help="how many (1,000,000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first process (0)")
    parser.add_argument("--per-process", type=int, default=CALLS_PER_PROCESS)
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="at once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = Host.make(build(folder / "built", "address,undefined"), folder, MEMORY_MB)
        campaign = Campaign(folder, host.environment({}))
        seeds = range(options.seed, options.seed + -(-options.calls // options.per_process))
        start, ended = time.monotonic(), []
        for each in campaign.run_all(seeds, options.per_process, options.processes):
            ended.append(each)
            if each.failure:
                print(f"seed {each.seed} ({each.threads} threads) {each.failure}", flush=True)
    print(f"seeds {seeds[0]} to {seeds[-1]}, {options.per_process:,} calls a process,", end=" ")
    print(f"{time.monotonic() - start:.0f} s")
    print(table(ended))
    return int(any(each.failure for each in ended))


if __name__ == "__main__":
    sys.exit(main())
