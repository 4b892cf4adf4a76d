# SPDX-License-Identifier: Apache-2.0
"""Takes a Dockerfile apart as far as the policy tests need it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cannery.image.plan import SIMULATED_ARGUMENT

CHOSEN = f"${{{SIMULATED_ARGUMENT}:+simulated-}}image"
"""The stage that is the image: another one if the packages are simulated."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    word: str
    rest: str
    stage: str

    def __str__(self) -> str:
        return f"{self.word} {self.rest}"

    @property
    def steps(self) -> list[str]:
        """The commands of a RUN, without its mounts."""
        text = re.sub(r"^(--\S+ +)+", "", self.rest)
        return [step.strip() for step in re.split(r";|&&|\|\|", text)]

    @property
    def mounts(self) -> list[dict[str, str]]:
        found = re.findall(r"--mount=(\S+)", self.rest)
        return [dict(pair.partition("=")[::2] for pair in each.split(",")) for each in found]


Dockerfile = list[Instruction]


def parse(text: str) -> Dockerfile:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found = []
    stage = ""
    for joined in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        word, _, rest = joined.strip().partition(" ")
        if word == "FROM":
            stage = rest.split()[-1]
        if word:
            found.append(Instruction(word=word, rest=re.sub(r" +", " ", rest.strip()), stage=stage))
    return found


def assignments(text: str) -> dict[str, str]:
    """The NAME=value pairs of an ENV or a LABEL."""
    pairs = re.findall(r'([\w.-]+)=("(?:[^"\\]|\\.)*"|\S*)', text)
    return {name: value.strip('"') for name, value in pairs}
