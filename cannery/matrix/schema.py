# SPDX-License-Identifier: Apache-2.0
"""Reads matrix.yaml into a Matrix, or reports everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cannery.common.bases import Base
from cannery.common.errors import did_you_mean, enumerated, some_of
from cannery.common.model import (
    EXTRAS,
    HCCL_TEST,
    PAIRED,
    TORCH_COMPANIONS,
    TRITON_ASCEND,
    Application,
    Flavour,
    Target,
)
from cannery.common.yaml_limits import read_limited
from cannery.common.yaml_reader import Problems, Section, compose
from cannery.compat import Compat, Finding, Refusal, judge, parse_compat, refusals_of
from cannery.compat.nearest import pinned_beside
from cannery.matrix.cann_choice import CannChoice, choose_cann
from cannery.matrix.definitions import Definitions, read_definitions
from cannery.matrix.distributions import entry_elsewhere
from cannery.matrix.families import MAX_TARGETS, Expanded, expand_families
from cannery.matrix.files import FACTS, MATRIX, Data, read_data, read_facts, with_data
from cannery.matrix.matrix import Matrix, recommended_first
from cannery.matrix.wheels import read_requirements

_NAMED = 3
"""How many of the targets that a cause concerns are named."""


@dataclass(kw_only=True)
class _Cause:
    node: yaml.Node
    first: Refusal
    shared: bool
    targets: list[str] = field(default_factory=list)


class CompatErrors:
    """Collects why targets of one file must not be built; without ``compat`` nothing is refused.

    ``findings`` has everything that is known of each target, by its id.
    """

    def __init__(self, top: Section, compat: Compat | None) -> None:
        self._top = top
        self._compat = compat
        self._causes: dict[tuple[int, str], _Cause] = {}
        self.findings: dict[str, list[Finding]] = {}

    def add(self, target: Target, section: Section) -> None:
        """Judge ``target``, which was read from ``section``."""
        if self._compat is None:
            return
        found = self.findings[target.id] = judge(target, self._compat)
        for refusal in refusals_of(target, found, self._compat):
            shared = bool(refusal.finding.place)
            node = (
                self._top.at(refusal.finding.place)
                if shared
                else section.node_of(refusal.finding.key)
            )
            new = _Cause(node=node, first=refusal, shared=shared)
            cause = self._causes.setdefault((node.start_mark.index, refusal.finding.text), new)
            cause.targets.append(target.id)

    def report(self) -> None:
        """Make a problem of every cause."""
        for cause in self._causes.values():
            problem = cause.first.problem
            what = problem.what
            if cause.shared or len(cause.targets) > 1:
                what += f" It concerns {some_of(cause.targets, _NAMED)}."
            self._top.problems.add(cause.node, what, problem.fix)


_ID = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_VERSION = re.compile(
    r"[0-9]+(\.[0-9]+)+((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
_SIMULATED = "-sim"
"""The end of a simulated image's tag, which is the target's id up to there."""

_LONGEST = 128 - len(_SIMULATED)
"""A tag has at most 128 characters (OCI distribution specification 1.1)."""

_PLATFORMS = ("linux/arm64", "linux/amd64")
_FLAVOURS = {str(each): each for each in (Flavour.DEVEL, Flavour.RUNTIME)}
"""Those that a target can name; APP follows from its application."""


def load_matrix(path: Path) -> Matrix:
    """Read the matrix in ``path`` and judge its targets by the compat.yaml in the same folder.

    Raises:
        FileError: one of them cannot be read.
        MatrixError: with every problem found, each with its line.
    """
    text = read_limited(path, path.name)
    facts = parse_compat(read_facts(path), FACTS)
    return parse_matrix(text, path.name, facts, read_data(path.parent))


def parse_matrix(
    text: str, name: str, compat: Compat | None = None, data: Data | None = None
) -> Matrix:
    """The matrix in ``text``, the content of a file called ``name``, with what ``data`` defines.

    Without ``compat`` the targets are not judged: whether they can work is not asked.

    Raises:
        MatrixError: with every problem found, each with its line.
    """
    data, problems = data or {}, Problems(name)
    top = Section(with_data(compose(text, name), data, problems), name, problems)
    facts = compat or (parse_compat(data[FACTS], FACTS) if FACTS in data else None)
    matrix = matrix_of(top, compat, facts)
    top.done()
    problems.raise_if_any()
    return matrix


def parse_files(files: Data, compat: Compat | None = None) -> Matrix:
    """``parse_matrix`` of the texts of all files by name, of which MATRIX is one."""
    return parse_matrix(files[MATRIX], MATRIX, compat, files)


def matrix_of(top: Section, compat: Compat | None, facts: Compat | None = None) -> Matrix:
    """The matrix of the matrix.yaml ``top``; mistakes become problems.

    Without ``compat`` the targets are not judged; ``facts`` have the versions that belong to a
    torch.
    """
    schema = top.text("schema")
    if schema == "1":
        top.wrong("schema", "this version of cannery reads schema 2 only.")
        top.problems.raise_if_any()
    elif schema not in ("2", ""):
        top.wrong("schema", "this version of cannery reads schema 2 only.")
    definitions = read_definitions(top)
    found, of_axes = _found(top)
    targets: dict[str, Target] = {}
    judgement = CompatErrors(top, compat)
    for name, section in found:
        if name in targets:
            first = targets[name].span.line
            what = f"target {name!r} is declared already, in line {first}."
            section.problems.add(section.node, what, "Rename one of them.")
            continue
        before = top.problems.count
        if target := _target(name, section, definitions, facts):
            targets[name] = target
            if top.problems.count == before and not _is_faulty(target, definitions):
                judgement.add(target, section)
    judgement.report()
    unused = (*_unused(top, targets.values(), definitions), *of_axes)
    return Matrix(
        targets=recommended_first(top, targets),
        cann=definitions.cann,
        unused=unused,
        findings=judgement.findings,
    )


def _used(target: Target) -> list[object]:
    """Every definition that ``target`` names."""
    named = (target.base, target.build_base, target.python, target.application, target.torch_index)
    releases = (target.cann, target.kernels, target.nnal)
    return [*named, *releases, *target.vendor_wheels.values(), *target.built_wheels.values()]


def _unused(top: Section, targets: Iterable[Target], definitions: Definitions) -> tuple[str, ...]:
    """The key and the name of every definition of matrix.yaml itself that no target names."""
    problems = top.problems
    used = {id(each) for target in targets for each in _used(target)}
    defined: dict[str, Mapping[str, object]] = {
        "bases": definitions.bases,
        "pythons": definitions.pythons,
        "cann": definitions.cann,
        "apex": definitions.apex,
        "deepspeed_plugins": definitions.plugins,
        "torch_wheels": definitions.torch_wheels,
        "torch_npu_wheels": definitions.torch_npu_wheels,
        "deepspeed_wheels": definitions.deepspeed_wheels,
        "triton_ascend_wheels": definitions.triton_ascend_wheels,
        "torch_indexes": definitions.torch_indexes,
        "applications": definitions.applications,
    }
    return tuple(
        f"{key}: {name}"
        for key, named in defined.items()
        for name, each in named.items()
        if id(each) not in used and problems.file_of(top.at((key, name))) == problems.file
    )


def _is_faulty(target: Target, definitions: Definitions) -> bool:
    """Whether there was a mistake in something that ``target`` names."""
    return any(definitions.is_faulty(each) for each in _used(target))


def _found(top: Section) -> tuple[list[tuple[str, Section]], list[str]]:
    """Id and mapping of every target, those of families first; and the unused values of axes."""
    families = top.section("families", required=False)
    expanded = expand_families(families) if families else Expanded()
    found = expanded.targets
    if section := top.section("targets", required="families" not in top):
        found += section.sections()
    if len(found) > MAX_TARGETS:
        what = f"there are {len(found):,} targets, and a file may have {MAX_TARGETS:,}."
        top.wrong("targets", what, "Divide the file or remove targets.")
        top.problems.raise_if_any()
    return found, [f"families: {value}" for value in expanded.unused]


def _target(
    name: str, section: Section, definitions: Definitions, facts: Compat | None
) -> Target | None:
    _check_id(name, section)
    texts = _texts(section)
    base = section.choose("base", definitions.bases, "base")
    python = section.choose("python", definitions.pythons, "python")
    cann = choose_cann(section, definitions, texts["platform"], facts)
    wheels = _wheels(section, definitions, facts)
    if not texts["summary"]:
        texts["summary"] = _summary(section, texts, wheels, cann)
    leave_out = _leave_out(section, definitions)
    section.done()
    if base is None or python is None or cann is None or definitions.build_base is None:
        return None
    own_base = definitions.python_bases.get(python.name, base.name)
    if own_base != base.name:
        what = f"{python.name} comes with base {own_base}, not {base.name}."
        section.wrong("python", what, definitions.pythons_for(base, python))
    _check_packages(section, wheels["application"], base, definitions)
    if not texts["platform"]:
        return None
    return Target(
        id=name,
        base=base,
        build_base=definitions.build_base,
        python=python,
        leave_out=leave_out,
        span=section.problems.span(section.node),
        **texts,
        **_cann(cann),
        **wheels,
    )


def _check_packages(
    section: Section, application: Application | None, base: Base, definitions: Definitions
) -> None:
    """Refuse names of packages that only another distribution or suite has."""
    for name in application.packages if application else ():
        if entry := entry_elsewhere(name, base, definitions.bases.values()):
            what = f"no package of base {base.name} is called {name!r}, which the application asks"
            names = ", ".join(base.distribution.packages[entry])
            fix = f"Write {entry} in its packages, which is {names} there."
            section.wrong("base", f"{what} for.", fix)


def _check_id(name: str, section: Section) -> None:
    what, fix = "", ""
    if not _ID.fullmatch(name):
        what, fix = f"{name!r} cannot be an image tag.", "Use a-z, 0-9 and '-', '_', '.'."
    elif len(name) > _LONGEST:
        what = f"the id {name[:20]}... has {len(name)} characters, and may have {_LONGEST}."
        fix = f"With '{_SIMULATED}' it must fit a tag of 128. Shorten it."
    elif name.endswith(_SIMULATED):
        what = f"the id {name!r} ends in '{_SIMULATED}', which marks simulated images."
        fix = "Rename the target."
    if what:
        section.problems.add(section.node, what, fix)


def _texts(section: Section) -> dict[str, Any]:
    """What a target says of itself."""
    summary = section.text("summary", required=False)
    unverified = section.text("unverified", required=False)
    for key, text in (("summary", summary), ("unverified", unverified)):
        # Both go into a comment and a label of the Dockerfile.
        if set(text) & set('"\\$\n\r'):
            what = f"{key!r} must not have quotes, backslashes, '$' or line breaks."
            section.wrong(key, what)
    platform = section.choose("platform", {name: name for name in _PLATFORMS}, "platform")
    flavour = section.choose("flavour", _FLAVOURS, "flavour", default=Flavour.DEVEL)
    return {
        "summary": summary,
        "unverified": unverified,
        "platform": platform or "",
        "without_compiler": flavour is Flavour.RUNTIME,
        "hccl_test": section.flag(HCCL_TEST),
    }


def _summary(
    section: Section, texts: Mapping[str, Any], wheels: Mapping[str, Any], cann: CannChoice | None
) -> str:
    """The summary of a target without one of its own: its contents, CANN and chip."""
    application, torch = wheels["application"], wheels["torch"]
    first = application.title if application else torch and f"PyTorch {torch}"
    # A torch that is wrong has been told.
    if not first and section.take("summary", required=False) is None and "torch" not in section:
        fix = "Add it. It follows from torch or from the title of the application."
        section.problems.add(section.node, f"{section.name} has no 'summary'.", fix)
    if not application and (companions := _companions(texts, wheels)):
        first += f" with {enumerated(companions)}"
    second = f"PyTorch {torch} and " if application and torch else ""
    on = f" on {second}CANN {cann.toolkit.version} for {cann.chip.upper()}" if cann else ""
    return f"{first}{on}{' without a compiler' if texts['without_compiler'] else ''}"


def _companions(texts: Mapping[str, Any], wheels: Mapping[str, Any]) -> list[str]:
    """What a target without an application has beside torch and torch_npu, as people call it."""
    found = ["apex"] if wheels["apex"] else []
    found += [name.replace("_", "-") for name in wheels["extras"]]
    found += [f"DeepSpeed {wheels['deepspeed']}"] if wheels["deepspeed"] else []
    return found + (["the HCCL tests"] if texts["hccl_test"] else [])


def _cann(choice: CannChoice) -> dict[str, Any]:
    toolkit, kernels, nnal = choice.toolkit, choice.kernels, choice.nnal
    return {
        "cann": toolkit,
        "chip": choice.chip,
        "with_nnal": nnal is not None,
        "kernels_release": kernels if kernels is not toolkit else None,
        "nnal_release": nnal if nnal is not toolkit else None,
    }


def _leave_out(section: Section, definitions: Definitions) -> tuple[str, ...]:
    """The patterns of everything that is left out of images, without those that are kept here."""

    def wrong(name: str) -> str:
        hint = did_you_mean(name, definitions.leave_out)
        known = name in definitions.leave_out
        return "" if known else f"leave_out has no {name!r}. {hint}".rstrip()

    keep = section.texts("keep", wrong)
    left_out = (paths for name, paths in definitions.leave_out.items() if name not in keep)
    return tuple(path for paths in left_out for path in paths)


def _extras(section: Section, torch: str, facts: Compat | None) -> dict[str, str]:
    """Component to version, of those that are one package each."""
    found = {name: section.text(name, required=False) for name in EXTRAS}
    for name, package in TORCH_COMPANIONS.items():
        if found[name] == PAIRED:
            found[name] = pinned_beside(package, torch, facts) if torch and facts else ""
            if torch and facts and not found[name]:
                what = f"compat.yaml does not say which {package} belongs to torch {torch}."
                section.wrong(name, what, "Write its version, or a row of packages with its pin.")
    for name, version in found.items():
        if version and not _VERSION.fullmatch(version):
            section.wrong(name, f"{version!r} is not a version.", "Write it as in 0.25.0.")
    return {name: version for name, version in found.items() if _VERSION.fullmatch(version)}


def _wheels(section: Section, definitions: Definitions, facts: Compat | None) -> dict[str, Any]:
    """What a target has beyond the operating system, its interpreter and CANN."""
    # torch and torch_npu are of no use without each other.
    torch = section.text("torch", required="torch_npu" in section)
    torch_npu = section.text("torch_npu", required="torch" in section)
    apex_version = section.text("apex", required=False)
    application_name = section.text("application", required=False)
    application = (
        section.choose("application", definitions.applications, "application")
        if application_name
        else None
    )
    deepspeed = section.text("deepspeed", required=False)
    for name, version in (("torch", torch), ("torch_npu", torch_npu), ("deepspeed", deepspeed)):
        if not version.isascii():
            section.wrong(name, f"{version!r} is not a version.", "Write it in digits of ASCII.")
    extras = _extras(section, torch, facts)
    index_name = section.text("torch_index", required=False)
    indexes = definitions.torch_indexes
    return {
        "torch": torch,
        "torch_npu": torch_npu,
        "torch_index": section.choose("torch_index", indexes, "index of torch")
        if index_name
        else None,
        "torch_wheel": definitions.torch_wheels.get(torch),
        "torch_npu_wheel": definitions.torch_npu_wheels.get(torch_npu),
        "apex": section.choose("apex", definitions.apex, "apex build") if apex_version else None,
        "deepspeed": deepspeed,
        "deepspeed_wheel": definitions.deepspeed_wheels.get(deepspeed),
        "deepspeed_plugin": definitions.plugins.get(deepspeed),
        "extras": extras,
        "triton_ascend_wheel": definitions.triton_ascend_wheels.get(extras.get(TRITON_ASCEND, "")),
        "application": application,
        "requirements": (
            *(application.requirements if application else ()),
            *read_requirements(section),
        ),
    }
