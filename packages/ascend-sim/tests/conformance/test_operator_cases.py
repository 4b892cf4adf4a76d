# SPDX-License-Identifier: Apache-2.0
"""The measurements of operators: workers that crash, hang or are poisoned."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ascend_sim.command.errors import UsageError
from conformance.operators import run
from conformance.operators.outcomes import Outcome, count

WORKER = """\
import json, os, sys, time
NAMES = ["fine", "crashes", "hangs", "poisons", "broken", "all ends"]
if sys.argv[1] == "list":
    print("noise"); print(json.dumps(NAMES)); sys.exit()
def run(first, last, done):
    for name in NAMES[first:last]:
        if name == "broken":
            sys.exit(3)
        for case in ("a", "b")[done:]:
            print(json.dumps({"operator": name, "case": case}), flush=True)
            if case == "a" and name == "crashes":
                os.abort()
            if case == "a" and name == "hangs":
                time.sleep(60)
            bad = case == "a" and name == "poisons"
            print(json.dumps({"result": "Inner error: npusim: x" if bad else "pass"}), flush=True)
            if bad:
                os._exit(75)
        done = 0
        print(json.dumps({"finished": name}), flush=True)
for line in sys.stdin:
    if line.startswith("5 "):
        os._exit(4)
    if os.fork() == 0:
        run(*map(int, line.split()))
        sys.exit()
    print(json.dumps({"ended": os.waitstatus_to_exitcode(os.wait()[1])}), flush=True)
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run.Programs:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(run, "WORKER", (str(worker),))
    monkeypatch.setattr(run, "HANG", 1)
    return run.Programs(sys.executable, dict(os.environ))


def test_a_crash_or_a_hang_counts_for_one_case(programs: run.Programs) -> None:
    found = run.measure(programs, "forward", None, 2, lambda _: None)
    assert found["fine"] == {"a": "pass", "b": "pass"}
    assert found["crashes"] == {"a": "crash: exit -6", "b": "pass"}
    assert found["hangs"] == {"a": "hang", "b": "pass"}
    assert found["poisons"] == {"a": "Inner error: npusim: x", "b": "pass"}
    assert found["broken"] == {"process": "crash: exit 3"}
    assert found["all ends"] == {"process": "crash: exit 4"}
    figures = count(found)
    assert (figures.operators, figures.every, figures.none) == (6, 1, 2)
    assert figures.outcomes == {
        Outcome.PASS: 5,
        Outcome.CRASH: 3,
        Outcome.HANG: 1,
        Outcome.ERROR: 1,
    }


def test_only_some_operators(programs: run.Programs) -> None:
    assert list(run.measure(programs, "forward", "^fine$", 1, lambda _: None)) == ["fine"]


def test_a_python_without_torch_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import nothing_of_that_name")
    monkeypatch.setattr(run, "WORKER", (str(worker),))
    with pytest.raises(UsageError, match="cannot list torch's OpInfo"):
        run.Programs(sys.executable, dict(os.environ)).names()


def test_a_seed_draws_the_same_operators_again() -> None:
    names = [f"nn.op{i}" for i in range(100)]
    chosen = [run.wanted(names, run.drawn(names, 40, seed)) for seed in ("a", "a", "b")]
    assert sum(last - first for first, last in chosen[0]) == 40
    assert chosen[0] == chosen[1] != chosen[2]


def test_groups_are_of_neighbours() -> None:
    names = [f"op{i}" for i in range(100)]
    assert run.wanted(names, None) == [(0, 40), (40, 80), (80, 100)]
    assert run.wanted(names, "op9[01]|op5$") == [(5, 6), (90, 92)]
