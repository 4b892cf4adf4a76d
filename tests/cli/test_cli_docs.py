# SPDX-License-Identifier: Apache-2.0
"""Every documented command is run as in a fresh clone, or at least read by what would run it.

A build is planned, and a container is described for another host: neither needs an engine. What a
page shows of an output is compared. ``nox -s newcomer`` types the commands of README and of its
readers' pages in earnest, on a bare machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cannery.cli.commands import SUMMARIES, UNLISTED, load
from cannery.cli.parser import parse
from cannery.matrix.project import Project
from tests.cli.checkout import Checkout
from tests.cli.conftest import READ, copy
from tests.cli.documented import PAGES, ROOT, Documented, commands, mentioned

ALL = [each for page in PAGES for each in commands(page)]
OWN = [each for each in ALL if each.words]
OTHERS = [each for each in ALL if not each.words]
PLACEHOLDERS = re.compile(r"\bID\b|\bTARGET\b|\bNAME\b|\bDIR\b|\bDIGEST\b|\$IMAGE")
OUTSIDE = {
    *("--from-bundle", "--source", "--simulate", "--all"),
    "--accept-eula",
}
"""Options whose commands need an engine or a network."""
SHORT = ("list", "explain", "check", "new", "catalog", "render", "completion")
"""Commands that are run as they are written."""
SESSIONS = {
    name or called
    for file in (ROOT / "noxfile.py", *ROOT.glob("packages/*/noxfile.py"))
    for name, called in re.findall(
        r'^@nox\.session(?:\((?:name="([\w-]+)")?[^)]*\))?\ndef (\w+)',
        file.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


def shown(each: Documented) -> str:
    return f"{each.page}: {each.text}"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The files of a fresh clone that commands read."""
    made = copy(READ, ROOT, tmp_path_factory.mktemp("clone") / "cannery")
    (made.root / "cannery.toml").unlink()
    return made


def runnable(words: list[str]) -> list[str]:
    """``words`` as they can be run without an engine and a network; none if they cannot."""
    command = words[0] if not words[0].startswith("-") else "build"
    options = {word for word in words if word.startswith("--")}
    if PLACEHOLDERS.search(" ".join(words)):
        return []
    if command == "build" and not options & (OUTSIDE - {"--simulate", "--accept-eula"}):
        return [*words, *([] if "--plan" in options else ["--plan"])]
    if command == "run" and "--simulate" not in options:
        other = [] if "--format" in options else ["--print", "--elsewhere"]
        return [words[0], *(each for each in other if each not in options), *words[1:]]
    if command == "fetch" and {"--stored", "--prune"} & options:
        return words
    return words if command in SHORT and not options & OUTSIDE else []


def test_the_commands_were_found() -> None:
    assert len({each.page for each in OWN}) > 10
    assert sum(bool(runnable(each.words)) for each in OWN) > 25
    assert [each.page for each in OWN if each.prints]


@pytest.mark.parametrize("each", OWN, ids=shown)
def test_build_py_reads_it(each: Documented) -> None:
    words = each.words
    command, given = parse(words if not words[0].startswith("-") else ["build", *words])
    named = [*given.get("targets", ()), *given.get("target", ())] if not command.passes_on else []
    targets = Project(root=ROOT).matrix().targets
    assert [
        name
        for name in named
        if name not in targets and "*" not in name and not PLACEHOLDERS.search(name)
    ] == []


@pytest.mark.parametrize("each", [each for each in OWN if runnable(each.words)], ids=shown)
def test_it_works(clone: Checkout, tmp_path: Path, each: Documented) -> None:
    checkout = clone
    if "--write" in each.words:
        checkout = Checkout(root=tmp_path / "cannery")
        shutil.copytree(clone.root, checkout.root)
    words = runnable(each.words)
    result = checkout.run(*words, cwd=tmp_path, env={"CANNERY_CACHE": str(tmp_path / "cache")})
    failing = each.prints is not None and "missing for a real build" in each.prints
    assert result.code == (5 if failing else 0), result.err
    if each.prints is not None:
        assert result.out == each.prints


@pytest.mark.parametrize("each", OTHERS, ids=shown)
def test_a_shell_reads_it(each: Documented) -> None:
    subprocess.run(["bash", "-n", "-c", each.text], check=True)
    if " setup.sh " in each.text:
        known = (ROOT / "setup.sh").read_text(encoding="utf-8")
        options = each.text.partition(" setup.sh ")[2].split("#")[0].split("&&")[0].split()
        assert [word for word in options if word.startswith("--") and word not in known] == []
    for name in re.findall(r"(?:-r|--requirement) (\S+)", each.text):
        assert (ROOT / name).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_in_text_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in re.findall(r"`nox -s ([a-z -]+?)(?: --[^`]*)?`", text):
        assert {*words.split()} <= SESSIONS
    for first, *words in mentioned(page):
        name = "build" if first.startswith("-") else first
        if name == "help":
            continue
        assert name in SUMMARIES or name in UNLISTED, name
        command = load(name)
        if command.passes_on:
            continue
        known = {flag for each in command.declared for flag in each.flags} | {"--help", "--"}
        used = [word.partition("=")[0].rstrip(",") for word in [first, *words]]
        assert [w for w in used if w.startswith("--") and w not in known] == [], words
