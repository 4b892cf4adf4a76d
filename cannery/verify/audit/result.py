# SPDX-License-Identifier: Apache-2.0
"""What the checks of an image of any origin say, one result a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cannery.common.model import DeviceKind

NO_FACTS = "image/probe"
"""The check that says that nothing could be found out; it fails, because nothing was tested."""

NOT_ASCEND = "compat/image"
"""The check that says that the image has nothing for an NPU, so that passes mean nothing."""


class Standing(StrEnum):
    """What one check says; the first of these that any check has is that of the image."""

    BROKEN = "broken"
    """It is known to fail, or it has failed."""
    UNKNOWN = "unknown pairing"
    """No source says that it works, and none that it fails."""
    NOT_OURS = "not ours to say"
    """Nothing is known of its kind, or it could not be looked at."""
    NOTE = "note"
    """It works, and there is something to know."""
    PASSED = "passed"
    NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One check. ``check`` is its name as GROUP/NAME, ``text`` a sentence for people.

    ``sources`` are what it rests on, as citations; ``device`` is the kind that it ran on, if any.
    """

    check: str
    standing: Standing
    text: str
    fix: str = ""
    sources: tuple[str, ...] = ()
    device: DeviceKind | None = None

    @property
    def group(self) -> str:
        return self.check.partition("/")[0]


def passed(check: str, text: str) -> Result:
    """The result of a check that has found nothing wrong."""
    return Result(check=check, standing=Standing.PASSED, text=text)


def broken(check: str, text: str, fix: str = "", *, sources: tuple[str, ...] = ()) -> Result:
    """The result of a check that has found what is known to fail, and what to do about it."""
    return Result(check=check, standing=Standing.BROKEN, text=text, fix=fix, sources=sources)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Everything about one image.

    ``what`` maps names for people to what the image is, as "torch" to "2.3.1". ``hardware`` maps
    the kinds of device on which it ran to the machine. ``strict`` makes unknown pairings failures.
    """

    reference: str
    image_id: str
    origin: str
    what: Mapping[str, str]
    results: tuple[Result, ...]
    hardware: Mapping[DeviceKind, str] = field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    strict: bool = False
    date: str = ""

    @property
    def standing(self) -> Standing:
        """The image as a whole: of its checks, the gravest; notes do not count."""
        found = {each.standing for each in self.results}
        for each in (Standing.BROKEN, Standing.UNKNOWN):
            if each in found:
                return each
        if any(each.check in (NO_FACTS, NOT_ASCEND) for each in self.results):
            return Standing.NOT_OURS
        return Standing.PASSED if Standing.PASSED in found else Standing.NOT_OURS

    @property
    def failures(self) -> tuple[Result, ...]:
        """The results that make the command fail."""
        return tuple(each for each in self.results if self.is_failure(each))

    def is_failure(self, result: Result) -> bool:
        """Whether ``result`` makes the command fail."""
        if result.standing is Standing.UNKNOWN:
            return self.strict
        return result.standing is Standing.BROKEN or result.check == NO_FACTS

    def count(self, standing: Standing) -> int:
        """The number of checks that say ``standing``."""
        return sum(each.standing is standing for each in self.results)
