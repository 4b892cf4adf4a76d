# SPDX-License-Identifier: Apache-2.0
"""The image tests: by their files it is known which of them a run on an image must report."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from cannery.common.errors import FileError, Problem
from cannery.common.files import read_bytes, read_text
from cannery.common.model import DeviceKind, Target
from cannery.matrix.project import Project

ALWAYS = frozenset({"os", "python", "driver", "guard"})
"""The folders of checks that are for no component of a target, but for every image."""

FITTING = {"derived": ("inherited", "any_image"), "foreign": ("any_image",)}
"""Origin of an image to the markers of the checks that fit it; all checks fit one of ours."""

COMPILER_CHECK = "os/test_os.py::test_tools_for_building_extensions"
"""The check that an image without a compiler cannot pass."""

_MARKER = re.compile(r"pytest\.mark\.(\w+)")
_VERSION = re.compile(r"[0-9]{1,6}", re.ASCII)


def components(project: Project) -> list[str]:
    """The components that have checks."""
    return sorted(path.parent.name for path in project.checks.glob("*/test_*.py"))


def checks_digest(project: Project) -> str:
    """A hash of all files of the image tests."""
    digest = hashlib.sha256()
    for path in sorted(project.checks.rglob("*.py")):
        digest.update(
            str(path.relative_to(project.checks.parents[1])).encode() + b"\0" + read_bytes(path)
        )
    return digest.hexdigest()


def checks_version(project: Project) -> int:
    """The version of the image tests, the number in tests/image/VERSION; 0 without that file."""
    path = project.checks / "VERSION"
    try:
        words = read_text(path).split()
    except FileNotFoundError:
        return 0
    if not words or not _VERSION.fullmatch(words[0]):
        fix = "Write a number into its first line, as in 12."
        raise FileError(Problem(what=f"{path} does not begin with a number.", fix=fix))
    return int(words[0])


def listed(project: Project) -> Mapping[str, frozenset[str]]:
    """Every check as ``COMPONENT/FILE::FUNCTION``, and its markers.

    They are read from the files without pytest, whose settings could leave some out.
    """
    return _listed(project.checks, checks_digest(project))


@cache
def _listed(folder: Path, _digest: str) -> Mapping[str, frozenset[str]]:
    return {
        f"{path.parent.name}/{path.name}::{node.name}": frozenset(
            match[1]
            for decorator in node.decorator_list
            if (match := _MARKER.match(ast.unparse(decorator)))
        )
        for path in sorted(folder.glob("*/test_*.py"))
        for node in ast.parse(read_text(path)).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def needed(
    project: Project,
    components: Collection[str],
    kind: DeviceKind,
    *,
    only: Collection[str] = (),
    origin: str = "ours",
) -> frozenset[str]:
    """The checks that a run must report, of an image with ``components`` and of this origin.

    ``only`` names the components that are checked; empty means all of them.
    """
    present, fitting = {*ALWAYS, *components}, FITTING.get(origin)
    return frozenset(
        name
        for name, markers in listed(project).items()
        if (component := name.partition("/")[0]) in present
        if not only or component in only
        if "torch" not in markers or "torch" in present
        if fitting is None or not markers.isdisjoint(fitting)
        if ("device" in markers) is (kind is not DeviceKind.NONE)
    )


def expected(
    project: Project, target: Target, kind: DeviceKind, only: Collection[str] = ()
) -> frozenset[str]:
    """The checks that a run on an image of ``target`` must report."""
    checks = needed(project, target.components, kind, only=only)
    return checks - {COMPILER_CHECK} if target.without_compiler else checks
