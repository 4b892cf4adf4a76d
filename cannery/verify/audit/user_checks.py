# SPDX-License-Identifier: Apache-2.0
"""The checks that the users of an image write for it: reads checks/*.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import MatrixError, Problem, Span, UsageError, file_error
from cannery.common.model import DeviceKind
from cannery.common.outside import whole_number
from cannery.common.yaml_reader import Section, read_yaml
from cannery.verify.audit.report import Result, Standing

SECONDS = 300
MAX_SECONDS = 86400
MAX_CARDS = 999
_KIB_PER_MB = 1024
_SHOWN = 500


@dataclass(frozen=True, kw_only=True)
class UserCheck:
    """One command. ``command`` is run by sh; ``output`` is a regular expression, or empty.

    ``memory_mb`` is what the largest of its processes may use, 0 for any amount. ``cards`` is the
    number of cards that it sees, 0 if it needs no device. ``place`` is where it is written.
    """

    name: str
    command: str
    output: str
    exit_code: int
    seconds: int
    memory_mb: int
    cards: int
    place: Span

    @property
    def check(self) -> str:
        """Its name among all checks."""
        return f"own/{self.place.file}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The end of a command. ``peak_kib`` is -1 where it could not be measured."""

    code: int
    said: str
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
        checks = [check for path in files for check in read_yaml(path, path.name, checks_of)]
    except MatrixError as error:
        raise UsageError(error.problems) from error
    return tuple(checks), has_tests


def checks_of(top: Section) -> tuple[UserCheck, ...]:
    """The checks of the file ``top``; what is wrong becomes a problem."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    found: list[UserCheck] = []
    for section in top.mappings("checks", required=True, item="a check"):
        check = _check(section)
        if check.name and check.name in {each.name for each in found}:
            section.wrong("name", f"two checks have the name {check.name!r}.", "Rename one.")
        found.append(check)
    return tuple(found)


def _check(section: Section) -> UserCheck:
    name, command = section.text("name"), section.text("command")
    output = section.text("output", required=False)
    try:
        re.compile(output)
    except re.error as error:
        section.wrong("output", f"{output!r} is not a regular expression: {error}.")
    device = section.flag("device")
    cards = _number(section, "cards", 1 if device else 0, MAX_CARDS)
    found = UserCheck(
        name=name,
        command=command,
        output=output,
        exit_code=_number(section, "exit_code", 0, 255),
        seconds=_number(section, "seconds", SECONDS, MAX_SECONDS),
        memory_mb=_number(section, "memory_mb", 0, 1 << 40),
        cards=cards,
        place=section.problems.span(section.node),
    )
    section.done()
    return found


def _number(section: Section, key: str, default: int, most: int) -> int:
    text = section.text(key, required=False, default=str(default))
    if (number := whole_number(text, most)) is not None:
        return number
    if text:
        section.wrong(key, f"{text!r} is not a number from 0 to {most}.")
    return default


def judge_ran(check: UserCheck, ran: Ran, device: DeviceKind) -> Result:
    """The result of a command, with every requirement of ``check`` that it misses."""
    wrong = []
    if ran.timed_out:
        wrong.append(f"it took more than {check.seconds} s")
    elif ran.code != check.exit_code:
        wrong.append(f"it ended with code {ran.code}, not {check.exit_code}")
    if not ran.timed_out and check.output and not re.search(check.output, ran.said, re.MULTILINE):
        wrong.append(f"its output has no {check.output!r}")
    if check.memory_mb and ran.peak_kib > check.memory_mb * _KIB_PER_MB:
        used = ran.peak_kib // _KIB_PER_MB
        wrong.append(f"it used {used} MB of memory, and {check.memory_mb} MB are allowed")
    standing, text = Standing.PASSED, f"{check.name} ({ran.seconds:.1f} s)"
    if wrong:
        standing, text = Standing.BROKEN, f"{check.name}: {'; '.join(wrong)}."
        if said := ran.said.strip()[-_SHOWN:]:
            text += f" It printed: {said}"
    elif check.memory_mb and ran.peak_kib < 0:
        standing = Standing.NOT_OURS
        text = f"{check.name}: its memory cannot be measured in an image without Python."
    return Result(
        check=check.check,
        standing=standing,
        text=text,
        device=device,
        sources=(f"{check.place.file}:{check.place.line}",),
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
