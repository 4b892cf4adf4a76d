# SPDX-License-Identifier: Apache-2.0
"""``run`` on a host that has two cards, whatever the one is that these tests run on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cannery.cli import cmd_run
from cannery.cli.parser import parse
from cannery.errors import EngineError, UsageError
from cannery.execute.engine import client as engine
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(cmd_run, "cards_of", lambda: (0, 2))

    def type_in(*words: str) -> int:
        target = ["run", "--target", "py39-torch231-cann8t39"]
        _, given = parse([*target, *words])
        return cmd_run.run(given, Project(root=CHECKOUT))

    return type_in


def test_more_cards_than_there_are(run: Run) -> None:
    with pytest.raises(UsageError) as caught:
        run("--print", "--cards", "3")
    assert str(caught.value) == (
        "--cards 3 is more than this host has, 2: 0, 2. Use --cards 2 or fewer."
    )


def test_all_cards_are_taken_by_their_numbers(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ("aarch64", frozenset({"ascend"}))
    monkeypatch.setattr(engine, "machine_and_runtimes", lambda: answer)
    assert run("--print", "--runtime", "ascend") == 0
    assert "--env ASCEND_VISIBLE_DEVICES=0,2" in capsys.readouterr().out


def test_a_runtime_that_the_engine_does_not_have(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ("aarch64", frozenset({"runc"}))
    monkeypatch.setattr(engine, "machine_and_runtimes", lambda: answer)
    with pytest.raises(EngineError, match="the engine has no runtime 'ascend'; it has runc"):
        run("--print", "--runtime", "ascend")
    assert capsys.readouterr().out == ""


def test_without_an_engine_the_runtime_is_believed(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dead() -> None:
        raise EngineError("nobody there")

    monkeypatch.setattr(engine, "machine_and_runtimes", dead)
    assert run("--print", "--runtime", "ascend") == 0
    said = capsys.readouterr()
    assert "--runtime ascend" in said.out
    assert "no engine answers here" in said.err
