# SPDX-License-Identifier: Apache-2.0
"""The checks that the users of an image write for it: reads checks/*.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from cannery.common.errors import MatrixError, Problem, UsageError, file_error
from cannery.common.model import DeviceKind
from cannery.common.models import NUMBER, Model, SchemaVersion, raise_mistakes, read_yaml
from cannery.verify.audit.report import Result, Standing

_KIB_PER_MB = 1024
_SHOWN = 500


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


class UserCheck(Model):
    """One command, which sh runs; without ``device`` or ``cards`` it sees no card."""

    name: str
    command: str
    output: Annotated[str, AfterValidator(_regular_expression)] = Field(
        default="", description="A regular expression that its output must match."
    )
    exit_code: Annotated[int, Field(ge=0, le=255), NUMBER] = 0
    seconds: Annotated[int, Field(ge=0, le=86400), NUMBER] = 300
    memory_mb: Annotated[int, Field(ge=0, le=1 << 40), NUMBER] = Field(
        default=0, description="What the largest of its processes may use; 0 for any amount."
    )
    device: bool = False
    cards: Annotated[int, Field(ge=0, le=999), NUMBER] = Field(
        default_factory=lambda values: 1 if values.get("device") else 0,
        description="The number of cards that it sees.",
    )

    @property
    def check(self) -> str:
        """Its name among all checks."""
        where = self.place()
        return f"own/{where.file if where else ''}/{self.name}"


class ChecksFile(Model):
    """Checks of the users of an image."""

    schema_: Annotated[str, SchemaVersion(1)] = Field(alias="schema")
    checks: tuple[UserCheck, ...]

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = [each.name for each in self.checks]
        raise_mistakes(
            (("checks", number, "name"), f"two checks have the name {name!r}.", "Rename one.")
            for number, name in enumerate(names)
            if name in names[:number]
        )
        return self


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The end of a command. ``peak_kib`` is -1 where it could not be measured."""

    code: int
    output: str
    seconds: float
    timed_out: bool
    peak_kib: int


def read_checks(folder: Path) -> tuple[tuple[UserCheck, ...], bool]:
    """The checks in the YAML files of ``folder``, and whether it has testinfra files, too."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}.")
    try:
        files = sorted(p for p in folder.iterdir() if p.suffix in (".yaml", ".yml"))
        has_tests = any(folder.rglob("test_*.py"))
    except OSError as error:
        raise file_error("read", folder, error) from error
    if not files and not has_tests:
        fix = "Add checks as docs/test-any-image.md describes."
        raise UsageError(Problem(what=f"{folder} has neither *.yaml nor test_*.py.", fix=fix))
    try:
        checks = [check for path in files for check in read_yaml(ChecksFile, path).checks]
    except MatrixError as error:
        raise UsageError(error.problems) from error
    return tuple(checks), has_tests


def judge_ran(check: UserCheck, ran: Ran, device: DeviceKind) -> Result:
    """The result of a command, with every requirement of ``check`` that it misses."""
    wrong = []
    if ran.timed_out:
        wrong.append(f"it took more than {check.seconds} s")
    elif ran.code != check.exit_code:
        wrong.append(f"it ended with code {ran.code}, not {check.exit_code}")
    if not ran.timed_out and check.output and not re.search(check.output, ran.output, re.MULTILINE):
        wrong.append(f"its output has no {check.output!r}")
    if check.memory_mb and ran.peak_kib > check.memory_mb * _KIB_PER_MB:
        used = ran.peak_kib // _KIB_PER_MB
        wrong.append(f"it used {used} MB of memory, and {check.memory_mb} MB are allowed")
    standing, text = Standing.PASSED, f"{check.name} ({ran.seconds:.1f} s)"
    if wrong:
        standing, text = Standing.BROKEN, f"{check.name}: {'; '.join(wrong)}."
        if output := ran.output.strip()[-_SHOWN:]:
            text += f" It printed: {output}"
    elif check.memory_mb and ran.peak_kib < 0:
        standing = Standing.NOT_OURS
        text = f"{check.name}: its memory cannot be measured in an image without Python."
    return Result(
        check=check.check,
        standing=standing,
        text=text,
        device=device,
        sources=(f"{where.file}:{where.line}",) if (where := check.place()) else (),
    )


def left_out(checks: Sequence[UserCheck], cards: int, device: DeviceKind) -> list[Result]:
    """A result for each check that needs more cards than the ``cards`` that there are."""
    return [
        Result(
            check=check.check,
            standing=Standing.NOT_RUN,
            text=f"{check.name} needs {check.cards} cards, and device {device} has {cards}.",
            device=device,
        )
        for check in checks
        if check.cards > cards
    ]
