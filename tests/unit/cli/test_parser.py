# SPDX-License-Identifier: Apache-2.0
"""Every command's options, as they are declared, and what is said of words that are not."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cannery.build import journal
from cannery.build.journal import Journal, read_journal
from cannery.cli.command import Command
from cannery.cli.commands import COMMANDS
from cannery.cli.common import read
from cannery.cli.parser import DEFAULT, parse
from cannery.common.errors import UsageError
from cannery.matrix.project import Project
from cannery.options import build
from cannery.options.build import BuildOptions, PlanOptions, SelectionOptions
from cannery.options.matrix import NewOptions
from cannery.options.option import option
from cannery.options.run import RunOptions
from cannery.options.values import Shard
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)


OWN = {name: each for name, each in COMMANDS.items() if not each.passes_on}


@pytest.fixture(params=[*OWN.values()], ids=[*OWN])
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no line is wrapped."""
    monkeypatch.setenv("COLUMNS", "2000")


def text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        parse(words)
    return " ".join(capsys.readouterr().out.split())


def refused(*words: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        parse(words)
    return [str(problem) for problem in caught.value.problems]


def test_names_are_declared_once_and_used_as_they_are(command: Command) -> None:
    names = [each.name for each in command.declared]
    flags = [flag for each in command.declared for flag in each.flags]
    assert len({*names}) == len(names)
    assert len({*flags}) == len(flags)
    used = {*command.one_of}
    for each in command.declared:
        used |= {*each.option.conflicts, *([each.option.needs] if each.option.needs else [])}
    assert used <= {*names}


def test_every_option_has_help(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys, command.name, "--help")
    assert " ".join(command.description.split()) in said
    assert len(command.description) > len(command.summary) + 60
    for each in command.declared:
        assert each.option.help
        assert not each.option.help.endswith(".")
        assert each.option.help in said
        assert all(flag in said for flag in each.flags or [each.option.metavar])


def test_help_names_files_and_has_an_example(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "82")
    with pytest.raises(SystemExit):
        parse([command.name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    [reads] = [index for index, line in enumerate(lines) if line.startswith("reads: ")]
    assert any(line.startswith("writes: ") for line in lines[reads:])
    assert lines[-2] == "example:"
    assert lines[-1].startswith("  python build.py ")
    typed = shlex.split(lines[-1].partition(">")[0])[2:]
    used, _ = parse(typed if typed[0] in COMMANDS else [DEFAULT, *typed])
    assert used == command


def test_help_of_a_command(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert text(capsys, "help", command.name) == text(capsys, command.name, "--help")


def test_words_of_another_program_are_passed_on_as_they_are() -> None:
    words = ["--log", "a", "--", "--no-such-option", "--help"]
    assert parse(["doctor", *words]) == (COMMANDS["doctor"], {"words": words})
    assert parse(["help", "doctor"])[1] == {"words": ["--help"]}


def test_help_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys, "help")
    assert all(each.summary in said for each in COMMANDS.values())
    assert "usage: build.py help" in text(capsys, "help", "help")
    assert refused("help", "pusch") == [
        "unknown command 'pusch'. Did you mean 'push'? See 'build.py --help'."
    ]


def test_help_names_defaults_and_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys, "build", "--help")
    assert "check N images at a time (default: 1)" in said
    assert "vendor's files (default: artifacts)" in said
    assert "(with --plan; default: text)" in said
    assert "(repeatable)" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "--simulat"), "unknown option '--simulat'. Did you mean '--simulate'?"),
        (("push", "--targt", "x"), "unknown option '--targt'. Did you mean '--target'?"),
        (("list", "--formt=json"), "unknown option '--formt'. Did you mean '--format'?"),
        (("build", "--registry", "r.test/x"), "unknown option '--registry'."),
        (("list", "-x"), "unknown option '-x'. See 'build.py list --help'."),
        (("run", "--target", "x", "-c", "y"), "unknown option '-c'."),
        (("run", "--simulate"), "the following arguments are required: --target"),
        (("list", "more"), "unrecognized arguments: more."),
        (("prune", "--registry", "r.test", "--keep", "-1"), "argument --keep: invalid number '-1'"),
    ],
)
def test_words_that_are_not_known(words: tuple[str, ...], said: str) -> None:
    [message] = refused(*words)
    assert message.startswith(said)


def test_every_unknown_option_is_named() -> None:
    first, second = refused("build", "--al", "--forc")
    assert "'--all'" in first
    assert "'--force'" in second


def test_what_is_typed_after_two_dashes_is_a_command() -> None:
    command, given = parse(["run", "--target", "x", "-v/a:/b", "--", "python3", "--verison"])
    options = read(RunOptions, given, PROJECT)
    assert command.name == "run"
    assert options.command == ("python3", "--verison")
    assert options.mounts == ("/a:/b",)


def test_what_is_not_typed_has_its_default() -> None:
    _, given = parse(["build", "--all"])
    assert {*given} == {"all"}
    assert read(BuildOptions, given, PROJECT) == BuildOptions(artifacts=PROJECT.artifacts)
    assert read(PlanOptions, given, PROJECT) == PlanOptions()


def test_values_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--shard", "2/3", "--no-test", "--jobs", "4", "--artifacts", "vendor"]
    words += ["--where", "python=3.9", "cann=8.0.RC2", "--where", "chip=a3"]
    _, given = parse(["build", *words, "--cache-to", "a", "--cache-to", "b"])
    selection, options = read(SelectionOptions, given, PROJECT), read(BuildOptions, given, PROJECT)
    assert selection.shard == Shard(2, 3)
    assert selection.where == ("python=3.9", "cann=8.0.RC2", "chip=a3")
    assert options == BuildOptions(
        test=False, check_jobs=4, artifacts=tmp_path / "vendor", cache_to=("a", "b")
    )
    assert (
        read(NewOptions, parse(["new", "--python", "3.9", "--chip", "A3"])[1], PROJECT).chip == "a3"
    )


# ---- adding an option


@dataclass(frozen=True, kw_only=True)
class WithColour(BuildOptions):
    """The options of a build, and one that is made up."""

    colour: str = field(
        default="red",
        metadata=option(
            metavar="NAME", choices=("red", "blue"), help="made up, for a test", remembered=True
        ),
    )


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts that class in the place of the other."""
    monkeypatch.setitem(COMMANDS, "build", replace(COMMANDS["build"]))
    monkeypatch.setattr(build, "BuildOptions", WithColour)
    monkeypatch.setattr(journal, "BuildOptions", WithColour)


@pytest.mark.usefixtures("coloured")
def test_a_new_option_is_known_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "made up, for a test (default: red)" in text(capsys, "build", "--help")
    assert "Did you mean 'blue'?" in refused("build", "--all", "--colour", "bleu")[0]
    options = read(WithColour, parse(["build", "--all", "--colour", "blue"])[1], PROJECT)
    assert options.colour == "blue"
    path = tmp_path / "journal.json"
    Journal(path=path, options=options).keep()
    assert read_journal(path).options == options
    assert refused("build", "--resume", "--colour", "red") == [
        "--resume continues the last run with the options of that run. Leave out --colour."
    ]
