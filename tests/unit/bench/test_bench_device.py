# SPDX-License-Identifier: Apache-2.0
"""The bench of operators: workers that crash, hang or are poisoned, and the page."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from bench.device import report, run
from bench.device.explained import explanation
from cannery.errors import UsageError

WORKER = """\
import json, os, sys, time
NAMES = ["fine", "crashes", "hangs", "poisons", "broken"]
if sys.argv[1] == "list":
    print("noise"); print(json.dumps(NAMES)); sys.exit()
first, last, done = map(int, sys.argv[3:])
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
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run.Programs:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(run, "WORKER", worker)
    monkeypatch.setattr(run, "HANG", 1)
    return run.Programs(sys.executable, dict(os.environ))


def test_a_crash_or_a_hang_counts_for_one_case(programs: run.Programs) -> None:
    found = run.measure(programs, "forward", None, 2, lambda _: None)
    assert found["fine"] == {"a": "pass", "b": "pass"}
    assert found["crashes"] == {"a": "crash: exit -6", "b": "pass"}
    assert found["hangs"] == {"a": "hang", "b": "pass"}
    assert found["poisons"] == {"a": "Inner error: npusim: x", "b": "pass"}
    assert found["broken"] == {"process": "crash: exit 3"}
    counts = report.count(found)
    assert (counts.operators, counts.every, counts.some, counts.none) == (5, 1, 3, 1)
    assert (counts.crashes, counts.hangs, counts.failing) == (2, 1, 4)


def test_only_some_operators(programs: run.Programs) -> None:
    assert list(run.measure(programs, "forward", "^fine$", 1, lambda _: None)) == ["fine"]


def test_a_python_without_torch_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import nothing_of_that_name")
    monkeypatch.setattr(run, "WORKER", worker)
    with pytest.raises(UsageError, match="cannot list torch's OpInfo"):
        run.Programs(sys.executable, dict(os.environ)).names()


def test_groups_are_of_neighbours() -> None:
    names = [f"op{i}" for i in range(100)]
    assert run.wanted(names, None) == [(0, 40), (40, 80), (80, 100)]
    assert run.wanted(names, "op9[01]|op5$") == [(5, 6), (90, 92)]


def test_a_wrong_value_is_explained_or_not() -> None:
    why = "wrong: ['(2,) torch.int8 [1]'] not ['(2,) torch.int64 [1]']"
    assert explanation("nn.functional.max_pool2d", "float32[0]", why)
    assert explanation("add", "float32[0]", "wrong: 1 not 2") is None
    results: run.Results = {
        "add": {"x": "wrong: 1 not 2"},
        "nn.functional.max_pool2d": {"float32[0]": why},
    }
    counts = report.count(results)
    assert (counts.wrong, counts.explained) == (1, 1)


def test_the_page_has_a_row_a_direction_and_a_row_a_reason() -> None:
    results = {"forward": {"add": {"x": "pass"}, "sub": {"x": "RuntimeError: a|b\n[ERROR] 1"}}}
    page = report.page(results, "a machine", "torch 1")
    assert "| forward | 2 | 1 | 50.0 % | 0 | 1 | 2 | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| 1 | RuntimeError: a/b | sub |" in page
    assert json.dumps(page)
