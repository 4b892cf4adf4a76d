# SPDX-License-Identifier: Apache-2.0
"""From the text of matrix.yaml to a Matrix, or to the list of everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.compat import check_target, facts_beside
from cannery.errors import Problem, did_you_mean
from cannery.matrix.definitions import Definitions, read_definitions, read_requirements
from cannery.matrix.families import MAX_TARGETS, expand_families
from cannery.model import CannRelease, Matrix, Target
from cannery.syntax.yaml_reader import Section, parse_yaml, read_yaml

_ID = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_PLATFORMS = ("linux/arm64", "linux/amd64")
_FROM_SCHEMA_1 = (
    "Rename 'tools' to 'build_base', 'stacks' to 'applications' and 'stack' to 'application', "
    "then write 'schema: 2'."
)


def load_matrix(path: Path) -> Matrix:
    """Read the matrix in ``path`` and check it against the compat.yaml beside it.

    Raises:
        FileError: one of them cannot be read.
        MatrixError: with every problem found, each with its line.
    """
    compat = facts_beside(path)
    return read_yaml(path, path.name, lambda top: _matrix(top, lambda t: check_target(t, compat)))


def parse_matrix(text: str, name: str) -> Matrix:
    """The matrix of ``text``, from a file called ``name``; whether it works is not asked.

    Raises:
        MatrixError: with every problem found, each with its line.
    """
    return parse_yaml(text, name, lambda top: _matrix(top, lambda _: ()))


_Check = Callable[[Target], Iterable[tuple[str, Problem]]]
"""Yields the key of a target that is wrong, and why."""


def _matrix(top: Section, check: _Check) -> Matrix:
    schema = top.text("schema")
    if schema == "1":
        top.wrong("schema", "this version of cannery reads schema 2 only.", _FROM_SCHEMA_1)
        top.problems.raise_if_any()
    elif schema not in ("2", ""):
        top.wrong("schema", "this version of cannery reads schema 2 only.")
    definitions = read_definitions(top)
    families = top.section("families", required=False)
    found = expand_families(families) if families else []
    if section := top.section("targets", required=families is None):
        found += section.sections()
    if len(found) > MAX_TARGETS:
        what = f"there are {len(found):,} targets, and a file may have {MAX_TARGETS:,}."
        top.wrong("targets", what, "Divide the file or remove targets.")
        top.problems.raise_if_any()
    targets: dict[str, Target] = {}
    for name, each in found:
        if name in targets:
            first = targets[name].span.line
            each.problems.add(
                each.node, f"there is a target {name!r} already, in line {first}.", "Rename one."
            )
        elif target := _target(name, each, definitions, check):
            targets[name] = target
    return Matrix(targets=targets)


@dataclass(frozen=True, kw_only=True)
class _CannChoice:
    release: CannRelease
    chip: str
    with_nnal: bool


def _cann_choice(section: Section | None, definitions: Definitions) -> _CannChoice | None:
    if section is None:
        return None
    release = section.choose("toolkit", definitions.cann, "CANN release")
    kernels = section.text("kernels")
    nnal = section.text("nnal", required=False)
    chip = section.text("chip")
    section.done()
    if release is None:
        return None
    for name, version in (("kernels", kernels), ("nnal", nnal)):
        if version and version != release.version:
            section.wrong(
                name,
                f"{name} {version} cannot be installed on toolkit {release.version}: "
                "the installer demands the same version.",
                f"Write {release.version}.",
            )
    if chip not in release.kernels:
        if chip:
            what = f"CANN {release.version} has no kernels for chip {chip!r}."
            section.wrong("chip", what, did_you_mean(chip, release.kernels))
        return None
    if nnal and release.nnal is None:
        section.wrong("nnal", f"CANN {release.version} has no NNAL package.", "Leave nnal out.")
    return _CannChoice(release=release, chip=chip, with_nnal=bool(nnal))


def _target(name: str, section: Section, definitions: Definitions, check: _Check) -> Target | None:
    if not _ID.fullmatch(name):
        section.problems.add(
            section.node, f"{name!r} cannot be an image tag.", "Use a-z, 0-9 and '-', '_', '.'."
        )
    summary = section.text("summary")
    unverified = section.text("unverified", required=False)
    for key, text in (("summary", summary), ("unverified", unverified)):
        # Both go into a comment and a label of the Dockerfile.
        if set(text) & set('"\\$\n\r'):
            what = f"{key!r} may not have quotes, backslashes, '$' or line breaks."
            section.wrong(key, what)
    platform = section.text("platform")
    if platform and platform not in _PLATFORMS:
        section.wrong("platform", f"{platform!r} is unknown.", did_you_mean(platform, _PLATFORMS))
    base = section.choose("base", definitions.bases, "base")
    python = section.choose("python", definitions.pythons, "python")
    cann = _cann_choice(section.section("cann"), definitions)
    wheels = _wheels(section, definitions)
    leave_out = _leave_out(section, definitions)
    section.done()
    if base is None or python is None or cann is None or definitions.build_base is None:
        return None
    own_base = definitions.python_bases.get(python.name, base.name)
    if own_base != base.name:
        section.wrong("python", f"{python.name} comes with base {own_base}, not {base.name}.")
    if platform not in _PLATFORMS:
        return None
    target = Target(
        id=name,
        summary=summary,
        platform=platform,
        base=base,
        build_base=definitions.build_base,
        python=python,
        cann=cann.release,
        chip=cann.chip,
        with_nnal=cann.with_nnal,
        leave_out=leave_out,
        unverified=unverified,
        span=section.problems.span(section.node),
        **wheels,
    )
    for key, problem in check(target):
        section.wrong(key, problem.what, problem.fix)
    return target


def _leave_out(section: Section, definitions: Definitions) -> tuple[str, ...]:
    """The patterns of everything that is left out of images, but for what this target keeps."""

    def wrong(name: str) -> str:
        hint = did_you_mean(name, definitions.leave_out)
        known = name in definitions.leave_out
        return "" if known else f"nothing named {name!r} is left out. {hint}".rstrip()

    keep = section.texts("keep", wrong)
    left_out = (paths for name, paths in definitions.leave_out.items() if name not in keep)
    return tuple(path for paths in left_out for path in paths)


def _wheels(section: Section, definitions: Definitions) -> dict[str, Any]:
    """What a target has beyond the operating system, its interpreter and CANN."""
    # Neither is anything without the other.
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
    return {
        "torch": torch,
        "torch_npu": torch_npu,
        "torch_npu_wheel": definitions.torch_npu_wheels.get(torch_npu),
        "apex": section.choose("apex", definitions.apex, "apex build") if apex_version else None,
        "deepspeed": deepspeed,
        "deepspeed_wheel": definitions.deepspeed_wheels.get(deepspeed),
        "deepspeed_plugin": definitions.plugins.get(deepspeed),
        "application": application,
        "requirements": (
            *(application.requirements if application else ()),
            *read_requirements(section),
        ),
    }
