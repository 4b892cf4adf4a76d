# SPDX-License-Identifier: Apache-2.0
"""Every command's options, as they are declared, and what is said of words that are not."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cannery import cli
from cannery.cli import cmd_build, commands
from cannery.cli.cmd_build import BuildCommandOptions
from cannery.cli.cmd_new import TypedNewOptions
from cannery.cli.cmd_run import RunOptions
from cannery.cli.cmd_sync import MARKERS, reference
from cannery.cli.command import Command, read
from cannery.cli.commands import GROUPS, REMOVED, SUMMARIES, load
from cannery.cli.parser import DEFAULT, check, overview, parse
from cannery.common.errors import UsageError
from cannery.common.option import OptionSet, Shard, declared, option
from cannery.publish.catalog import inserted
from tests.unit.matrices import CHECKOUT

ALL = {name: load(name) for name in SUMMARIES}
OWN = {name: each for name, each in ALL.items() if not each.passes_on}


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


def test_json_is_short_for_the_format_of_results(command: Command) -> None:
    needed = [each for each in command.declared if each.required]
    words = [
        word
        for each in needed
        for word in (["x"] if each.option.words or not each.flags else [each.flags[-1], "3.11"])
    ]
    words = words or ["x"] * bool(command.one_of)
    words += ["--plan"] if command.name == "build" else []
    if any("json" in each.option.choices for each in command.declared):
        assert parse([command.name, *words, "--json"]) == parse(
            [command.name, *words, "--format", "json"]
        )
    elif "--json" not in {flag for each in command.declared for flag in each.flags}:
        assert "'--json'" in refused(command.name, "--json")[0]


def test_help_names_defaults_and_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys, "build", "--help")
    assert "check N images at a time (default: 1; setting: jobs)" in said
    assert "Huawei's packages (default: artifacts; setting: artifacts)" in said
    assert "(with --plan; default: text)" in said
    assert "(repeatable)" in said


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
    used, _ = parse(typed if typed[0] in SUMMARIES else [DEFAULT, *typed])
    assert used == command


def test_help_of_a_command(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert text(capsys, "help", command.name) == text(capsys, command.name, "--help")


def test_words_of_another_program_are_passed_on_as_they_are() -> None:
    words = ["--log", "a", "--", "--no-such-option", "--help"]
    command, given = parse(["doctor", *words])
    assert vars(read(command.options, given, CHECKOUT))["words"] == tuple(words)
    assert parse(["help", "doctor"])[1] == {"words": ["--help"]}


def test_help_of_all_is_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys, "help")
    assert said == text(capsys, "--help") == text(capsys, "help", "help")
    assert all(summary in said for group in GROUPS.values() for summary in group.values())
    lines = overview().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert [*GROUPS] == ["choose", "build", "publish", "maintain", "other"]
    assert sum(map(len, GROUPS.values())) <= 22


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("pusch", "unknown command 'pusch'. Did you mean 'push'? See 'build.py --help'."),
        (
            "py311-x",
            "unknown command 'py311-x'. To build a target: 'build.py build py311-x'. "  # noqa: ISC004
            "All commands: 'build.py --help'.",
        ),
        ("smoke", "'smoke' was removed. Use 'build.py doctor smoke'."),
    ],
)
def test_unknown_commands_are_refused(word: str, said: str) -> None:
    assert refused(word) == refused("help", word) == [said]


def test_removed_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOVED, "build --old", "Use --new.")
    gone = "'--old' was removed. Use --new."
    unknown = "unknown option '--zzz'. See 'build.py build --help'."
    assert refused("build", "--old=x", "--zzz") == [gone, unknown]
    assert refused("push", "--old") == ["unknown option '--old'. See 'build.py push --help'."]


@pytest.mark.parametrize("removed", REMOVED)
def test_replacements_of_removed_words_exist(removed: str) -> None:
    name, _, flag = removed.partition(" ")
    assert flag not in flags(name) if flag else name not in SUMMARIES
    for line in re.findall(r"'build\.py ([^']+)'", REMOVED[removed]):
        used, *words = line.split()
        assert used in SUMMARIES
        assert {word for word in words if word.startswith("-")} <= flags(used)


def flags(command: str) -> set[str]:
    return {flag for each in ALL[command].declared for flag in each.flags}


def test_every_file_of_a_command_is_in_the_table() -> None:
    files = {each.stem for each in Path(commands.__file__).parent.glob("cmd_*.py")}
    assert files == {f"cmd_{name}" for name in SUMMARIES}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "--simulat"), "unknown option '--simulat'. Did you mean '--simulate'?"),
        (("list", "--formt=json"), "unknown option '--formt'. Did you mean '--format'?"),
        (("list", "-x"), "unknown option '-x'. See 'build.py list --help'."),
        (("run", "--target", "x", "-c", "y"), "unknown option '-c'."),
        (("update", "--check", "--write"), "--check and --write cannot be combined"),
        (("fetch", "--prune", "-1"), "argument --prune: invalid number '-1'"),
    ],
)
def test_invalid_arguments_are_refused(words: tuple[str, ...], said: str) -> None:
    [message] = refused(*words)
    assert message.startswith(said)


def test_every_unknown_option_is_named() -> None:
    first, second = refused("build", "--al", "--forc")
    assert "'--all'" in first
    assert "'--force'" in second


@pytest.mark.parametrize("command", ["build", "list", "check", "render", "lock", "test", "push"])
def test_targets_are_words_too(command: str) -> None:
    more = ["--registry", "r.test"] if command == "push" else []
    _, given = parse([command, "a", *more, "--where", "chip=a3", "--target", "c", "--", "b-*"])
    assert given["targets"] == ["a", "b-*", "c"]
    _, given = parse([command, *more, "--target", "c"])
    assert given["targets"] == ["c"]


def test_no_target_where_one_is_needed() -> None:
    one = "no target is selected. Add the ID of one"
    assert refused("push", "--registry", "r.test") == [f"{one} or --target."]
    assert refused("explain") == [f"{one}, --target or --where."]
    assert refused("run", "--simulate") == [f"{one}, --target or --where."]


RUN_WORDS = {
    "an id": (["x"], (), ("x",)),
    "an id and a command": (
        ["x", "--simulate", "--", "python3", "-V"],
        (),
        ("x", "--", "python3", "-V"),
    ),
    "words of both": (["x", "bash", "--", "-c", "y"], (), ("x", "bash", "--", "-c", "y")),
    "an option": (["--target", "x", "--", "a", "--"], ("x",), ("--", "a", "--")),
    "an option and a bare command": (["--target", "x", "npu-smi"], ("x",), ("npu-smi",)),
}


@pytest.mark.parametrize(("words", "targets", "rest"), RUN_WORDS.values(), ids=RUN_WORDS)
def test_words_of_run(words: list[str], targets: tuple[str, ...], rest: tuple[str, ...]) -> None:
    command, given = parse(["run", "-v/a:/b", *words])
    options = read(RunOptions, given, CHECKOUT)
    assert command.name == "run"
    assert (options.targets, options.words, options.mounts) == (targets, rest, ("/a:/b",))


def test_omitted_options_have_their_defaults() -> None:
    _, given = parse(["build", "--all"])
    assert {*given} == {"all"}
    options = read(BuildCommandOptions, given, CHECKOUT)
    assert options == BuildCommandOptions(all=True, artifacts=CHECKOUT / "artifacts")


def test_values_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vendor").mkdir()
    words = ["--shard", "2/3", "--no-test", "--jobs", "4", "--artifacts", "vendor"]
    words += ["--where", "python=3.9", "cann=8.0.RC2", "--where", "chip=a3"]
    _, given = parse(["build", *words, "--cache-to", "a", "--cache-to", "b"])
    assert read(BuildCommandOptions, given, CHECKOUT) == BuildCommandOptions(
        shard=Shard(2, 3),
        where=("python=3.9", "cann=8.0.RC2", "chip=a3"),
        test=False,
        check_jobs=4,
        artifacts=tmp_path / "vendor",
        cache_to=("a", "b"),
    )
    _, given = parse(["new", "--python", "3.9", "--chip", "A3"])
    assert read(TypedNewOptions, given, CHECKOUT).chip == "a3"


# ---- adding an option


@dataclass(frozen=True, kw_only=True)
class WithColour(BuildCommandOptions):
    """The options of a build, and one that is made up."""

    colour: str = option(
        "made up, for a test",
        default="red",
        metavar="NAME",
        choices=("red", "blue"),
    )


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts that class in the place of the other."""
    monkeypatch.setattr(cmd_build, "COMMAND", replace(cmd_build.COMMAND, options=WithColour))


@pytest.mark.usefixtures("coloured")
def test_a_new_option_is_known_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert "made up, for a test (default: red)" in text(capsys, "build", "--help")
    assert "Did you mean 'blue'?" in refused("build", "--all", "--colour", "bleu")[0]
    options = read(WithColour, parse(["build", "--all", "--colour", "blue"])[1], CHECKOUT)
    assert options.colour == "blue"


# ---- adding a command

NEW = """
from dataclasses import dataclass

from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common.option import option
from cannery.matrix.project import Project
from cannery.options import TargetOptions


@dataclass(frozen=True, kw_only=True)
class ChipOptions(TargetOptions):
    prefix: str = option("what stands before each chip", default="chip ", metavar="TEXT")


COMMAND = Command(
    description="Prints the chip of each target.",
    reads="matrix.yaml",
    writes="nothing",
    example="chips",
    options=ChipOptions,
)


def run(options: ChipOptions, project: Project) -> None:
    for chip in sorted({each.chip for each in selected(options, project)}):
        print(f"{options.prefix}{chip}")
"""


def test_a_new_command_is_a_file_and_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cmd_chips.py").write_text(NEW, encoding="utf-8")
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.setitem(SUMMARIES, "chips", "print the chips")
    assert "what stands before each chip (default: chip )" in text(capsys, "chips", "--help")
    assert cli.main(["chips", "py39-torch231-cann8t39", "--prefix", "-"], CHECKOUT) == 0
    assert capsys.readouterr().out == "-910b\n"
    assert refused("chps") == [
        "unknown command 'chps'. Did you mean 'chips'? See 'build.py --help'."
    ]


# ---- classes of options


@dataclass(frozen=True, kw_only=True)
class Made(OptionSet):
    name: str = option("a name")
    place: Path = option("a place", default=Path("here"))
    tags: tuple[str, ...] = option("tags", default=())
    number: int | None = option("n", default=None, flags=("-n", "--no"))
    loud: bool = option("loud", default=False, conflicts=("soft", "name"))
    soft: bool = option("soft", default=True, flags=("--hard",))
    deep: str = option("deep", default="", needs="loud")
    inner: int = 7


def problems(given: dict[str, Any], *one_of: str) -> list[str]:
    return [str(problem) for problem in check(declared(Made), given, one_of)]


def test_given_values_are_read_and_others_have_defaults() -> None:
    found = read(
        Made, {"name": "x", "tags": ["a", "b"], "soft": False, "foreign": 1}, Path("/root")
    )
    assert found == Made(name="x", place=Path("/root/here"), tags=("a", "b"), soft=False)
    assert read(Made, {"name": "x", "place": Path("/there")}, Path("/root")).place == Path("/there")


def test_a_field_declares_its_option() -> None:
    found = {each.name: each for each in declared(Made)}
    assert "inner" not in found
    assert [each.name for each in found.values() if each.required] == ["name"]
    assert (found["place"].kind, found["tags"].kind, found["number"].kind) == (Path, str, int)
    assert (found["tags"].repeated, found["number"].repeated) == (True, False)
    assert (found["number"].flags, found["number"].label) == (("-n", "--no"), "--no")
    assert found["place"].flags == ("--place",)


def test_compatible_options_pass() -> None:
    assert problems({"name": "x", "place": Path("/x"), "tags": ["a"]}) == []
    assert problems({"loud": True, "deep": "x"}) == []


def test_all_conflicting_options_are_reported_at_once() -> None:
    assert problems({"deep": "x"}) == ["--deep needs --loud. Add --loud, or leave --deep out."]
    assert problems({"loud": True, "soft": False, "name": "x"}) == [
        "--loud and --hard cannot be combined. Leave one of them out.",
        "--loud and --name cannot be combined. Leave one of them out.",
    ]


# ---- the reference


def test_the_reference_page_matches_the_commands() -> None:
    page = (CHECKOUT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert inserted(page, reference(), "docs/reference.md", MARKERS) == page, (
        "Run: python build.py sync"
    )
    for name in SUMMARIES:
        assert f"\n#### {name}\n" in page
    assert "| `ID`, `--target ID` | a target, or a pattern such as 'py39-*'" in page
    assert "| `-v HOST:CONTAINER`, `--mount HOST:CONTAINER` |" in page
