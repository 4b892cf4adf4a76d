# SPDX-License-Identifier: Apache-2.0
"""``run`` on a host that has two cards, whatever the one is that these tests run on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cannery.cli import cmd_run
from cannery.cli.parser import parse
from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.model import Target
from cannery.engine import client as engine
from cannery.engine import preflight
from cannery.engine.preflight import Findings
from cannery.verify import devices
from tests.unit.matrices import CHECKOUT

TARGET = "py39-torch231-cann8t39"

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(cmd_run, "cards_of", lambda: (0, 2))

    def type_in(*words: str) -> int:
        target = ["run", "--target", TARGET]
        command, given = parse([*target, *words])
        return command.run(given, CHECKOUT)

    return type_in


def test_more_cards_than_there_are(run: Run) -> None:
    with pytest.raises(UsageError) as caught:
        run("--print", "--cards", "3")
    assert str(caught.value) == (
        "--cards 3 is more than this host has, 2: 0, 2. Use --cards 2 or fewer."
    )


def test_a_runtime_unknown_to_the_engine_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ("aarch64", frozenset({"runc"}))
    monkeypatch.setattr(engine, "machine_and_runtimes", lambda: answer)
    with pytest.raises(EngineError, match="the engine has no runtime 'ascend'; it has runc"):
        run("--print", "--runtime", "ascend")
    assert capsys.readouterr().out == ""


def test_all_cards_are_taken_by_their_numbers(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ("aarch64", frozenset({"ascend"}))
    monkeypatch.setattr(engine, "machine_and_runtimes", lambda: answer)
    assert run("--print", "--runtime", "ascend") == 0
    assert "--env ASCEND_VISIBLE_DEVICES=0,2" in capsys.readouterr().out


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


class Started(Exception):  # noqa: N818 - in the place of a program that takes over
    """docker would run now."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The targets whose simulated driver is made; none exists, and this host can run an image."""
    asked: list[str] = []
    tree = SimpleNamespace(host=tmp_path / "driver")

    def make(_: object, target: Target, *__: object) -> SimpleNamespace:
        asked.append(target.id)
        return tree

    def start(*_: object) -> None:
        raise Started

    for module in (cmd_run, devices):
        monkeypatch.setattr(module, "simulated", lambda *_: tree)
    monkeypatch.setattr(devices, "make_simulated", make)
    monkeypatch.setattr(preflight, "check_host", lambda *_, **__: Findings(problems=(), notes=()))
    monkeypatch.setattr("os.execvpe", start)
    return asked


def test_the_simulated_driver_is_made_before_the_container(run: Run, made: list[str]) -> None:
    with pytest.raises(Started):
        run("--simulate")
    assert made == [TARGET]


@pytest.mark.parametrize("words", [["--print"], ["--format", "compose"]])
def test_a_text_makes_no_simulated_driver(run: Run, made: list[str], words: list[str]) -> None:
    with pytest.raises(EngineError, match=f"does not exist.* run {TARGET} --simulate -- true"):
        run("--simulate", *words)
    assert made == []


def test_no_simulated_driver_is_made_for_a_refused_run(
    run: Run, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Findings(problems=(Problem(what="there is no image."),), notes=())
    monkeypatch.setattr(preflight, "check_host", lambda *_, **__: found)
    with pytest.raises(EngineError, match="there is no image"):
        run("--simulate")
    with pytest.raises(UsageError, match="invalid mount"):
        run("--simulate", "--mount", "/data")
    assert made == []
