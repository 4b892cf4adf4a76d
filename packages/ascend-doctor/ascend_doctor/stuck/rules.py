# SPDX-License-Identifier: Apache-2.0
"""The rules by which a stack is recognised, which are the file rules.ini beside this module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ascend_doctor.ini import read_ini

from .model import Frame, State


@dataclass(frozen=True)
class Rule:
    """Frames that say what a process does; ``source`` is where their names were read."""

    state: State
    about: str
    source: str
    pattern: Any

    def fits(self, frame: Frame) -> bool:
        """Whether ``frame`` is one of its frames."""
        return bool(self.pattern.fullmatch(f"{frame.file}\n{frame.function}"))


def _rule(row: dict[str, str]) -> Rule:
    files, functions = row.get("files", ""), row.get("functions", "")
    file = f"(?:.*/)?(?:{files})" if files else ".*"
    # Since Python 3.11 py-spy puts the class before the name of a method.
    function = rf"(?:.*[.:])?(?:{functions})" if functions else ".*"
    pattern = re.compile(f"{file}\n{function}", re.DOTALL)
    return Rule(State(row["state"]), row["about"], row["source"], pattern)


_BY_NAME = {name: _rule(row) for name, row in read_ini(__name__, "rules.ini").items()}
RULES = tuple(_BY_NAME.values())
BACKWARD = _BY_NAME["runs-the-backward-pass"]
"""The rule of the backward pass, whose hooks run in threads of their own."""
