# SPDX-License-Identifier: Apache-2.0
"""compat.yaml as data: its rows, each with its place and its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WrapValidator,
    model_validator,
)

from cannery.common.cann_version import CannVersion
from cannery.common.models import (
    NUMBER,
    MistakesError,
    Model,
    OneOf,
    SchemaVersion,
    Unique,
    parse_yaml,
    raise_mistakes,
)
from cannery.common.specifiers import normal_name
from cannery.compat import values
from cannery.compat.sources import OWN_ROWS, Row, Rows, Source, named

LIFETIMES = {
    "cann": "CANN",
    "torch_npu": "torch_npu for torch",
    "python": "Python",
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "openeuler": "openEuler",
}
"""Component of a lifetime to its name in sentences; a base is one of the distribution's name."""


class When(Model):
    """Conditions of a row: ``requirement`` is required, ``without`` is not, the target has no NNAL
    (``without_nnal``), and so on. One that is None, False or empty always holds.
    """

    cann: values.CannBounds | None = None
    torch: values.Bounds | None = None
    torch_npu: values.Bounds | None = None
    requirement: values.Wheel | None = Field(default=None, alias="with")
    without: values.Wheel | None = None
    machine: values.Machine = ""
    without_compiler: bool = Field(default=False, alias="runtime")
    usual_index: bool = False
    without_nnal: bool = False
    pythons: values.Pythons = ()
    chips: values.Chips = ()


class Pairing(Row):
    """A torch, a torch_npu ("" where the source names none) and a CANN that go together.

    ``pythons`` are the minors that the best source names, ``wheels_pythons`` those for which the
    last source has wheels; both may be empty. ``chips`` are those that the source is for, where it
    names any.
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
    mooncake: str = ""
    chips: values.Chips = ()

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

    abi: Annotated[int, Field(ge=0, le=1), NUMBER]


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

    ``instead`` is what to do where it is refused. ``provided_by`` is a package with the same
    modules: the lock of a target that has it goes without this one, if only others require it.
    """

    package: str
    bound: values.Bounds | None = None
    pin: values.Bounds | None = None
    seen: values.Bounds | None = None
    refused: str = ""
    required: bool = False
    instead: str = ""
    provided_by: str = ""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        given = (self.bound, self.pin, self.seen, self.refused or None)
        if sum(each is not None for each in given) != 1:
            raise ValueError("this needs exactly one of bound, pin, seen and refused")
        return self


class Wheels(Row):
    """The wheels that package indexes have of some versions of a package: their tags.

    Without ``pythons`` they have none. ``glibc`` is the oldest that the wheels run with. A row with
    a ``machine`` holds there only.
    """

    package: str
    versions: Unique[values.WheelVersion]
    pythons: values.Pythons = ()
    machine: values.Machine = ""
    glibc: values.Glibc = ()


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


def _newest_states(rows: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
    """``rows`` without those of which a later state of the same document says something else."""
    newest: dict[tuple[str, ...], str] = {}
    for row in (rows := tuple(row for row in rows if row.sources)):
        newest[_subject(row)] = max(row.sources[0].date, newest.get(_subject(row), ""))
    return tuple(row for row in rows if row.sources[0].date == newest[_subject(row)])


def _subject(row: Pairing) -> tuple[str, ...]:
    """Its document and versions; a release of an application has a row of its own."""
    return row.sources[0].document, row.torch, row.torch_npu, str(row.cann), row.app


@cache
def _matching(name: str, patterns: Sequence[str]) -> str:
    """The first of ``patterns`` that ``name`` matches; "" for none."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), "")


class CannPython(Row):
    """What CANN's own Python parts require."""

    requirements: Unique[str] = ()


def _parts_are_optional(schema: dict[str, Any]) -> None:
    schema["required"] = ["schema"]


class Compat(Model):
    """All of compat.yaml."""

    model_config = ConfigDict(json_schema_extra=_parts_are_optional)
    schema_: Annotated[str, SchemaVersion(1)] = Field(alias="schema")
    sources: Annotated[Mapping[str, Source], WrapValidator(named)]
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
    wheels: Rows[Wheels] = ()
    applications: Rows[ApplicationRow] = ()
    mindspore: Rows[MindSpore]
    known_bad: Rows[KnownBad]
    endings: Rows[Ending]
    lifetimes: Rows[Lifetime]
    rejected: Rows[Rejected]
    cann_python: CannPython

    @model_validator(mode="before")
    @classmethod
    def _adds_to_another(cls, data: Any, info: ValidationInfo) -> Any:
        """What is added to rows need not have every part."""
        if not (isinstance(data, dict) and (ours := (info.context or {}).get("ours"))):
            return data
        parts: dict[str, Any] = {each.alias or name: [] for name, each in cls.model_fields.items()}
        parts |= {"sources": {}, "schema": None, "cann_python": ours.cann_python}
        return {**{key: value for key, value in parts.items() if value is not None}, **data}

    @cached_property
    def by_package(self) -> Mapping[str, Sequence[Package]]:
        """Package, or a pattern of packages, to the rows about it."""
        rows: dict[str, list[Package]] = {}
        for row in self.packages:
            rows.setdefault(normal_name(row.package), []).append(row)
        return rows

    def packages_named(self, names: Iterable[str]) -> Mapping[str, Sequence[Package]]:
        """Those of ``names`` that rows are about; those of a pattern only if no row names it."""
        patterns = self._patterns
        matching = {name: _matching(name, patterns) for name in names}
        return {
            name: self.by_package.get(name) or self.by_package[pattern]
            for name, pattern in matching.items()
            if pattern or name in self.by_package
        }

    @cached_property
    def _patterns(self) -> tuple[str, ...]:
        return tuple(name for name in self.by_package if "*" in name)  # as nvidia-*

    @cached_property
    def absences(self) -> frozenset[Source]:
        """The sources by which something is absent, with a day of reading."""
        absent = [row for row in (*self.packages, *self.known_bad) if row.absent]
        rows = (*absent, *(row for row in self.wheels if not row.pythons))
        return frozenset(source for row in rows for source in row.sources if source.read)

    @cached_property
    def by_wheel(self) -> Mapping[tuple[str, str], Sequence[Wheels]]:
        """Package and version to the rows about its wheels."""
        rows: dict[tuple[str, str], list[Wheels]] = {}
        for row in self.wheels:
            for version in row.versions:
                rows.setdefault((row.package, version), []).append(row)
        return rows

    @cached_property
    def packages_with_wheels(self) -> frozenset[str]:
        """The packages whose wheels' tags are recorded."""
        return frozenset(row.package for row in self.wheels)

    @model_validator(mode="after")
    def _cites_all(self, info: ValidationInfo) -> Self:
        fix = "Remove it, or add what it says."
        raise_mistakes(
            (("sources", name), "nothing in compat.yaml cites it.", fix)
            for name in self.sources.keys() - (info.context or {})["cited"]
        )
        return self


@lru_cache(maxsize=4)
def parse_compat(text: str, name: str, own: str = "") -> Compat:
    """The rows in ``text``, the content of a file called ``name``; an equal text is parsed once.

    ``own`` is the text of OWN_ROWS, "" where there is none: its rows are added.
    """
    if not own:
        return parse_yaml(Compat, text, name, {})
    ours = parse_compat(text, name)
    more = parse_yaml(Compat, own, OWN_ROWS, {"ours": ours})
    joined: dict[str, Any] = dict(vars(more))
    for part, rows in vars(ours).items():
        if isinstance(rows, tuple):
            joined[part] = (*rows, *joined[part])
    joined["pairings"] = _newest_states(joined["pairings"])
    joined["sources"] = {**ours.sources, **more.sources}
    return Compat.model_construct(**joined)
