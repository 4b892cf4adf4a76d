# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.limits import LIMITS, Limit, LimitOn
from bench.result import Figure, Series, load, merged, save
from cannery.common.errors import FileError


def figure(
    ours: tuple[float, ...] = (2.0, 1.0, 9.0),
    reference: tuple[float, ...] | None = (4.0,),
    *,
    key: str = "cold",
) -> Figure:
    return Figure(
        key=key,
        title="cold build",
        unit="s",
        ours=Series(what="ours", samples=ours),
        reference=Series(what="baseline", samples=reference) if reference else None,
    )


@pytest.mark.parametrize(
    ("at_most", "limit_on", "passed"),
    [
        (0.5, "ratio", True),
        (0.49, "ratio", False),
        (2.0, "value", True),
        (1.9, "value", False),
        (None, "ratio", None),
    ],
)
def test_a_limit_applies_to_the_ratio_or_the_value(
    at_most: float | None, limit_on: LimitOn, passed: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Limit(bounded_by="the network", at_most=at_most, on=limit_on)
    monkeypatch.setitem(LIMITS, "cold", limit)
    assert figure().passed is passed


def keep(old: dict[str, Any], *figures: Figure, date: str) -> dict[str, Any]:
    return merged(old, {"kernel": "6.1"}, figures, date=date, commit="abc")


def test_a_later_run_keeps_the_other_figures() -> None:
    first = keep({}, figure(), figure(key="size"), date="2026-01-01")
    second = keep(first, figure((1.0,)), date="2026-01-02")
    assert {key: each["date"] for key, each in second["figures"].items()} == {
        "cold": "2026-01-02",
        "size": "2026-01-01",
    }
    assert second["figures"]["cold"]["ours"]["median"] == 1
    assert first["figures"]["cold"]["ours"]["median"] == 2


def test_results_survive_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "results" / "machine.json"
    assert load(path) == {}
    results = keep({}, figure(), date="2026-01-01")
    save(path, results)
    assert load(path) == results


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 0}'])
def test_an_invalid_results_file_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"machine\.json is not a results file"):
        load(path)
