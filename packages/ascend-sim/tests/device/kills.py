# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.device.kills``: kills a rank at a random moment, 100 times.

The others must end with an error within their timeout, and nothing may stay in /dev/shm.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .hosts import Host, build

TIMEOUT, GRACE = 5, 5
"""Seconds: HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT of every rank, and for Python to end."""
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Kill:
    """One group of ranks, of which one was killed, and how the others ended."""

    seed: int
    ranks: int
    moment: str
    codes: tuple[int | None, ...]
    """What the others returned; None for one that did not end in time."""
    seconds: float
    """From the kill to the end of the last."""
    left: tuple[str, ...]
    """What stayed in /dev/shm."""

    @property
    def good(self) -> bool:
        return all(self.codes) and self.seconds <= TIMEOUT + GRACE and not self.left


def kill_one(host: Host, seed: int) -> Kill:
    """Starts two to four ranks, kills one while they join or work, and waits for the others."""
    chance = random.Random(seed)
    ranks = chance.randrange(2, 5)
    moment = chance.choice(("joining", "working", "working", "working"))
    before = _shared()
    name = f"npusim_kill_{seed}_{time.monotonic_ns()}"
    started = [
        host.start(
            "collectives_until_an_error",
            *(name, str(rank), str(ranks), str(seed)),
            HCCL_CONNECT_TIMEOUT=str(TIMEOUT),
            HCCL_EXEC_TIMEOUT=str(TIMEOUT),
        )
        for rank in range(ranks)
    ]
    for each in started:
        _wait_for(each, moment)
    time.sleep(chance.uniform(0, 0.02 if moment == "joining" else 0.3))
    victim = started.pop(chance.randrange(ranks))
    victim.kill()
    start = time.monotonic()
    codes = [_code(each, start + TIMEOUT + GRACE) for each in started]
    seconds = time.monotonic() - start
    victim.communicate()
    return Kill(seed, ranks, moment, tuple(codes), seconds, tuple(sorted(_shared() - before)))


def table(kills: Sequence[Kill]) -> str:
    """How often the others ended as they should, for each moment."""
    lines = [f"{'killed while':<14}{'times':>7}{'ended well':>12}{'slowest':>10}  error codes"]
    for moment in sorted({each.moment for each in kills}):
        those = [each for each in kills if each.moment == moment]
        codes = Counter(code for each in those for code in each.codes)
        well, slowest = sum(each.good for each in those), max(each.seconds for each in those)
        told = ", ".join(f"{code}: {count} times" for code, count in sorted(codes.items(), key=str))
        lines.append(f"{moment:<14}{len(those):>7}{well:>12}{slowest:>8.1f} s  {told}")
    return "\n".join(lines)


def _shared() -> set[str]:
    return {path.name for path in SHARED_MEMORY.glob("*npusim*")}


def _wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stderr is not None
    while line := process.stderr.readline():
        if word in line:
            return


def _code(process: subprocess.Popen[str], deadline: float) -> int | None:
    try:
        out, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return int(json.loads(out)["code"]) if process.returncode == 0 else None


def main() -> int:
    """Kill ranks, print each failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.device.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how often (100)")
    parser.add_argument("--seed", type=int, default=0, help="of the first kill (0)")
    options = parser.parse_args()
    kills = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = Host.make(build(folder / "built"), folder)
        for seed in range(options.seed, options.seed + options.count):
            kills.append(kill_one(host, seed))
            if not kills[-1].good:
                print(kills[-1], flush=True)
    print(table(kills))
    return int(not all(each.good for each in kills))


if __name__ == "__main__":
    sys.exit(main())
