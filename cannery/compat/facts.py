# SPDX-License-Identifier: Apache-2.0
"""compat.yaml as data: its rows, each with its place and its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Span, did_you_mean
from cannery.common.models import (
    MistakesError,
    Model,
    OneOf,
    Parsed,
    SchemaVersion,
    Unique,
    parse_yaml,
    raise_mistakes,
)
from cannery.compat import values

LIFETIMES = {
    "cann": "CANN",
    "torch_npu": "torch_npu for torch",
    "python": "Python",
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "openeuler": "openEuler",
}
"""Component of a lifetime to its name in sentences; a base is one of the distribution's name."""


class Kind(StrEnum):
    """What it means that something is missing from a source."""

    MAKER = "maker"
    """Complete: what it leaves out is not made."""
    PROJECT = "project"
    """Complete only for what that project does."""
    REPORT = "report"
    """One environment that somebody ran."""


class Source(Model):
    """Who says something. ``rank`` 1 is believed first; ``date`` is YYYY, YYYY-MM or a day.

    ``address`` is where it can be read, without a scheme; "" where it is not on the network.
    ``state_of`` is the source that has an earlier state of the same document. ``read`` is the day
    on which a document that changes was read.
    """

    name: SkipJsonSchema[str] = Field(default="", alias=":name")  # the key, which :name cannot be
    rank: values.Rank
    kind: Kind
    date: values.Date
    cite: str
    about: str = ""
    address: values.Address = ""
    state_of: str = ""
    read: values.Day = ""

    @property
    def read_at(self) -> Span | None:
        """The place of ``read`` in the file."""
        return self.place("read")

    @property
    def document(self) -> str:
        """What all states of one document have in common."""
        return self.state_of or self.name

    def __str__(self) -> str:
        return f"{self.cite}, {self.date}"


def _cite(names: tuple[str, ...], info: ValidationInfo) -> tuple[Source, ...]:
    """The sources called ``names``, the best one first; without those that could not be read."""
    context = info.context or {}
    raise_mistakes(
        ((number,), f"there is no source {name!r}.", did_you_mean(name, context["names"]))
        for number, name in enumerate(names)
        if name not in context["names"]
    )
    context["cited"] |= {*names}
    sources = context.get("sources", {})
    return tuple(sorted((sources[name] for name in names if sources), key=lambda s: s.rank))


Cited = Annotated[tuple[Source, ...], Parsed(_cite, of=values.Names, info=True)]


class Row(Model):
    """One row, with its sources, the best one first.

    Two rows are never the same row, even if they say the same.
    """

    sources: Cited = Field(alias="source")
    note: str = ""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def line(self) -> int:
        """Its line in compat.yaml, counted from 1."""
        where = self.place()
        return where.line if where else 0

    @property
    def says(self) -> str:
        """The rest of it as it is written, without the note."""
        return ", ".join(
            f"{key}: {_flat(value)}"
            for key, value in (self._map or {}).items()
            if key not in ("source", "note")
        )

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


class When(Model):
    """Conditions of a row: ``requirement`` is required, ``without`` is not, the base's glibc is
    under ``glibc_below``, and so on. One that is None, False or empty always holds.
    """

    cann: values.CannBounds | None = None
    torch: values.Bounds | None = None
    torch_npu: values.Bounds | None = None
    requirement: values.Wheel | None = Field(default=None, alias="with")
    without: values.Wheel | None = None
    glibc_below: values.Glibc = ()
    machine: values.Machine = ""
    without_compiler: bool = Field(default=False, alias="runtime")
    usual_index: bool = False
    pythons: values.Pythons = ()
    chips: values.Chips = ()


class Pairing(Row):
    """A torch, a torch_npu ("" where the source names none) and a CANN that go together.

    ``pythons`` are the minors that the best source names, ``wheels_pythons`` those for which the
    last source has wheels; both may be empty.
    """

    torch: values.WheelVersion
    torch_npu: values.WheelVersion = ""
    cann: values.Cann
    pythons: values.Pythons = ()
    wheels_pythons: values.Pythons = ()
    branch: str = ""
    beta: bool = False
    driver: str = ""
    deepspeed: str = ""
    apex: str = ""
    app: values.App = ""
    triton_ascend: values.Triton = ""

    def statements(self) -> Iterable[tuple[Source, tuple[str, ...]]]:
        """Each source that names Pythons, with the Pythons that it names."""
        if self.wheels_pythons:
            yield self.sources[-1], self.wheels_pythons
        if self.pythons:
            kept = self.sources[:-1] if self.wheels_pythons else self.sources
            yield from ((source, self.pythons) for source in kept)


class Compatible(Row):
    """A torch_npu that its maker pairs with one CANN in the range goes on every other one, too."""

    cann: values.CannBounds


class Suite(Row):
    """A release of a distribution: its code name, and the glibc and Python that it has.

    ``release`` is what image tags call it beside the name, as "11"; ``python`` is a full version.
    """

    suite: str
    distribution: str
    release: str
    glibc: str
    python: str


class Driver(Row):
    """The host drivers (HDK) that a source names for a CANN release.

    ``minimum`` is the oldest; ``maximum`` the newest and ``paired`` the one of the same release,
    each "" where the source does not say.
    """

    cann: values.Cann
    minimum: str
    maximum: str = ""
    paired: str = ""


class CxxAbi(Row, When):
    """The libstdc++ ABI, 0 or 1, of a torch or of a vendor image's NNAL."""

    abi: Annotated[int, Field(ge=0, le=1)]


class Release(Row):
    """The chips that kernels were seen for, and whether NNAL was seen."""

    cann: values.Cann
    chips: values.Chips = ()
    nnal: bool = False


class OnToolkit(Row):
    """The toolkits that kernels or NNAL of some versions go on; none: only the same version."""

    component: Literal["kernels", "nnal"]
    version: values.CannBounds
    toolkits: tuple[values.Cann, ...] = ()


class FileName(Row):
    """How the vendor names a file; it may hold {version}, {chip} and {machine}."""

    component: Literal["toolkit", "kernels", "nnal"]
    cann: values.CannBounds
    chips: values.Chips = ()
    file: values.FileNames


class LayoutRow(Row):
    """The name that matrix.yaml has for where a release installs itself."""

    cann: values.CannBounds
    layout: str


class DeepSpeed(Row):
    """Whether a range of DeepSpeed works: with which plugin branch, or why not.

    ``torch`` and ``pythons`` are those that the source names; ``advised`` says that it recommends
    the version for them.
    """

    version: values.Bounds
    torch: values.Bounds | None = None
    pythons: values.Pythons = ()
    plugin: str = ""
    refused: str = ""
    advised: bool = False

    @model_validator(mode="after")
    def _advises_one(self) -> Self:
        if self.advised and not re.fullmatch(r"==[^,*]+", str(self.version)):
            what = "only one version can be advised."
            raise MistakesError([(("version",), what, "Write it as in ==0.18.4.")])
        return self


class Apex(Row):
    """The Pythons and torches that a source builds a version of apex for."""

    version: str
    pythons: values.Pythons
    torch: values.Bounds


class Package(Row, When):
    """What is known of a package; exactly one of bound, pin, seen and refused is given.

    ``instead`` is what to do where it is refused.
    """

    package: str
    bound: values.Bounds | None = None
    pin: values.Bounds | None = None
    seen: values.Bounds | None = None
    refused: str = ""
    required: bool = False
    instead: str = ""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        given = (self.bound, self.pin, self.seen, self.refused or None)
        if sum(each is not None for each in given) != 1:
            raise ValueError("this needs exactly one of bound, pin, seen and refused")
        return self


class ApplicationRow(Row):
    """What an application goes with.

    A row with a CANN is an environment that was seen; one of its maker without is its metadata.
    """

    application: values.Wheel
    torch: values.Bounds | None = None
    cann: values.CannBounds | None = None
    pythons: values.Pythons = ()


class MindSpore(Row):
    """A MindSpore, its CANN, and the Pythons that the source names; none: it names no Python."""

    version: values.WheelVersion
    cann: values.Cann
    pythons: values.Pythons = ()


class KnownBad(Row, When):
    """A combination that fails, and why."""

    python_below: values.PackageVersion = ""
    why: str


class Ending(Row):
    """Something in some CANN releases that a later one will not have; ``date``: from when on."""

    cann: values.CannBounds
    what: str
    date: values.Date


class Lifetime(Row):
    """When a release came out and until when it is maintained; or ""."""

    component: Annotated[str, OneOf(LIFETIMES)]
    version: str
    released: values.Day = ""
    ends: values.Day = ""

    @model_validator(mode="after")
    def _is_of_a_release(self) -> Self:
        if self.component == "cann":
            CannVersion.parse(self.version)
        return self


class Rejected(Row):
    """A row of a source that must not be used; ``torch_npu`` need not be a version."""

    torch: str
    torch_npu: str
    cann: str
    why: str
    pythons: values.Pythons = ()
    branch: str = ""


R = TypeVar("R", bound=Row)


def _different(rows: tuple[R, ...]) -> tuple[R, ...]:
    lines: dict[tuple[object, ...], int] = {}
    raise_mistakes(
        ((number,), f"this says the same as the row in line {first}.", "Remove one of them.")
        for number, row in enumerate(rows)
        if (first := lines.setdefault(_content(row), row.line)) != row.line
    )
    return rows


def _content(row: Row) -> tuple[object, ...]:
    return *sorted(row.says.split(", ")), row.note, *(source.name for source in row.sources)


Rows = Annotated[tuple[R, ...], AfterValidator(_different)]


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_flat, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named(
    written: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> dict[str, Source]:
    """Sources that know their names; rows find them in ``info.context``."""
    context = info.context if info.context is not None else {}
    context |= {"names": [*written] if isinstance(written, dict) else [], "cited": set()}
    read: dict[str, Source] = handler(written)
    raise_mistakes(
        ((name, "state_of"), f"there is no source {each.state_of!r}.", hint)
        for name, each in read.items()
        if each.state_of and each.state_of not in read
        for hint in [did_you_mean(each.state_of, read)]
    )
    context["sources"] = {
        name: each.model_copy(update={"name": name}) for name, each in read.items()
    }
    return dict(context["sources"])


def _newest_states(rows: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """``rows`` without those of which a later state of the same document says something else."""
    newest: dict[tuple[str, ...], str] = {}
    for row in (rows := tuple(row for row in rows if row.sources)):
        newest[_subject(row)] = max(row.sources[0].date, newest.get(_subject(row), ""))
    return tuple(row for row in rows if row.sources[0].date == newest[_subject(row)])


def _subject(row: Pairing) -> tuple[str, ...]:
    """Its document and versions; a release of an application has a row of its own."""
    return row.sources[0].document, row.torch, row.torch_npu, str(row.cann), row.app


class CannPython(Row):
    """What CANN's own Python parts require."""

    requirements: Unique[str] = ()


class Compat(Model):
    """All of compat.yaml."""

    schema_: Annotated[str, SchemaVersion(1)] = Field(alias="schema")
    sources: Annotated[Mapping[str, Source], WrapValidator(_named)]
    suites: Rows[Suite]
    pairings: Annotated[Rows[Pairing], AfterValidator(_newest_states)] = Field(alias="torch_npu")
    compatible: Rows[Compatible] = ()
    drivers: Rows[Driver] = Field(alias="driver")
    abis: Rows[CxxAbi] = Field(alias="cxx_abi")
    releases: Rows[Release] = Field(alias="cann")
    on_toolkit: Rows[OnToolkit]
    files: Rows[FileName]
    layouts: Rows[LayoutRow]
    deepspeed: Rows[DeepSpeed]
    apex: Rows[Apex]
    packages: Rows[Package]
    applications: Rows[ApplicationRow] = ()
    mindspore: Rows[MindSpore]
    known_bad: Rows[KnownBad]
    endings: Rows[Ending]
    lifetimes: Rows[Lifetime]
    rejected: Rows[Rejected]
    cann_python: CannPython

    @model_validator(mode="after")
    def _cites_all(self, info: ValidationInfo) -> Self:
        fix = "Remove it, or add what it says."
        raise_mistakes(
            (("sources", name), "nothing in compat.yaml cites it.", fix)
            for name in self.sources.keys() - (info.context or {})["cited"]
        )
        return self


@lru_cache(maxsize=4)
def parse_compat(text: str, name: str) -> Compat:
    """The rows in ``text``, the content of a file called ``name``; an equal text is parsed once."""
    return parse_yaml(Compat, text, name, {})
