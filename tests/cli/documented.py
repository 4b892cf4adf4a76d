# SPDX-License-Identifier: Apache-2.0
"""The commands that README and the pages of docs/ tell people to run, and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md"]
PAGES = [*FIRST, *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAMS = re.compile(
    r"(\.venv/bin/|\./)?(python[\d.]*|build\.py|bash|nox|pytest|ruff|pip|docker|cosign|kubectl|tar|"
    r"mpirun|ascend-\w+|\.) "
)
_BUILD = re.compile(r"^(bash setup\.sh )?((\.venv/bin/)?python |\./)build\.py ")


@dataclass(frozen=True, kw_only=True)
class Documented:
    """One command line; ``prints`` is what the page shows of its output, or None."""

    page: str
    text: str
    prints: str | None = None

    @property
    def words(self) -> list[str]:
        """The words after build.py; none if it is another program."""
        own = _BUILD.sub("", self.text)
        return shlex.split(re.split(r" [>&|]", own)[0], comments=True) if own != self.text else []


def commands(page: Path) -> list[Documented]:
    """The commands in the blocks of ``page``, in its order."""
    text = re.sub(r"(?:\\|\|)\n", _joined, page.read_text(encoding="utf-8"))
    name = str(page.relative_to(ROOT))
    found = [Documented(page=name, text=line) for line in _indented(_FENCE.sub("", text))]
    for kind, block in _FENCE.findall(text):
        if kind == "console":
            found += _with_output(name, block)
    return found


def _joined(end: re.Match[str]) -> str:
    """What stands for the end of a line after which a command goes on."""
    return "| " if end[0] == "|\n" else " "


def _indented(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("    ") and _PROGRAMS.match(line.strip()):
            yield line.strip()


def _with_output(page: str, block: str) -> Iterator[Documented]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Documented(page=page, text=command, prints=output)


def mentioned(page: Path) -> Iterator[list[str]]:
    """The words after build.py in the sentences and tables of ``page``."""
    for text in re.findall(r"`(?:python )?build\.py ([^`]+)`", page.read_text(encoding="utf-8")):
        yield text.replace("\n", " ").split()
