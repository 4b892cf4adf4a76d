# SPDX-License-Identifier: Apache-2.0
"""A campaign that was stopped goes on where its log ends, and repeats its failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest

from tests.campaigns import FAILURE, Told, main


class Outcome(StrEnum):
    GOOD = "good"
    FAILURE = FAILURE


@dataclass(frozen=True, kw_only=True)
class Verdict:
    kind: str
    outcome: StrEnum

    def told(self, seed: int) -> str:
        return f"{self.outcome} of seed {seed}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[int]]]:
    def run(*words: str, bad: tuple[int, ...] = ()) -> tuple[int, list[int]]:
        judged: list[int] = []

        def judge(number: int) -> Told:
            judged.append(number)
            outcome = Outcome.FAILURE if number in bad else Outcome.GOOD
            return Verdict(kind=f"kind {number % 2}", outcome=outcome)

        @contextmanager
        def begin(_: int) -> Iterator[Callable[[int], Told]]:
            yield judge

        monkeypatch.setattr(sys, "argv", ["campaign", *words])
        return main("tests.example", "case", 4, begin, Outcome), judged

    return run


def test_only_missing_or_failed_cases_are_judged_again(
    run: Callable[..., tuple[int, list[int]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ("--log", str(tmp_path / "log.tsv"))
    assert run("--count", "2", *log, bad=(1,)) == (1, [0, 1])
    assert run(*log) == (0, [1, 2, 3])
    assert run(*log) == (0, [])
    assert capsys.readouterr().out.splitlines()[-1].split() == ["all", "4", "0"]
    assert run("--seed", "2", *log) == (0, [0, 1, 2, 3])


def test_a_part_of_a_campaign(run: Callable[..., tuple[int, list[int]]]) -> None:
    assert run("--first", "2", "--count", "2") == (0, [2, 3])
