# SPDX-License-Identifier: Apache-2.0
"""Targets that ask about a row or a definition that no target of the project needs.

Most rows of compat.yaml are about versions that matrix.yaml does not have. What such a row says
shows when somebody asks about them, so that the campaign asks: for each version that the row names,
and for one just below and just above it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from packaging.version import Version

from cannery.common.bases import Base, File, Python
from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.model import (
    EXTRAS,
    MACHINE_OF,
    TRITON_ASCEND,
    Application,
    CannPackages,
    CannRelease,
    Layout,
    Target,
)
from cannery.common.wheels import VendorWheel
from cannery.compat import facts
from cannery.compat.sources import Row
from cannery.matrix.definitions import Definitions
from cannery.matrix.distributions import load_distributions

_ASKING = Application(
    name="asking",
    component="asking",
    version="",
    requirements=(),
    overrides=(),
    sdists=(),
    wheels={},
    packages=(),
    environment={},
    sources=(),
    ports=(),
    volumes={},
)

_PLATFORMS = {machine: f"linux/{arch}" for arch, machine in MACHINE_OF.items()}
_MOST = 60
"""About how many probes one row may have."""


def of_row(row: Row, stock: Target) -> list[Target]:
    """Targets that ask what ``row`` says."""
    if isinstance(row, facts.Lifetime):
        return [_filled(stock, {_LIFETIMES.get(row.component, row.component): row.version})]
    if isinstance(row, facts.CxxAbi) and row.requirement:
        versions = _versions(row.requirement.specifier)
        return [_filled(stock, {"mindspore": version}) for version in versions]
    if isinstance(row, facts.Wheels):
        return [_filled(stock, asked) for asked in _of_wheels(row)]
    choices = [[*_asked(name, value, row)] for name, value in row]
    combined = itertools.product(*[each for each in choices if each])
    found = [_filled(stock, dict(each for part in parts for each in part)) for parts in combined]
    return found[:: 1 + len(found) // _MOST]


def _of_wheels(row: facts.Wheels) -> Iterator[dict[str, Any]]:
    """Each version on a Python without wheels, and one on each Python at the ends of those with."""
    minors = [int(each.split(".")[1]) for each in row.pythons or ("3.9",)]
    ends = [f"3.{minor}" for minor in (minors[0] - 1, minors[0], minors[-1], minors[-1] + 1)]
    machines = (row.machine,) if row.machine else tuple(MACHINE_OF.values())
    cases = [(version, ends[-1], machines[0]) for version in row.versions]
    cases += itertools.product(row.versions[:1], ends, machines)
    for version, minor, machine in cases:
        # Older than any wheel wants, so that its own glibc shows.
        asked: dict[str, Any] = {"pythons": minor, "machine": machine, "glibc": "2.5"}
        if row.package == "torch-npu":
            torch = Version(version).base_version
            yield {**asked, "torch": torch, "torch_npu": version}
        elif row.package == "mindspore":
            yield {**asked, "mindspore": version}
        elif row.package == EXTRAS[TRITON_ASCEND]:
            yield {**asked, TRITON_ASCEND: version}
        else:
            yield {**asked, "package": f"{row.package}=={version}"}


_RELEASES = ("6.3.RC1", "8.0.RC2", "8.1.RC1", "8.3.RC1", "8.5.1", "9.0.0")
_MORE = {"toolkits": ("8.0.RC3",), "chips": ("other",)}
"""What a row need not name, and what asks about all that it does name."""

_Part = list[tuple[str, Any]]

_ASKED = {
    *("version", "toolkits", "cann", "torch", "torch_npu", "pythons", "chips", "suite"),
}

_PAIRED: _Part = [("torch", "2.9.0"), ("torch_npu", "2.9.0.post2")]
"""Wheels that their maker pairs with a CANN that others are compatible with."""

_HCCL_TEST = "hccl-test"

_LIFETIMES = {"cann": "cann", "torch_npu": "torch", "python": "pythons"}
"""Component of a lifetime to what is asked about; the others are distributions."""


def _asked(name: str, value: Any, row: Row) -> Iterator[_Part]:
    """The values of the targets that ask about the field ``name``, one list for each choice."""
    if isinstance(row, facts.Package) and name == "package":
        yield from _package(row)
    elif isinstance(row, facts.FileName) and name == "file":
        # Another name than Huawei's, so that the message says that one.
        yield [("file", "x.zip")]
    elif isinstance(row, facts.ApplicationRow) and name == "application":
        yield from ([(name, (value.name, each))] for each in _versions(value.specifier))
    elif name in ("requirement", "without") and value:
        yield from ([(name, text)] for text in (str(value), ""))
    elif name == "layout":
        yield from ([(name, str(each))] for each in Layout)
    elif name == "python_below" and value:
        yield from ([(name, each)] for each in _around(Version(value)))
    elif name in ("machine", "without_compiler", "without_nnal") and value:
        yield [(name, value)]
    elif isinstance(row, facts.CxxAbi) and name == "torch" and not value:
        yield from ([(name, each)] for each in ("2.3.1", "2.7.1"))
    elif name in _ASKED:
        key = name
        if name == "version" and not isinstance(row, facts.OnToolkit):
            key = type(row).__name__.lower()
        paired = _PAIRED if isinstance(row, facts.Compatible) else []
        yield from ([(key, each), *paired] for each in (*_versions(value), *_MORE.get(name, ())))


def _package(row: facts.Package) -> Iterator[_Part]:
    yield from ([("package", text)] for text in _requirements(row))
    if row.package == _HCCL_TEST:
        yield [("hccl_test", True)]


def _requirements(row: facts.Package) -> list[str]:
    bounds = [each for each in (row.bound, row.pin, row.seen) if each is not None]
    # A pattern, such as nvidia-*, is asked about with a name that fits it.
    package = row.package.replace("*", "x")
    named = [f"{package}=={each}" for bound in bounds for each in _versions(bound)]
    return [package, *named, ""]


def _versions(value: Any) -> list[str]:
    if isinstance(value, str | CannVersion):
        return [str(value)] if str(value) else []
    if isinstance(value, tuple):
        return [str(each) for each in value]
    if isinstance(value, CannRange):
        return [*(str(bound) for _, bound in value.clauses), *_RELEASES]
    return [text for each in value or () for text in _around(Version(each.version.rstrip(".*")))]


def _around(version: Version) -> list[str]:
    """``version`` and the ones just below and above it."""
    major, minor, last = (*version.release, 0, 0)[:3]
    below = f"{major}.{minor}.{last - 1}" if last else f"{major}.{minor - 1}.99"
    near = [f"{version.base_version}.1", f"{major}.{minor}.{last + 1}"]
    return [str(version), *near, *([below] if last or minor else [])]


def _filled(stock: Target, asked: dict[str, Any]) -> Target:
    """``stock`` with what is asked about, and nothing that would be refused before."""
    chip, torch = asked.get("chips", stock.chip), asked.get("torch", "2.3.1")
    release = made_release(asked.get("toolkits") or asked.get("cann", "8.0.RC3"), chip, asked)
    other = made_release(asked["version"], chip, asked) if "version" in asked else None
    apex = VendorWheel(version=asked["apex"], file="a", origin="") if "apex" in asked else None
    minor = asked.get("python_below") or asked.get("pythons", "3.9") + ".1"
    # No suite has this glibc, so that the message says what it has.
    suite: dict[str, Any] = {"suite": asked["suite"], "glibc": "0.0"} if "suite" in asked else {}
    if glibc := asked.get("glibc"):
        suite["glibc"] = glibc
    for name in asked.keys() & load_distributions().keys():
        suite |= {"distribution": load_distributions()[name], "suite": asked[name]}
    needed = [asked.get(key, "") for key in ("package", "requirement", "without")]
    application = None
    if "application" in asked:
        component, version = asked["application"]
        application = replace(_ASKING, name=component, component=component, version=version)
    if mindspore := asked.get("mindspore"):
        needed.append(f"mindspore=={mindspore}")
    return replace(
        stock,
        platform=_PLATFORMS[asked.get("machine", stock.machine)],
        base=replace(stock.base, **suite),
        python=replace(stock.python, version=minor),
        cann=release,
        kernels_release=other,
        nnal_release=other,
        chip=chip,
        with_nnal=not asked.get("without_nnal"),
        hccl_test=asked.get("hccl_test", False),
        without_compiler=asked.get("without_compiler", False),
        torch="" if mindspore else torch,
        torch_npu="" if mindspore else asked.get("torch_npu", torch),
        apex=apex,
        deepspeed=asked.get("deepspeed", ""),
        application=application,
        extras={TRITON_ASCEND: asked[TRITON_ASCEND]} if TRITON_ASCEND in asked else {},
        requirements=tuple(filter(None, needed)),
    )


def made_release(version: str, chip: str, asked: Mapping[str, str]) -> CannRelease:
    """A release that matrix.yaml need not have."""
    file = File(name=asked.get("file", "x.run"), origin="")
    known = {str(each): each for each in Layout}
    return CannRelease(
        version=version,
        layout=known.get(asked.get("layout", ""), Layout.CANN),
        interim=False,
        nearest_public="",
        packages=dict.fromkeys(
            MACHINE_OF.values(), CannPackages(toolkit=file, kernels={chip: file}, nnal=file)
        ),
        requirements=(),
    )


def of_definitions(
    targets: Sequence[Target], new: Definitions, names: Iterable[str]
) -> list[Target]:
    """Targets that use the definitions ``names``, each a kind and a name, as ``new`` has them."""
    found: list[Target] = []
    for kind, _, name in (each.partition(" ") for each in names):
        value = getattr(new, kind).get(name)
        if isinstance(value, Base):
            found += _on(value, next((t for t in targets if t.base.name == name), targets[0]))
        elif value is not None:
            found += _using(targets[0], kind, value)
    return found


def _on(base: Base, like: Target) -> Iterator[Target]:
    """``like`` on ``base``, and asking for one each of what its distribution has packages for."""
    yield replace(like, base=base)
    for name in base.distribution.packages:
        application = replace(like.application or _ASKING, packages=(name,))
        yield replace(like, base=base, application=application)


def _using(stock: Target, kind: str, value: Any) -> list[Target]:
    if isinstance(value, Python):
        return [replace(stock, python=value, platform=each) for each in _PLATFORMS.values()]
    if isinstance(value, CannRelease):
        nnal = value.has_nnal
        return [
            replace(stock, cann=value, chip=chip, with_nnal=nnal, platform=each)
            for chip in value.chips
            for each in _PLATFORMS.values()
        ]
    if isinstance(value, Application):
        # The title is in the summary of every target that has no other.
        summary, requirements = value.title, value.requirements
        return [replace(stock, application=value, summary=summary, requirements=requirements)]
    keys = {
        "apex": "apex",
        "deepspeed_plugins": "deepspeed_plugin",
        "torch_npu_wheels": "torch_npu_wheel",
    }
    key = keys.get(kind, "deepspeed_wheel")
    changes: dict[str, Any] = {key: value} if isinstance(value, VendorWheel) else {}
    return [replace(stock, **changes)]
