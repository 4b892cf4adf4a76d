# SPDX-License-Identifier: Apache-2.0
"""What the result of the checks of an image depends on, and a hash of each part of it.

A result holds until one of its parts has changed; a change of other targets' files, of checks that
do not run in the image, of a comment, or of a target's summary moves none of them.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from cannery.common.files import read_text
from cannery.common.model import DeviceKind, Target
from cannery.image.content_key import SIMULATOR, KeyInputs
from cannery.matrix.project import Project
from cannery.verify.image_checks import expected, folder_of_checks

PARTS = ("contents", "doctor", "checks", "device")
"""The parts of what a result depends on.

``contents`` is everything that the image is built from but the other two parts of it: ``doctor``,
the packed ascend-doctor, and ``device``, the simulated packages, which only a simulated image has.
``checks`` are the image tests that run in it on this kind of device.
"""

_DOCTOR = ("cannery/ascend-doctor", "cannery/ascend-doctor.sha256")
"""The doctor among the files of a build."""

_WITH_COMMENTS = ("Dockerfile", "requirements.lock", "build-requirements.lock")
_LABELS = ("org.opencontainers.image.description=", "io.cannery.lock=")
"""The label for people, and the one with a hash of the lock, of which the comments do not count."""


def result_inputs(image: KeyInputs, checks: str) -> dict[str, str]:
    """Each part to its hash; ``checks`` is that of ``checks_key``."""
    files = {name: text for name, text in image.files.items() if name not in _DOCTOR}
    for name in _WITH_COMMENTS:
        if name in files:
            files[name] = "\n".join(filter(_is_built, files[name].splitlines()))
    artifacts = {name: each for name, each in image.artifacts.items() if name != SIMULATOR}
    doctor = "".join(image.files.get(name, "") for name in _DOCTOR)
    parts = {
        "contents": replace(image, files=files, artifacts=artifacts).key,
        "doctor": _hash(doctor),
        "checks": checks,
    }
    if image.simulate:
        parts["device"] = f"sha256:{image.artifacts[SIMULATOR]}"
    return parts


def moved(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The parts that are not as they were ``before``, where results may lack some."""
    return tuple(name for name in PARTS if name in before and before[name] != now.get(name))


def _is_built(line: str) -> bool:
    """Whether the line of a Dockerfile or a lock is more than a comment or one of ``_LABELS``."""
    return not line.lstrip().startswith(("#", *_LABELS))


def checks_key(project: Project, target: Target, kind: DeviceKind) -> str:
    """A hash of the code of the checks of an image of ``target``, and of what they all share.

    Raises:
        FileError: a file of the checks cannot be read.
    """
    names = expected(project, target, kind)
    folder = folder_of_checks(project)
    shared = [*folder.glob("conftest.py"), *sorted((folder / "probes").glob("*.py"))]
    code = {f"{path.parent.name}/{path.name}": _code(read_text(path)) for path in shared}
    for file in sorted({name.partition("::")[0] for name in names}):
        own = frozenset(name.partition("::")[2] for name in names if name.startswith(f"{file}::"))
        code[file] = _code(read_text(folder / file), own)
    return _hash("".join(f"{name}\0{text}\0" for name, text in code.items()))


@cache
def _code(text: str, checks: frozenset[str] | None = None) -> str:
    """A Python file without comments, docstrings, blank lines, and checks other than ``checks``.

    It is cut out of the text, because what ``ast`` prints differs between versions of Python.
    """
    lines = text.splitlines()
    gone: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            gone.update(_docstring(node))
        if isinstance(node, ast.FunctionDef) and _is_other_check(node.name, checks):
            gone.update(_rows(node), *map(_rows, node.decorator_list))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column].rstrip()
        # A blank line within a string has no token of its own.
        if token.type in (tokenize.COMMENT, tokenize.NL) and not lines[row - 1].strip():
            gone.add(row)
    return "\n".join(line for row, line in enumerate(lines, 1) if row not in gone)


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterable[int]:
    """The rows of its docstring, if it has one."""
    return _rows(node.body[0]) if ast.get_docstring(node, clean=False) is not None else ()


def _is_other_check(name: str, checks: frozenset[str] | None) -> bool:
    return checks is not None and name.startswith("test_") and name not in checks


def _rows(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
