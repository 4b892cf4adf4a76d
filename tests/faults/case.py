# SPDX-License-Identifier: Apache-2.0
"""The cases of the campaign, and what can become of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tests.campaigns import FAILURE
from tests.faults.commands import COMMANDS
from tests.faults.kinds import KINDS


class Outcome(StrEnum):
    """What became of a command; of each, the same command then succeeded."""

    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    STOPPED = "stopped"
    PARTLY = "tags partly moved"
    FAILURE = FAILURE


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case; its number and the campaign's seed make it again."""

    number: int
    kind: str
    command: str
    moment: float
    seed: str

    @property
    def title(self) -> str:
        return f"case {self.number} ({self.kind}; {self.command})"


def make_case(seed: int, number: int) -> Case:
    """The case ``number``; the same number gives the same case."""
    random = Random(f"{seed}:{number}")
    names = [*KINDS]
    [kind] = random.choices(names, [KINDS[name].share for name in names])
    kind = names[number] if number < len(names) else kind
    commands = KINDS[kind].commands
    [command] = random.choices(commands, [COMMANDS[name].share for name in commands])
    return Case(
        number=number,
        kind=kind,
        command=command,
        moment=random.random(),
        seed=f"{seed}:{number}:fault",
    )
