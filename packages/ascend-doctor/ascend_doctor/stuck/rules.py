# SPDX-License-Identifier: Apache-2.0
"""The rules by which a stack is recognised, which are the file rules.ini beside this module."""

from __future__ import annotations

import configparser
import pkgutil
import re
from dataclasses import dataclass
from typing import Any

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


def _rule(row: configparser.SectionProxy) -> Rule:
    files, functions = row.get("files", ""), row.get("functions", "")
    file = f"(?:.*/)?(?:{files})" if files else ".*"
    # Since Python 3.11 py-spy puts the class before the name of a method.
    function = rf"(?:.*[.:])?(?:{functions})" if functions else ".*"
    pattern = re.compile(f"{file}\n{function}", re.DOTALL)
    return Rule(State(row["state"]), row["about"], row["source"], pattern)


def _rules() -> dict[str, Rule]:
    # Not __package__, which a module in a zip file has only after its import before Python 3.10.
    data = pkgutil.get_data(__name__.rpartition(".")[0], "rules.ini")
    assert data
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.read_string(data.decode("utf-8"))
    return {name: _rule(parser[name]) for name in parser.sections()}


_BY_NAME = _rules()
RULES = tuple(_BY_NAME.values())
BACKWARD = _BY_NAME["runs-the-backward-pass"]
"""The rule of the backward pass, whose hooks run in threads of their own."""
