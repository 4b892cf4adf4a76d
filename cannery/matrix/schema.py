# SPDX-License-Identifier: Apache-2.0
"""Reads matrix.yaml into a Matrix, or reports everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    Tag,
    model_validator,
)

from cannery.common.bases import Base
from cannery.common.documents import Key, Map, read_text
from cannery.common.errors import MatrixError, Problem, Span, enumerated, some_of
from cannery.common.model import (
    CHIPS,
    EXTRAS,
    MACHINE_OF,
    PAIRED,
    TORCH_COMPANIONS,
    TRITON_ASCEND,
    USUAL_CHIP,
    CannRelease,
    Chip,
    Target,
    chip_hint,
)
from cannery.common.models import (
    Model,
    OneOf,
    SchemaVersion,
    Unique,
    fitting,
    in_order,
    matching,
    raise_mistakes,
    validate,
)
from cannery.common.wheels import for_machine
from cannery.compat import Compat, Finding, Refusal, cxx_abi, judge, refusals_of
from cannery.compat.files import file_name, has_chip, has_nnal
from cannery.compat.nearest import pinned_beside
from cannery.matrix.definitions import ChipShape, Definitions, Environment
from cannery.matrix.distributions import PackageName, entry_elsewhere
from cannery.matrix.families import PLATFORMS, Family, Part, expand
from cannery.matrix.file_definitions import Requirements, named
from cannery.matrix.files import (
    CATALOGUE,
    FACTS,
    MATRIX,
    SCHEMA,
    Data,
    catalogue,
    facts_of,
    load_with_data,
    read_data,
    read_facts,
    required_versions,
)
from cannery.matrix.matrix import Condition, Matrix, recommended_first

_NAMED = 3
"""How many of the targets that a cause concerns are named."""

_SIMULATED = "-sim"
"""The end of a simulated image's tag, which is the target's id up to there."""

_LONGEST = 128 - len(_SIMULATED)
"""A tag has at most 128 characters (OCI distribution specification 1.1)."""

_OF_THE_IMAGE = re.compile(
    r"PATH|LD_LIBRARY_PATH|PYTHONPATH|CMAKE_PREFIX_PATH|TOOLCHAIN_HOME|ASDOPS_HOME_PATH"
    r"|(ASCEND|ATB|CANNERY)_\w+"
    r"|(PIP|UV)_\w*CONSTRAINT\w*"
)
"""Variables on which CANN or the guard of torch rests."""

_ONE_CHIP = (
    "The operator packages of several chips cannot share one installation path "
    "(CANN installation guide, 8.5 to 9.1). Write one target for each chip."
)


def _id(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*", name):
        raise ValueError(f"{name!r} cannot be an image tag. Use a-z, 0-9 and '-', '_', '.'.")
    if len(name) > _LONGEST:
        what = f"the id {name[:20]}... has {len(name)} characters, and may have {_LONGEST}."
        raise ValueError(f"{what} With '{_SIMULATED}' it must fit a tag of 128. Shorten it.")
    if name.endswith(_SIMULATED):
        what = f"the id {name!r} ends in '{_SIMULATED}', which marks simulated images."
        raise ValueError(f"{what} Rename the target.")
    return name


def _one_chip(value: Any) -> Any:
    if isinstance(value, list):
        raise ValueError(f"a target is for one chip. {_ONE_CHIP}")  # noqa: TRY004
    return value


def _additional(environment: dict[str, str]) -> dict[str, str]:
    for name in environment:
        if _OF_THE_IMAGE.fullmatch(name):
            raise ValueError(f"{name} is set by the image itself. Leave it out.")
    return environment


_Text = Annotated[
    str, matching(r'[^"\\$\n\r]*', "it must not have quotes, backslashes, '$' or line breaks.")
]
"""What goes into a comment and a label of the Dockerfile."""

_Label = Annotated[
    str,
    matching(
        r"(?!io\.cannery\.|org\.opencontainers\.image\."
        r"(title|description|created|version|revision|source|base\.name)$)"
        r"[a-z0-9]+([._-][a-z0-9]+)*",
        "{text!r} cannot be set: it is no name such as com.example.team, or the image has it "
        "already (io.cannery.*, and org.opencontainers.image.title, description, created, version, "
        "revision, source and base.name).",
    ),
]
_Ascii = Annotated[
    str, matching(r"[\x00-\x7f]*", "{text!r} is not a version. Write it in digits of ASCII.")
]
_VERSION = (
    r"[0-9]+(\.[0-9]+)+((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
_NO_VERSION = "{text!r} is not a version. Write it as in 0.25.0."
_Version = Annotated[str, matching(_VERSION, _NO_VERSION)]
_Companion = Annotated[str, matching(f"{PAIRED}|{_VERSION}", _NO_VERSION)]
_Release = Annotated[str, named("cann", "CANN release")]
_Chip = Annotated[str, BeforeValidator(_one_chip)]


class CannShape(Model):
    """The releases of a target's packages; without NNAL where ``nnal`` is empty."""

    toolkit: _Release
    kernels: _Release
    nnal: _Release = ""
    chip: _Chip = ""


def _of_one_or_more_platforms(schema: dict[str, Any]) -> None:
    schema["dependencies"] = {"torch": ["torch_npu"], "torch_npu": ["torch"]}
    schema["required"].remove("platform")
    schema["oneOf"] = [{"required": ["platform"]}, {"required": ["platforms"]}]


_Platform = Annotated[str, OneOf(PLATFORMS)]


class TargetShape(Model):
    """What a target says of itself; see docs/matrix.md."""

    model_config = ConfigDict(json_schema_extra=_of_one_or_more_platforms)
    summary: _Text = ""
    unverified: _Text = ""
    platform: _Platform
    platforms: Annotated[Unique[_Platform], Field(min_length=1)] = ()
    flavour: Literal["devel", "runtime"] = "devel"
    base: Annotated[str, named("bases", "base")]
    python: Annotated[str, named("pythons", "python")]
    cann: Annotated[
        Annotated[_Release, Tag("one release")] | Annotated[CannShape, Tag("of each part")],
        Discriminator(lambda data: "of each part" if isinstance(data, dict) else "one release"),
    ]
    chip: _Chip = ""
    torch: _Ascii = ""
    torch_npu: _Ascii = ""
    torch_index: Annotated[str, named("torch_indexes", "index of torch")] = ""
    torchvision: _Companion = ""
    torchaudio: _Companion = ""
    msprobe: _Version = ""
    mooncake: _Version = ""
    ray: _Version = ""
    triton_ascend: _Version = ""
    apex: Annotated[str, named("apex", "apex build")] = ""
    deepspeed: _Ascii = ""
    hccl_test: StrictBool = False
    application: Annotated[str, named("applications", "application")] = ""
    requirements: Requirements = ()
    packages: Unique[PackageName] = ()
    environment: Annotated[Environment, AfterValidator(_additional)] = Field(default={})
    labels: dict[_Label, _Text] = Field(default={})
    keep: Unique[Annotated[str, named("leave_out", "part to leave out")]] = ()

    @model_validator(mode="after")
    def _has_torch_with_torch_npu(self) -> Self:
        keys = ("torch", "torch_npu")
        missing = [key for key in keys if not getattr(self, key)]
        if len(missing) == 1:
            raise_mistakes([((), f"there is no {missing[0]!r}.", "Add it.")])
        return self

    @model_validator(mode="after")
    def _has_platform_or_platforms(self) -> Self:
        # Read before, and now only there if the target has a platform as well.
        if self.platforms:
            raise_mistakes([(("platforms",), "there is a 'platform', too.", "Keep one of them.")])
        return self


def _targets_or_families(schema: dict[str, Any]) -> None:
    schema["required"].remove("targets")
    schema["anyOf"] = [{"required": ["targets"]}, {"required": ["families"]}]


_NO_REQUIREMENT = "{text!r} is no requirement of cannery. Write it as cannery>=0.1."


class MatrixShape(Definitions):
    """The whole of matrix.yaml, with the files of cannery/data."""

    model_config = ConfigDict(json_schema_extra=_targets_or_families)
    schema_: Annotated[str, SchemaVersion(SCHEMA)] = Field(alias="schema")
    requires: Annotated[str, fitting(required_versions, _NO_REQUIREMENT)] = ""
    build_base: Annotated[str, named("bases", "base")]
    chips: dict[Annotated[str, OneOf(CHIPS)], ChipShape] = Field(default={})
    common: Part = None
    families: dict[str, Family] = Field(default={})
    targets: dict[Annotated[str, AfterValidator(_id)], TargetShape]
    recommended: dict[str, Unique[Condition]] = Field(default={})


def load_matrix(path: Path) -> Matrix:
    """Read the matrix in ``path`` and judge its targets by the compat.yaml that belongs to it."""
    text, facts = read_text(path, path.name), read_facts(path)
    return parse_matrix(text, path.name, facts_of(facts), read_data(path.parent))


def parse_files(files: Data, compat: Compat | None = None) -> Matrix:
    """``parse_matrix`` of the texts of all files by name, of which MATRIX is one."""
    return parse_matrix(files[MATRIX], MATRIX, compat, files)


def parse_matrix(
    text: str, name: str, compat: Compat | None = None, data: Data | None = None
) -> Matrix:
    """The matrix in ``text``, the content of a file called ``name``, with what ``data`` defines.

    Without ``compat`` the targets are not judged: whether they can work is not asked.

    Raises:
        MatrixError: with every problem found, each with its line: first those of the form of the
            files and of names that nothing has, then those of what they mean.
    """
    data, problems = data or {}, list[Problem]()
    facts = compat or (facts_of(data) if FACTS in data else None)
    sources = load_with_data(text, name, data, problems)
    top = sources.top
    expansion = expand(top, partial(catalogue, data), problems)
    unused = [f"families: {value}" for value in expansion.unused]
    try:
        shape = validate(MatrixShape, top, top, problems)
    except MatrixError as error:
        raise MatrixError(_once(error.problems, expansion.platforms)) from error
    targets, findings = dict[str, Target](), dict[str, list[Finding]]()
    for key, each in shape.targets.items():
        before = len(problems)
        reading = _Reading(shape=each, definitions=shape, facts=facts, problems=problems)
        where = top.place("targets", key)
        targets[key] = reading.target(key, shape.bases[shape.build_base], where)
        problems[before:] = [replace(each, targets=(key,)) for each in problems[before:]]
        if compat and len(problems) == before:
            findings[key] = judge(targets[key], compat)
    if compat:
        problems += _refused(top, [targets[key] for key in findings], findings, compat)
    if problems:
        raise MatrixError(_once(in_order(problems), expansion.platforms))
    used = {id(each) for target in targets.values() for each in _used(target)}
    unused += (
        f"{key}: {each}"
        for key in Definitions.model_fields
        if key not in ("downloads", "cann_layouts", "leave_out")
        for each, value in getattr(shape, key).items()
        if id(value) not in used and top.place(key, each).file == name
    )
    return Matrix(
        targets=recommended_first(shape.recommended, targets, facts),
        cann=shape.cann,
        unused=tuple(unused),
        findings=findings,
        platforms=expansion.platforms,
        changed={
            **{("targets", key): text for key, text in expansion.inherited.items()},
            **sources.changed,
            **_changed_chips(shape),
        },
    )


def _once(problems: Iterable[Problem], platforms: Mapping[str, tuple[str, ...]]) -> list[Problem]:
    """``problems`` without what is wrong with a target once more for its other ``platforms``."""
    first = {other: ids[0] for ids in platforms.values() for other in ids[1:]}
    once: dict[tuple[Span | None, str], Problem] = {}
    for each in problems:
        whats = [each.what.replace(other, own) for other, own in first.items()]
        known = next((what for what in whats if (each.where, what) in once), each.what)
        before = once.get((each.where, known))
        targets = (*(before.targets if before else ()), *each.targets)
        once[each.where, known] = replace(before or each, targets=tuple(dict.fromkeys(targets)))
    return [*once.values()]


def _changed_chips(shape: MatrixShape) -> dict[tuple[str, str], str]:
    """What a project says of chips, as ``Matrix.changed`` has it."""
    return {
        ("chips", name): f"chips.{name} of {each.place()} replaces what is usual"
        for name, each in shape.chips.items()
    }


def _used(target: Target) -> list[object]:
    """Every definition that ``target`` names."""
    named = (target.base, target.build_base, target.python, target.application, target.torch_index)
    releases = (target.cann, target.kernels, target.nnal)
    return [*named, *releases, *target.vendor_wheels.values(), *target.built_wheels.values()]


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A target that is made of its shape and of the definitions that it names."""

    shape: TargetShape
    definitions: MatrixShape
    facts: Compat | None
    problems: list[Problem]

    def wrong(self, what: str, fix: str, *path: Key) -> None:
        self.problems.append(Problem(what=what, fix=fix, where=self.shape.place(*path)))

    def target(self, name: str, build_base: Base, where: Span) -> Target:
        shape, definitions = self.shape, self.definitions
        base, python = definitions.bases[shape.base], definitions.pythons[shape.python]
        if python.base not in ("", base.name):
            what = f"{python.name} comes with base {python.base}, not {base.name}."
            self.wrong(what, definitions.pythons_for(base, python), "python")
        application = definitions.applications.get(shape.application)
        asked = [
            (each, "the application") for each in (application.packages if application else ())
        ]
        asked += [(each, "the target") for each in shape.packages]
        for package, who in asked:
            if entry := entry_elsewhere(package, base, definitions.bases.values()):
                what = f"{who} asks for {package!r}, which base {base.name} does not have."
                names = ", ".join(base.distribution.packages[entry])
                self.wrong(what, f"Write {entry} in its packages, which is {names} there.", "base")
        extras = self.extras()
        toolkit, kernels, nnal, chip = self.cann()
        machine = MACHINE_OF[shape.platform.rpartition("/")[2]]
        target = Target(
            id=name,
            summary=shape.summary,
            unverified=shape.unverified,
            platform=shape.platform,
            base=base,
            build_base=build_base,
            python=python,
            cann=toolkit,
            chip=chip,
            own_chip=definitions.chips[chip].chip if chip in definitions.chips else Chip(),
            with_nnal=nnal is not None,
            kernels_release=kernels if kernels is not toolkit else None,
            nnal_release=nnal if nnal is not toolkit else None,
            torch=shape.torch,
            torch_npu=shape.torch_npu,
            torch_index=definitions.torch_indexes.get(shape.torch_index),
            torch_wheel=for_machine(definitions.torch_wheels.get(shape.torch), machine),
            torch_npu_wheel=definitions.torch_npu_wheels.get(shape.torch_npu),
            apex=definitions.apex.get(shape.apex),
            deepspeed=shape.deepspeed,
            deepspeed_wheel=definitions.deepspeed_wheels.get(shape.deepspeed),
            deepspeed_plugin=definitions.deepspeed_plugins.get(shape.deepspeed),
            extras=extras,
            triton_ascend_wheel=definitions.triton_ascend_wheels.get(extras.get(TRITON_ASCEND, "")),
            application=application,
            requirements=(*(application.requirements if application else ()), *shape.requirements),
            packages=shape.packages,
            environment=shape.environment,
            labels=shape.labels,
            leave_out=tuple(
                path
                for part, paths in definitions.leave_out.items()
                for path in paths
                if part not in shape.keep
            ),
            without_compiler=shape.flavour == "runtime",
            hccl_test=shape.hccl_test,
            span=where,
        )
        abi = cxx_abi(target, self.facts) if self.facts else None
        return replace(target, cxx_abi=abi, summary=shape.summary or self.summary(target))

    def extras(self) -> dict[str, str]:
        """Component to version, of those that are one package each."""
        shape, extras = self.shape, {name: getattr(self.shape, name) for name in EXTRAS}
        for name, package in TORCH_COMPANIONS.items():
            if extras[name] == PAIRED:
                paired = self.facts and pinned_beside(package, shape.torch, self.facts)
                if self.facts and shape.torch and not paired:
                    what = f"compat.yaml has no {package} for torch {shape.torch}."
                    self.wrong(what, "Write its version, or a row of packages with its pin.", name)
                extras[name] = paired or ""
        return {name: version for name, version in extras.items() if version}

    def cann(self) -> tuple[CannRelease, CannRelease, CannRelease | None, str]:
        """The releases of toolkit, kernels and NNAL, and the chip.

        A version alone stands for the toolkit, the kernels and, if it has it, the NNAL of a
        release.
        """
        shape, cann, releases = self.shape, self.shape.cann, self.definitions.cann
        chip, place = shape.chip or USUAL_CHIP, ["chip"]
        if isinstance(cann, str):
            toolkit = kernels = releases[cann]
            nnal = toolkit if toolkit.has_nnal else None
        else:
            toolkit, kernels = releases[cann.toolkit], releases[cann.kernels]
            nnal = releases.get(cann.nnal)
            if shape.chip and cann.chip:
                what = "the chip is given twice, first in 'cann'."
                self.wrong(what, "Keep one of them.", "chip")
            if not shape.chip:
                chip, place = cann.chip or USUAL_CHIP, ["cann", "chip"]
        facts, platform = self.facts, shape.platform
        if nnal and not nnal.has_nnal:
            fix = "Leave nnal out."
            if facts and has_nnal(facts, nnal):
                file = file_name(facts, "nnal", nnal, "", platform)
                fix = f"Huawei has it: add nnal: {{file: {file}, origin: ...}} to the release."
            what = f"matrix.yaml has no NNAL file of CANN {nnal.version}."
            self.wrong(what, fix, "cann", "nnal")
        if chip not in kernels.chips:
            fix = chip_hint(chip, kernels.chips)
            if facts and has_chip(facts, kernels, chip):
                file = file_name(facts, "kernels", kernels, chip, platform)
                declared = f"{chip}: {{file: {file}, origin: ...}} to its kernels"
                fix = f"Huawei has it: add {chip} to its chips, or {declared}."
            what = f"matrix.yaml has no kernels file of CANN {kernels.version} for chip {chip!r}."
            self.wrong(what, fix, *place)
        return toolkit, kernels, nnal, chip

    def summary(self, target: Target) -> str:
        """The summary of a target without one of its own: its contents, CANN and chip."""
        application, torch = target.application, target.torch
        first = application.title if application else torch and f"PyTorch {torch}"
        if not first:
            fix = "Add it. It follows from torch or from the title of the application."
            self.wrong(f"{target.id} has no 'summary'.", fix)
        if not application:
            companions = ["apex"] if target.apex else []
            companions += [name.replace("_", "-") for name in target.extras]
            companions += [f"DeepSpeed {target.deepspeed}"] if target.deepspeed else []
            companions += ["the HCCL tests"] if target.hccl_test else []
            first += f" with {enumerated(companions)}" if companions else ""
        second = f"PyTorch {torch} and " if application and torch else ""
        on = f"{second}CANN {target.cann.version} for {target.chip.upper()}"
        return f"{first} on {on}{' without a compiler' if target.without_compiler else ''}"


def _refused(
    top: Map, targets: Iterable[Target], findings: Mapping[str, list[Finding]], compat: Compat
) -> Iterator[Problem]:
    """A problem for each cause why ``targets`` must not be built, with those that it concerns."""
    causes: dict[tuple[Span, str], tuple[Refusal, list[str]]] = {}
    for target in targets:
        for refusal in refusals_of(target, findings[target.id], compat):
            finding = refusal.finding
            where = top.place(*(finding.place or ("targets", target.id, finding.key)))
            if where.file == CATALOGUE:  # a value of the target that this one is from
                where = top.place("targets", target.id)
            causes.setdefault((where, finding.text), (refusal, []))[1].append(target.id)
    for (where, _), (refusal, names) in causes.items():
        what = refusal.problem.what
        if refusal.finding.beside:
            what += f" The other one is in {top.place(*refusal.finding.beside)}."
        if refusal.finding.place or len(names) > 1:
            what += f" It concerns {some_of(names, _NAMED)}."
        yield replace(refusal.problem, what=what, where=where, targets=tuple(names))
