# SPDX-License-Identifier: Apache-2.0
"""The table of traps.yaml: each trap is refused, or left alone, with the words and the place."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.checkout import Checkout, Result
from tests.cli.conftest import ROOT, TARGETS, copy, use_some_targets

_FILES = ("cannery/data", "matrix.yaml", "publish.yaml", "docs/targets.md")
_WITHOUT_IMAGES = ("check", "list", "explain", "new")


@dataclass(frozen=True, kw_only=True)
class Run:
    command: str
    code: int
    line: str


@dataclass(frozen=True, kw_only=True)
class Trap:
    """One row of the table."""

    trap: str
    run: Run
    words: str | list[str]
    edit: dict[str, str] | None = None
    target: str = ""
    given: str = ""
    process: str = ""
    keeps: str = ""
    images: bool = False

    def place(self, root: Path) -> str:
        """How the message begins; "" where it is about no line."""
        line = self.run.line
        if not line or line.startswith("matrix.yaml:"):
            return line
        if not line.startswith(("cannery/data/compat.yaml:", "publish.yaml:")):
            return Checkout(root=root).place(line)
        name, _, text = line.partition(":")
        before, found, _ = (root / name).read_text(encoding="utf-8").partition(text)
        assert found, f"{text!r} is not in {name}"
        return f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: "


def read(row: dict[str, Any]) -> Trap:
    return Trap(**{**row, "run": Run(**row["run"])})


TRAPS = [
    read(row)
    for row in yaml.safe_load(Path(__file__).with_name("traps.yaml").read_text(encoding="utf-8"))
]


@pytest.fixture
def trapped(request: pytest.FixtureRequest, tmp_path: Path) -> Checkout:
    """A checkout with as much as the command of the trap needs."""
    trap: Trap = request.getfixturevalue("trap")
    made: Checkout
    if trap.run.command.startswith(_WITHOUT_IMAGES) and not trap.process:
        files = (*_FILES, *["images"] * trap.images)
        made = copy(files, ROOT, tmp_path / "checkout")
        if trap.target and trap.run.code:
            # The others would be judged for every trap.
            use_some_targets(made.root, TARGETS | {"swift"})
        return made
    made = request.getfixturevalue("installed" if trap.process else "checkout")
    return made


@pytest.mark.parametrize(
    "trap",
    # After an edit of a file of definitions, all targets are judged.
    [
        pytest.param(trap, id=trap.trap, marks=[pytest.mark.slow] * bool(trap.edit))
        for trap in TRAPS
    ],
)
def test_a_trap(trapped: Checkout, trap: Trap) -> None:
    if trap.edit:
        trapped.edit(**{"name": trap.edit.pop("file", ""), **trap.edit})
    if trap.target:
        trapped.edit("\ntargets:\n", f"\ntargets:\n  trap: {{{trap.target}, summary: trap}}\n")
    if trap.given:
        subprocess.run(["sh", "-ec", trap.given], cwd=trapped.root, check=True)
    result = run(trapped, trap)
    assert "Traceback" not in result.err
    assert result.code == trap.run.code, result.err
    place, words = trap.place(trapped.root), trap.words
    wanted = [words] if isinstance(words, str) else words
    said = result.messages if result.code else [result.out + result.err]
    found = [each for each in said if each.startswith(place) and all(w in each for w in wanted)]
    assert len(found) == 1, result.err
    assert (trapped.root / (trap.keeps or ".")).exists()


def run(checkout: Checkout, trap: Trap) -> Result:
    arguments = shlex.split(trap.run.command)
    if trap.process:
        return checkout.start(*arguments, before=["sh", "-c", trap.process, "sh"])
    return checkout.run(*arguments)


def test_every_trap_is_there_once() -> None:
    names = [each.trap for each in TRAPS]
    assert len(names) > 100
    assert len({*names}) == len(names)
