# SPDX-License-Identifier: Apache-2.0
"""``run`` on a host that has two cards, whatever the one is that these tests run on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import certifi
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


ELSEWHERE = ("--print", "--elsewhere", "--image", "r.test/a:1")


def printed(run: Run, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The text without the line breaks of a shell."""
    assert run(*words) == 0
    return capsys.readouterr().out.replace(" \\\n ", "")


def test_options_of_docker_are_passed_on(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-e", "TOKEN=a b", "-e", "HOME", "-p", "127.0.0.1:8888:8888", "--network", "host")
    said = printed(run, capsys, *ELSEWHERE, *words, "--name", "train-1", "--", "jupyter", "lab")
    assert " --name train-1 --network host " in said
    assert " --publish 127.0.0.1:8888:8888 --env 'TOKEN=a b' --env HOME r.test/a:1 jupyter lab" in (
        said
    )


def test_options_after_two_dashes_are_docker_own(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--", "--cap-add", "SYS_PTRACE", "--", "python3", "a.py", "--", "-x")
    said = printed(run, capsys, *ELSEWHERE, *words)
    assert said.endswith(" --cap-add SYS_PTRACE r.test/a:1 python3 a.py -- -x\n")
    said = printed(run, capsys, *ELSEWHERE, "python3", "--", "--version")
    assert said.endswith(" r.test/a:1 python3 --version\n")


def test_a_container_in_the_background_waits_for_commands(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed(run, capsys, *ELSEWHERE, "--detach")
    assert "--detach --init" in said and "--tty" not in said
    assert said.endswith(" r.test/a:1 sleep infinity\n")


def test_certificates_of_a_company_are_trusted_in_the_container(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    ca = certifi.where()
    said = printed(run, capsys, "--print", "--image", "r.test/a:1", "--ca", ca)
    assert f" --mount type=bind,source={ca},target=/run/cannery-ca.crt,readonly " in said
    assert " --env PIP_CERT=/run/cannery-ca.crt --env SSL_CERT_FILE=/run/cannery-ca.crt " in said
    with pytest.raises(UsageError, match="--ca and --elsewhere cannot be combined"):
        run(*ELSEWHERE, "--ca", ca)


REFUSED = {
    "a port alone": (("-p", "8888"), "invalid ports '8888'. Write them as HOST:CONTAINER"),
    "a port that there is not": (("-p", "1:65536"), "invalid ports '1:65536'."),
    "a variable": (("-e", "1=2"), "invalid variable '1=2'. Write it as NAME=VALUE"),
    "a variable of nobody": (("-e", "NO_SUCH"), "this environment has no variable NO_SUCH. Set"),
    "a name": (("--name", "a b"), "invalid name of a container 'a b'."),
    "a container of a cluster": (
        ("--format", "k8s", "--detach"),
        "the format k8s has no --detach. It is for a container that starts here.",
    ),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_options_that_docker_would_refuse(run: Run, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(*ELSEWHERE, *words)
    assert message in str(caught.value)


def test_a_cluster_has_no_place_for_options_of_one_host(run: Run) -> None:
    words = ("--format", "k8s", "--image", "r.test/a:1", "--name", "one", "-p", "1:1", "-e", "HOME")
    with pytest.raises(UsageError) as caught:
        run(*words, "--network", "host", "--ca", certifi.where(), "--", "--privileged")
    named = [
        problem.what.removeprefix("the format k8s has no ") for problem in (caught.value.problems)
    ]
    assert named == [
        *("--network.", "options after '--'.", "--name.", "--publish.", "--ca."),
        "--env NAME without a value.",
    ]


def test_a_token_is_in_no_argument(
    run: Run, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docker takes its value from the environment."""
    given: list[tuple[list[str], dict[str, str]]] = []

    def start(_: str, argv: list[str], env: dict[str, str]) -> None:
        given.append((argv, env))
        raise Started

    monkeypatch.setattr("os.execvpe", start)
    monkeypatch.setenv("HF_TOKEN", "secret-value")
    with pytest.raises(Started):
        run("--simulate", "-e", "HF_TOKEN", "--", "true")
    [(argv, env)] = given
    assert argv[argv.index("HF_TOKEN") - 1] == "--env"
    assert "secret-value" not in " ".join(argv)
    assert env["HF_TOKEN"] == "secret-value"


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
