# SPDX-License-Identifier: Apache-2.0
"""The public logs with their right answers: ``cases/GROUP.jsonl``, a line for each.

A line has the log's text, the cause that is right (``accept`` names further ones), the rank that
failed first, and where and when the log was published. A log may hold any bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

CASES = Path(__file__).parent / "cases"
GROUPS = ("open", "closed", "own", "shared")


class Case(NamedTuple):
    """A log, and the right answer."""

    group: str
    name: str
    kind: str
    causes: frozenset[str]
    first_rank: int | None
    text: str

    def write(self, folder: Path) -> Path:
        """The log as a file in ``folder``."""
        path = folder / f"{self.name}.log"
        path.write_bytes(self.text.encode("utf-8", "surrogateescape"))
        return path


def cases(*groups: str) -> list[Case]:
    """The cases of ``groups``, or of all, in the order of their groups and names."""
    return [_case(group, label) for group in groups or GROUPS for label in _labels(group)]


def case_log(group: str, name: str, folder: Path) -> str:
    """The path of the log of a case, which is written into ``folder``."""
    [case] = [case for case in cases(group) if case.name == name]
    return str(case.write(folder))


def _labels(group: str) -> list[dict[str, Any]]:
    text = (CASES / f"{group}.jsonl").read_bytes().decode("utf-8", "surrogateescape")
    return [json.loads(line) for line in text.split("\n") if line]


def _case(group: str, label: dict[str, Any]) -> Case:
    cause = label["cause"]
    return Case(
        group=group,
        name=label["name"],
        kind=label["kind"],
        causes=frozenset([cause, *label.get("accept", [])]) if cause else frozenset(),
        first_rank=label["first_rank"],
        text=label["log"],
    )
