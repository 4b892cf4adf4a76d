# SPDX-License-Identifier: Apache-2.0
"""A total order of CANN versions, which are neither PEP 440 nor semver.

The forms, all seen in file names and release notes (``<train>`` is ``major.minor``):

==========================  =====================================================================
``<train>.T<n>``            interim build, as 8.0.T39
``<train>.RC<n>``           release candidate that Huawei supports as a release, as 8.0.RC2
``<train>.RC<n>.<p>``       its patches, as 6.3.RC3.1
``<train>.<p>``             final release, as 8.0.0, 8.5.1
``….alpha<n>``              preview of either of the two, as 6.3.RC1.alpha003, 8.0.0.alpha002
``….beta1``                 the community edition's name of either of the two, as 8.0.RC2.beta1
``<train>.<p>-beta.<n>``    preview since 9.0, as 9.1.0-beta.3
==========================  =====================================================================

The order within a train: T builds < RC1's alphas < RC1 < RC1's patches < RC2's alphas < … < the
alphas of .0 < the -beta previews of .0 < .0 < .1's alphas < … An example, in order::

    8.0.T39  8.0.RC2.alpha001  8.0.RC2 = 8.0.RC2.beta1  8.0.RC3  8.0.0.alpha002  8.0.0  8.1.RC1

**RC2.beta1 equals RC2.** The release notes of Ascend Extension for PyTorch give one row to
"commercial 8.0.RC2, community 8.0.RC2.beta1", and the community's files drop the ``.beta1``.

**T builds sort before everything else of their train, by their number.** When a T build was made
in relation to the RCs is not published: 8.0.T13 is known to be of the time of RC2, 8.0.T39 of RC2
or RC3, 8.0.T63 of about RC3, and two vendor lists disagree whether T39 is newer than RC2. Any
place among the RCs would be a guess. The bottom of the train is the place where a wrong guess
harms nobody: a T build never fulfils ">= some release of its train" by accident, and always falls
under the cautious "<= some release" bounds, as the one on numpy. Its compatibility is judged by the
``nearest_public`` of the matrix.
``9.0.T2`` is where ``9.0.0-beta.1`` is downloaded from; they still count as two versions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, total_ordering

_FORM = re.compile(
    r"(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\."
    r"(?:T(?P<interim>[0-9]+)"
    r"|(?:RC(?P<rc>[0-9]+)(?:\.(?P<patch>[0-9]+))?|(?P<final>[0-9]+))"
    r"(?:\.alpha(?P<alpha>[0-9]+)|(?P<community>\.beta1)|(?(final)-beta\.(?P<beta>[0-9]+)))?)",
    re.ASCII,
)

_INTERIM, _CANDIDATE, _FINAL = range(3)
_ALPHA, _BETA, _RELEASED = range(3)


@total_ordering
@dataclass(frozen=True, eq=False)
class CannVersion:
    """One CANN version; ``str`` gives back the text that it was parsed from."""

    text: str
    key: tuple[int, ...] = field(repr=False)
    """(major, minor, kind, number, patch, stage, number of the preview): what is compared."""

    @classmethod
    @cache
    def parse(cls, text: str) -> CannVersion:
        """``text``, which has one of the forms above; ValueError if it has none."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a CANN version. "
                "Write it as in 8.0.RC2, 8.0.RC2.alpha001, 8.0.0, 9.1.0-beta.3 or 8.0.T39."
            )
        number = {
            name: int(digits)
            for name, digits in match.groupdict().items()
            if digits and name != "community"
        }
        train = (number["major"], number["minor"])
        if "interim" in number:
            return cls(text, (*train, _INTERIM, number["interim"], 0, _RELEASED, 0))
        kind = _CANDIDATE if "rc" in number else _FINAL
        stage, preview = _RELEASED, 0
        if "alpha" in number:
            stage, preview = _ALPHA, number["alpha"]
        elif "beta" in number:
            stage, preview = _BETA, number["beta"]
        release = number.get("rc", number.get("final", 0))
        return cls(text, (*train, kind, release, number.get("patch", 0), stage, preview))

    @property
    def train(self) -> tuple[int, int]:
        return self.key[0], self.key[1]

    @property
    def is_interim(self) -> bool:
        return self.key[2] == _INTERIM

    @property
    def is_preview(self) -> bool:
        """An alpha, a -beta preview or a T build."""
        return self.is_interim or self.key[5] != _RELEASED

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, CannVersion) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.key < other.key if isinstance(other, CannVersion) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text


_COMPARE: dict[str, Callable[[CannVersion, CannVersion], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_CLAUSE = re.compile(r"(<=|>=|==|!=|<|>)\s*(\S+)")


@dataclass(frozen=True)
class CannRange:
    """Bounds of versions, as ``>=8.0.RC2,<8.5.0``."""

    text: str
    clauses: tuple[tuple[str, CannVersion], ...] = field(repr=False)

    @classmethod
    @cache
    def parse(cls, text: str) -> CannRange:
        """Bounds with commas; ValueError if one is no comparison with a CANN version."""
        clauses = []
        for part in text.split(","):
            match = _CLAUSE.fullmatch(part.strip())
            if match is None:
                raise ValueError(f"{part.strip()!r} is not a bound. Write it as in <=8.2.RC1.")
            clauses.append((match[1], CannVersion.parse(match[2])))
        return cls(text, tuple(clauses))

    def __contains__(self, version: CannVersion) -> bool:
        return all(_COMPARE[sign](version, bound) for sign, bound in self.clauses)

    def __str__(self) -> str:
        return self.text
