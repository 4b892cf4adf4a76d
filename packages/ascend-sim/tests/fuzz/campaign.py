# SPDX-License-Identifier: Apache-2.0
"""Processes of random calls, one seed each, and what became of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS_PER_CALL = 0.2
THREADS = 3
"""Of every fourth process; the others have one."""
GOOD_TABLE = """{"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
  {"server_id": "10.0.0.1", "device": [{"device_id": "0", "rank_id": "0"}]}]}"""


@dataclass(frozen=True)
class Ended:
    """One process of calls."""

    seed: int
    threads: int
    succeeded: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""
    """Why it did not end by itself, and in which call."""


class Campaign:
    """Runs processes with the environment of a simulated host."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = {
            **environment,
            "HCCL_CONNECT_TIMEOUT": "1",
            "HCCL_EXEC_TIMEOUT": "1",
            "PYTHONMALLOC": "malloc",  # the sanitizer sees what is beyond a place of ours
        }
        self.tables = [folder / f"table{number}.json" for number in range(4)]
        texts = [GOOD_TABLE, GOOD_TABLE[:90], GOOD_TABLE.replace('"0"', '"9"'), "[" * 100]
        for path, text in zip(self.tables, texts, strict=True):
            path.write_text(text)

    def run(self, seed: int, calls: int) -> Ended:
        threads = THREADS if seed % 4 == 3 else 1
        trace = self.folder / f"trace{seed}"
        words = [str(seed), str(calls), str(trace), str(threads), *map(str, self.tables)]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.child", *words],
                cwd=ROOT,
                # Every other group of four takes the types of the card only.
                env={**self.environment, "NPUSIM_LENIENT": str(seed // 4 % 2)},
                capture_output=True,
                timeout=60 + SECONDS_PER_CALL * calls,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ended(seed, threads, failure=f"does not end; {_under_way(trace)}")
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace")
            reason = f"{_reason(done.returncode)}; {_under_way(trace)}\n{_report(said)}"
            return Ended(seed, threads, failure=reason)
        counts = [(str(f), bool(s), int(n)) for f, s, n in json.loads(done.stdout)]
        return Ended(
            seed,
            threads,
            {family: count for family, success, count in counts if success},
            {family: count for family, success, count in counts if not success},
        )

    def run_all(self, seeds: Iterable[int], calls: int, processes: int) -> Iterator[Ended]:
        with ThreadPoolExecutor(processes) as pool:
            yield from pool.map(lambda seed: self.run(seed, calls), seeds)


def table(ended: Iterable[Ended]) -> str:
    """How many calls of each family succeeded and were refused, and the processes that failed."""
    succeeded, refused, failures = Counter[str](), Counter[str](), 0
    for each in ended:
        succeeded.update(each.succeeded)
        refused.update(each.refused)
        failures += bool(each.failure)
    families = sorted({*succeeded, *refused})
    width = max(map(len, [*families, "family"])) + 2
    rows = [(each, succeeded[each], refused[each]) for each in families]
    rows.append(("all", succeeded.total(), refused.total()))
    lines = [f"{'family':<{width}}{'calls':>12}{'success':>12}{'error code':>12}"]
    lines += [f"{name:<{width}}{a + b:>12,}{a:>12,}{b:>12,}" for name, a, b in rows]
    return "\n".join([*lines, f"processes that crashed or did not end: {failures}"])


def _under_way(trace: Path) -> str:
    lines = trace.read_text().splitlines() if trace.is_file() else []
    return "in call " + "; ".join(" ".join(line.split()) for line in lines)


def _reason(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _report(said: str) -> str:
    """What a sanitizer says, without the frames of Python."""
    told = [
        line
        for line in said.splitlines()
        if "ERROR: Add" in line or "runtime error" in line or re.match(r" +#\d+ .*/device/", line)
    ]
    return "\n".join(told[:12] or said.splitlines()[-8:])
