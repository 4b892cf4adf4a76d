# SPDX-License-Identifier: Apache-2.0
"""The image tests: by their files it is known which of them a run on an image must report."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from cannery.common.errors import FileError, Problem, did_you_mean
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
    """A hash of all files of the image tests, those of the project's own included."""
    folder = project.checks
    parts = {str(path.relative_to(folder.parents[1])): path for path in folder.rglob("*.py")}
    return _digest(parts | _own_files(project))


def own_digest(project: Project) -> str:
    """A hash of the files of the project's own image tests; "" if it has none."""
    files = _own_files(project)
    return _digest(files) if files else ""


def _own_files(project: Project) -> dict[str, Path]:
    """Name below the project to path: whatever a test may read is part of it."""
    paths = project.own_checks.rglob("*")
    return {
        str(path.relative_to(project.root)): path
        for path in paths
        if path.is_file() and path.suffix != ".pyc"
    }


def _digest(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + read_bytes(files[name]))
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
        f"{path.parent.name}/{path.name}::{name}": markers
        for path in sorted(folder.glob("*/test_*.py"))
        for name, markers in _tests_of(path).items()
    }


def _tests_of(path: Path) -> dict[str, frozenset[str]]:
    """Each test function of the file, and its markers.

    Raises:
        FileError: it is no Python.
    """
    try:
        body = ast.parse(read_text(path)).body
    except (SyntaxError, ValueError) as error:
        what = f"{path} is no file of tests: {error}."
        raise FileError(Problem(what=what, fix="Correct it.")) from error
    return {
        node.name: frozenset(
            match[1]
            for decorator in node.decorator_list
            if (match := _MARKER.match(ast.unparse(decorator)))
        )
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def own_tests(project: Project, target: Target, only: Collection[str] = ()) -> list[Path]:
    """The files of the project's own checks that fit ``target``.

    A file beside no other folder is for all targets, one in ``checks/COMPONENT/`` for those with
    this component. ``only`` names the components that are checked; empty means all of them.

    Raises:
        FileError: a folder has the name of no component.
    """
    files, folder = sorted(project.own_checks.rglob("test_*.py")), project.own_checks
    known = {*ALWAYS, *components(project)}
    for path in files:
        part = path.parent.name
        if path.parent != folder and not (path.parent.parent == folder and part in known):
            what = f"{path} is in the folder of no component."
            fix = did_you_mean(part, known) or f"Move it to {folder}, for all targets."
            raise FileError(Problem(what=what, fix=fix))
    present = {*ALWAYS, *target.components} & ({*only} or {*ALWAYS, *target.components})
    return [
        path
        for path in files
        if (path.parent == folder and not only) or path.parent.name in present
    ]


def own_expected(
    project: Project, target: Target, kind: DeviceKind, only: Collection[str] = ()
) -> frozenset[str]:
    """Those of the project's own checks that a run on an image of ``target`` must report."""
    return frozenset(
        f"{path.relative_to(project.root)}::{name}"
        for path in own_tests(project, target, only)
        for name, markers in _tests_of(path).items()
        if ("device" in markers) is (kind is not DeviceKind.NONE)
    )


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
    """The checks that a run on an image of ``target`` must report, the project's own included."""
    checks = needed(project, target.components, kind, only=only)
    checks |= own_expected(project, target, kind, only)
    return checks - {COMPILER_CHECK} if target.without_compiler else checks
