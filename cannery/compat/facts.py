# SPDX-License-Identifier: Apache-2.0
"""The rows of compat.yaml as data. Nothing here reads a file or decides anything.

A field is the key of its name, and its type says how the value is read; one with a default may be
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.errors import Span
from cannery.compat.values import (
    Abi,
    Address,
    App,
    Chips,
    Date,
    Day,
    FileNames,
    Glibc,
    Machine,
    OneOf,
    PackageVersion,
    Pythons,
    Rank,
    Releases,
    Triton,
    WheelVersion,
)

LIFETIMES = {
    "cann": "CANN",
    "torch_npu": "torch_npu for torch",
    "python": "Python",
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "openeuler": "openEuler",
}
"""Component of a lifetime to its name in sentences; a base is one of the distribution's name."""

_PACKAGES = {name: name for name in ("toolkit", "kernels", "nnal")}


class Kind(StrEnum):
    """What it means that something is missing from a source."""

    MAKER = "maker"
    """Complete: what it leaves out is not made."""
    PROJECT = "project"
    """Complete only for what that project does."""
    REPORT = "report"
    """One environment that somebody ran."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Who says something. ``rank`` 1 is believed first; ``date`` is YYYY, YYYY-MM or a day.

    ``address`` is where it can be read, without a scheme; "" where it is not on the network.
    ``state_of`` is the source that has an earlier state of the same document. ``read`` is the day
    on which a document that changes was read, and ``read_at`` its place in the file.
    """

    name: str
    rank: Rank
    kind: Annotated[Kind, OneOf({str(kind): kind for kind in Kind}, "kind of source")]
    date: Date
    cite: str
    about: str = ""
    address: Address = ""
    state_of: str = ""
    read: Day = ""
    read_at: Span | None = field(default=None, compare=False)

    @property
    def document(self) -> str:
        """What all states of one document have in common."""
        return self.state_of or self.name

    def __str__(self) -> str:
        return f"{self.cite}, {self.date}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """One row: its line in compat.yaml, counted from 1, and its sources, the best one first.

    ``says`` is the rest of it as it is written, without the note. Two rows are never the same row,
    even if they say the same.
    """

    line: int
    sources: tuple[Source, ...]
    says: str
    note: str = ""

    @property
    def rank(self) -> int:
        """The rank of its best source."""
        return self.sources[0].rank

    @property
    def is_makers(self) -> bool:
        """Whether a source that is complete says it."""
        return any(source.kind is Kind.MAKER for source in self.sources)

    @property
    def cited(self) -> str:
        """Every source with its date, and the line."""
        named = "; ".join(str(source) for source in self.sources)
        return f"{named}, compat.yaml:{self.line}"


@dataclass(frozen=True, kw_only=True)
class When:
    """Conditions of a row: ``requirement`` is required, ``without`` is not, the base's glibc is
    under ``glibc_below``, and so on. One that is None, False or empty always holds.
    """

    cann: CannRange | None = None
    torch: SpecifierSet | None = None
    torch_npu: SpecifierSet | None = None
    requirement: Requirement | None = None
    without: Requirement | None = None
    glibc_below: Glibc = ()
    machine: Machine = ""
    without_compiler: bool = False
    usual_index: bool = False
    pythons: Pythons = ()
    chips: Chips = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairing(Row):
    """A torch, a torch_npu ("" where the source names none) and a CANN that go together.

    ``pythons`` are the minors that the best source names, ``wheels_pythons`` those for which the
    last source has wheels; both may be empty.
    """

    torch: WheelVersion
    torch_npu: WheelVersion = ""
    cann: CannVersion
    pythons: Pythons = ()
    wheels_pythons: Pythons = ()
    branch: str = ""
    beta: bool = False
    driver: str = ""
    deepspeed: str = ""
    apex: str = ""
    app: App = ""
    triton_ascend: Triton = ""

    def statements(self) -> Iterable[tuple[Source, tuple[str, ...]]]:
        """Each source that names Pythons, with the Pythons that it names."""
        if self.wheels_pythons:
            yield self.sources[-1], self.wheels_pythons
        if self.pythons:
            kept = self.sources[:-1] if self.wheels_pythons else self.sources
            yield from ((source, self.pythons) for source in kept)


@dataclass(frozen=True, kw_only=True, eq=False)
class Compatible(Row):
    """A torch_npu that its maker pairs with one CANN in the range goes on every other one, too."""

    cann: CannRange


@dataclass(frozen=True, kw_only=True, eq=False)
class Suite(Row):
    """A release of a distribution: its code name, and the glibc and Python that it has.

    ``release`` is what image tags call it beside the name, as "11"; ``python`` is a full version.
    """

    suite: str
    distribution: str
    release: str
    glibc: str
    python: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Driver(Row):
    """The host drivers (HDK) that a source names for a CANN release.

    ``minimum`` is the oldest; ``maximum`` the newest and ``paired`` the one of the same release,
    each "" where the source does not say.
    """

    cann: CannVersion
    minimum: str
    maximum: str = ""
    paired: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class CxxAbi(Row):
    """The libstdc++ ABI, 0 or 1, of a torch or of a vendor image's NNAL."""

    when: When
    abi: Abi


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Row):
    """The chips that kernels were seen for, and whether NNAL was seen."""

    cann: CannVersion
    chips: Chips = ()
    nnal: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class OnToolkit(Row):
    """The toolkits that kernels or NNAL of some versions go on; none: only the same version."""

    component: Annotated[str, OneOf({"kernels": "kernels", "nnal": "nnal"}, "component")]
    version: CannRange
    toolkits: Releases = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class FileName(Row):
    """How the vendor names a file; it may hold {version}, {chip} and {machine}."""

    component: Annotated[str, OneOf(_PACKAGES, "component")]
    cann: CannRange
    chips: Chips = ()
    file: FileNames


@dataclass(frozen=True, kw_only=True, eq=False)
class LayoutRow(Row):
    """The name that matrix.yaml has for where a release installs itself."""

    cann: CannRange
    layout: str


@dataclass(frozen=True, kw_only=True, eq=False)
class DeepSpeed(Row):
    """Whether a range of DeepSpeed works: with which plugin branch, or why not.

    ``torch`` and ``pythons`` are those that the source names; ``advised`` says that it recommends
    the version for them.
    """

    version: SpecifierSet
    torch: SpecifierSet | None = None
    pythons: Pythons = ()
    plugin: str = ""
    refused: str = ""
    advised: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Apex(Row):
    """The Pythons and torches that a source builds a version of apex for."""

    version: str
    pythons: Pythons
    torch: SpecifierSet


@dataclass(frozen=True, kw_only=True, eq=False)
class Package(Row):
    """What is known of a package; exactly one of bound, pin, seen and refused is given.

    ``instead`` is what to do where it is refused.
    """

    package: str
    when: When
    bound: SpecifierSet | None = None
    pin: SpecifierSet | None = None
    seen: SpecifierSet | None = None
    refused: str = ""
    required: bool = False
    instead: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class ApplicationRow(Row):
    """What an application goes with.

    A row with a CANN is an environment that was seen; one of its maker without is its metadata.
    """

    application: Requirement
    torch: SpecifierSet | None = None
    cann: CannRange | None = None
    pythons: Pythons = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class MindSpore(Row):
    """A MindSpore, its CANN, and the Pythons that the source names; none: it names no Python."""

    version: WheelVersion
    cann: CannVersion
    pythons: Pythons = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownBad(Row):
    """A combination that fails, and why."""

    when: When
    python_below: PackageVersion = ""
    why: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Ending(Row):
    """Something in some CANN releases that a later one will not have; ``date``: from when on."""

    cann: CannRange
    what: str
    date: Date


@dataclass(frozen=True, kw_only=True, eq=False)
class Lifetime(Row):
    """When a release came out and until when it is maintained; or ""."""

    component: Annotated[str, OneOf({name: name for name in LIFETIMES}, "component")]
    version: str
    released: Day = ""
    ends: Day = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rejected(Row):
    """A row of a source that must not be used; ``torch_npu`` need not be a version."""

    torch: str
    torch_npu: str
    cann: str
    why: str
    pythons: Pythons = ()
    branch: str = ""


@dataclass(frozen=True, kw_only=True)
class Compat:
    """All of compat.yaml; ``cann_python`` is what CANN's own Python parts require."""

    sources: Mapping[str, Source]
    suites: tuple[Suite, ...]
    pairings: tuple[Pairing, ...]
    compatible: tuple[Compatible, ...]
    drivers: tuple[Driver, ...]
    abis: tuple[CxxAbi, ...]
    releases: tuple[Release, ...]
    on_toolkit: tuple[OnToolkit, ...]
    files: tuple[FileName, ...]
    layouts: tuple[LayoutRow, ...]
    deepspeed: tuple[DeepSpeed, ...]
    apex: tuple[Apex, ...]
    packages: tuple[Package, ...]
    applications: tuple[ApplicationRow, ...]
    mindspore: tuple[MindSpore, ...]
    known_bad: tuple[KnownBad, ...]
    endings: tuple[Ending, ...]
    lifetimes: tuple[Lifetime, ...]
    rejected: tuple[Rejected, ...]
    cann_python: tuple[str, ...]
    cann_python_by: str
    """Who names them, as rows are cited."""
