# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fuzz.child SEED CALLS TRACE THREADS TABLE...``: one process of random calls.

Prints how many calls of each family ended with and without success, as JSON. The file TRACE has the
number of the call under way and its function, which outlive a crash.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import random
import resource
import sys
import threading
from collections import Counter
from pathlib import Path

from .arguments import Arguments
from .calls import Caller, Run
from .pools import Pools

TRACE_BYTES = 80
MEMORY = 8 << 30
"""Bytes that a process may take; what needs more is to end in an error code."""


class Trace:
    """What each thread does, in a file."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT)

    def write(self, thread: int, number: int, name: str) -> None:
        line = f"{number:>9} {name}"[: TRACE_BYTES - 1].ljust(TRACE_BYTES - 1) + "\n"
        os.pwrite(self.file, line.encode(), thread * TRACE_BYTES)


def work(run: Run, calls: int) -> None:
    run.prepare()
    while run.caller.total < calls:
        run.step()


def main() -> None:
    seed, calls, threads = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4])
    faulthandler.disable()  # a crash is reported by the sanitizer, or by the signal that ended us
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # whose own memory has no bounds
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    trace = Trace(Path(sys.argv[3]))
    library = ctypes.CDLL(os.environ["NPUSIM_LIBRARY"])
    pools = Pools()
    callers: list[Caller] = []
    for thread in range(threads):
        chance = random.Random(f"{seed} {thread}")
        arguments = Arguments(chance, pools, [os.fsencode(each) for each in sys.argv[5:]])

        def announce(name: str, thread: int = thread) -> None:
            trace.write(thread, callers[thread].total, name)

        callers.append(Caller(library, arguments, announce))
    started = [
        threading.Thread(target=work, args=(Run(caller, shared=threads > 1), calls // threads))
        for caller in callers
    ]
    for each in started:
        each.start()
    for each in started:
        each.join()
    ended: Counter[tuple[str, bool]] = sum((caller.ended for caller in callers), Counter())
    print(json.dumps([[family, success, count] for (family, success), count in ended.items()]))
    sys.stdout.flush()
    os._exit(0)  # what the calls left behind is not what this is about


if __name__ == "__main__":
    main()
