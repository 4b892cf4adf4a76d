# SPDX-License-Identifier: Apache-2.0
"""How fast a big log is read, in how much memory: ``python -m tests.tools.speed --gigabytes 2``.

With ``--errors 1000`` all its lines are called errors and are alike.

The log is made of lines as vLLM, Megatron, DeepSpeed and CANN write them, of eight ranks, with a
failure near its end. The command runs as a user runs it, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
FAILURE = (
    "[rank5]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 5; 60.96 GiB total"
    " capacity; 58.01 GiB already allocated)\n"
    "[rank5]: [ERROR] 2026-03-01-10:00:00 (PID:905, Device:5, RankID:5) ERR00006 PTA memory error\n"
)
FORMS = (
    "[rank{r}]: iteration {n}/ 900000 | consumed samples: {k} | lm loss: 1.{k}E+00 | skipped: 0 |",
    "[2026-03-01 10:{m:02}:{s:02},{t:03}] [INFO] [logging.py:96:log_dist] [Rank {r}] step={n}, lr",
    "(EngineCore_DP0 pid={p}) INFO 03-01 10:{m:02}:{s:02} [loggers.py:118] running: {k}",
    "[INFO] RUNTIME({p},python3):2026-03-01-10:{m:02}:{s:02}.{t:03} [stream.cc:{s}] {p} return {k}",
    "{{'loss': {m}.{k}, 'grad_norm': 0.{n}, 'learning_rate': 1e-05, 'epoch': 0.{s}}}",
    "[W301 10:{m:02}:{s:02}.{k} compiler_depend.ts:137] Warning: cast to float {r}",
    '(APIServer pid={p}) INFO:     10.0.0.{s}:{k} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
)

RARE = "[ERROR] HCCL({p},python3):2026-03-01-10:{m:02}:{s:02}.{t:03} [a.cc:{s}] retry {r} of 8 done"
"""What is called an error: such lines are read in full, or compared with those that were."""


def lines(numbers: random.Random, errors: int) -> Iterator[str]:
    """Lines without end, of which ``errors`` in a thousand are called errors."""
    while True:
        values = {name: numbers.randrange(most) for name, most in (("r", 8), ("m", 60), ("s", 60))}
        values.update(n=numbers.randrange(900_000), k=numbers.randrange(60_000))
        values.update(t=numbers.randrange(1000), p=900 + values["r"])
        form = RARE if numbers.randrange(1000) < errors else numbers.choice(FORMS)
        yield form.format(**values) + "\n"


def write(path: Path, size: int, errors: int) -> None:
    """A log of ``size`` bytes: a MB of lines that are all different, again and again."""
    numbers = random.Random(351125)
    made = lines(numbers, errors)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            block = "".join(next(made) for _ in range(60_000))
            for _ in range(8):
                file.write(block)
        file.write(FAILURE)


def main() -> int:
    """Make the log, read it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--errors", type=int, default=1, help="lines in a thousand")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        # A process begins with the memory of the one that started it, so another one writes.
        made = (path, int(options.gigabytes * 1e9), options.errors)
        writer = multiprocessing.Process(target=write, args=made)
        writer.start()
        writer.join()
        size = path.stat().st_size
        command = [sys.executable, "-m", "ascend_doctor", "--log", str(path), "--json"]
        before = time.monotonic()
        with (Path(folder) / "said.json").open("w+", encoding="utf-8") as said:
            started = subprocess.Popen(command, cwd=PACKAGE, stdout=said)
            used = os.wait4(started.pid, 0)[2]
            taken = time.monotonic() - before
            said.seek(0)
            document = json.load(said)
    [root] = [each for each in document["findings"] if each["role"] == "root"]
    processor = size / (used.ru_utime + used.ru_stime) / 1e6
    print(f"{size / 1e9:.2f} GB in {taken:.1f} s: {size / taken / 1e6:.0f} MB/s by the clock,")
    print(f"{processor:.0f} MB/s by its processor time, {used.ru_maxrss / 1024:.0f} MB of memory;")
    print(f"the root is {root['id']}, rank {root['rank']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
