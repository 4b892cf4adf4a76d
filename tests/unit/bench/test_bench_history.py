# SPDX-License-Identifier: Apache-2.0
"""The history of all runs, its picture, and the comparison of two of them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import compare, draw_history, history
from bench.__main__ import main
from bench.arguments import ROOT
from bench.history import Record
from bench.result import Figure, Series, merged, save
from cannery.common.errors import FileError, UsageError

SVG = "{http://www.w3.org/2000/svg}"
FACTS = {"cpu": "A CPU", "cores": "2"}


def one(key: str, ours: Sequence[float], reference: Sequence[float] = ()) -> Figure:
    return Figure(
        key=key,
        title=f"figure {key}",
        unit="s",
        ours=Series(what="ours", samples=tuple(ours)),
        reference=Series(what="baseline", samples=tuple(reference)) if reference else None,
    )


def line(commit: str, *figures: Figure, cpu: str = "A CPU") -> str:
    facts = {**FACTS, "cpu": cpu}
    return history.line(figures, facts, date="2026-01-02T03:04:05Z", commit=commit, quick=True)


def written(path: Path, *lines: str) -> Path:
    for each in lines:
        history.append(path, each)
    return path


def test_a_run_is_a_line_with_all_samples(tmp_path: Path) -> None:
    path = written(tmp_path / "new" / "h.jsonl", line("abc", one("cold", [1, 2, 9], [4])))
    [text] = path.read_text("utf-8").splitlines()
    assert json.loads(text)["quick"] is True
    [record] = history.read(path)
    assert (record.commit, record.machine) == ("abc", "a-cpu-2-cores")
    assert record.figures["cold"]["ours"]["samples"] == [1, 2, 9]
    assert record.figures["cold"]["reference"]["samples"] == [4]


def test_a_results_file_is_a_run_too(tmp_path: Path) -> None:
    path = tmp_path / "a-cpu.json"
    save(path, merged({}, FACTS, [one("cold", [5])], date="2026-01-02", commit="abc"))
    record = history.side(str(path), tmp_path / "none")
    assert record.figures["cold"]["ours"]["samples"] == [5]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 0}', '{"schema": 1}', "1"])
def test_what_is_no_history_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"h\.jsonl has no results"):
        history.read(path)


def test_the_history_that_is_committed_can_be_read() -> None:
    assert len(history.read(ROOT / "bench" / "results" / "history.jsonl")) > 5


def test_all_runs_of_a_commit_count(tmp_path: Path) -> None:
    path = written(
        tmp_path / "h.jsonl",
        line("abc1234", one("cold", [1, 2], [4, 4])),
        line("def5678", one("cold", [7])),
        line("abc1234", one("cold", [3], [4]), one("size", [8])),
    )
    found = history.side("abc", path)
    assert found.figures["cold"]["ours"]["samples"] == [1, 2, 3]
    assert found.figures["cold"]["reference"]["samples"] == [4, 4, 4]
    assert found.figures["size"]["ours"]["samples"] == [8]
    with pytest.raises(UsageError, match="no results of 'fff'"):
        history.side("fff", path)
    history.append(path, line("abc1234", one("cold", [1]), cpu="Another"))
    with pytest.raises(UsageError, match="of several machines: a-cpu-2-cores, another-2-cores"):
        history.side("abc", path)


def record(*figures: Figure, machine: str = "m") -> Record:
    entries = {figure.key: figure.to_json(date="", commit="") for figure in figures}
    return Record(commit="c", machine=machine, date="", figures=entries)


FAST = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7]
SLOW = [each + 1 for each in FAST]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (FAST, SLOW, "slower"),
        (SLOW, FAST, "faster"),
        (FAST, FAST[::-1], "no difference that can be told"),
        (FAST[:3], SLOW[:3], "no difference that can be told"),
    ],
)
def test_a_verdict_needs_enough_samples_and_a_difference(
    before: list[float], after: list[float], verdict: str
) -> None:
    [row] = compare.compared(record(one("cold", before)), record(one("cold", after)))
    assert row.verdict == verdict
    assert row.samples == (len(before), len(after))


def test_a_busier_machine_is_not_a_slower_program() -> None:
    before = record(one("cold", FAST, [5.0] * 8))
    after = record(one("cold", [2 * each for each in FAST], [10.0] * 8))
    [row] = compare.compared(before, after)
    assert (row.verdict, row.ratio) == ("no difference that can be told", 1)


def test_one_of_many_figures_must_differ_more() -> None:
    # Alone, p is 0.029.
    before, after = FAST[:4], SLOW[:4]
    assert compare.compared(record(one("cold", before)), record(one("cold", after)))[0].p < 0.05
    same = [one(key, FAST) for key in ("size", "help", "list")]
    rows = compare.compared(record(one("cold", before), *same), record(one("cold", after), *same))
    assert {row.verdict for row in rows} == {"no difference that can be told"}


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="different machines: m and n"):
        compare.compared(record(one("cold", [1])), record(one("cold", [1]), machine="n"))
    with pytest.raises(UsageError, match="no figure in common"):
        compare.compared(record(one("cold", [1])), record(one("size", [1])))


def test_the_exit_code_says_that_a_figure_is_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = written(tmp_path / "before.jsonl", line("a", one("cold", FAST)))
    after = written(tmp_path / "after.jsonl", line("b", one("cold", SLOW)))
    assert main(["--compare", str(before), str(after)]) == 1
    assert "| figure cold | 8, 8 | 1.10 | 0.000 | slower |" in capsys.readouterr().out
    assert main(["--compare", str(after), str(before)]) == 0
    assert main(["--compare", str(after), "no-such-commit"]) == 2


def test_points_of_one_machine_are_joined_in_the_order_of_the_runs(tmp_path: Path) -> None:
    path = written(
        tmp_path / "h.jsonl",
        line("aaa", one("cold", [1], [4])),
        line("bbb", one("cold", [2], [4]), cpu="Another"),
        line("ccc", one("cold", [3], [4])),
    )
    text = draw_history.chart(history.read(path))
    root = ET.fromstring(text)
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert texts == [
        *("a-cpu-2-cores", "another-2-cores", "figure cold (ratio): 0.75", "aaa", "bbb", "ccc"),
    ]
    [joined] = [each for each in root.iter(f"{SVG}line") if each.get("stroke") == "#2f7d4f"]
    circles = [each for each in root.iter(f"{SVG}circle") if each.get("r") == "3"]
    assert len(circles) == 3
    first, last = [each for each in circles if each.get("fill") == "#2f7d4f"]
    assert (joined.get("x1"), joined.get("y1")) == (first.get("cx"), first.get("cy"))
    assert (joined.get("x2"), joined.get("y2")) == (last.get("cx"), last.get("cy"))
    assert text == draw_history.chart(history.read(path))
