# SPDX-License-Identifier: Apache-2.0
"""One file with all that is needed to find out why a build failed, and with no secret."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cannery.common import console
from cannery.common.errors import CanneryError, FileError, UsageError
from cannery.common.files import Hashes, write_files
from cannery.common.model import Target
from cannery.common.process import run
from cannery.matrix.project import Project
from cannery.options import BuildOptions

_LOGIN = re.compile(r"://[^/\s@]+@")
_SAID = re.compile(
    r"(?i)\b((?:[\w-]*(?:token|passw(?:or)?d|secret|api[-_]?key|credentials?)|authorization)"
    r"[\"']?\s*[:=]\s*)(?:(?:bearer|basic)\s+)?[^\s,;]+"
)
"""Matches NAME=VALUE and NAME: VALUE where the name says that the value is a secret."""

_SECRET = re.compile(r"(?i)token|passw|secret|key|auth|credential|login|cookie")
"""Matches the names of variables whose values are nobody's business."""

_SHORTEST = 6
"""A shorter value of such a variable is in many texts by chance."""

_VERSIONS = (
    ("docker", "version", "--format", "engine {{.Server.Version}}, client {{.Client.Version}}"),
    ("docker", "buildx", "version"),
    ("docker", "info", "--format", "{{.Driver}}, {{.OSType}}/{{.Architecture}}"),
)


@contextmanager
def reported(project: Project, targets: Iterable[Target], options: BuildOptions) -> Iterator[None]:
    """Write the file ``options.report``, if one is wanted, when a build in the block fails."""
    path = options.report
    if path and not path.parent.is_dir():
        raise UsageError(f"--report: there is no folder {path.parent}.")
    try:
        yield
    except CanneryError as error:
        if path:
            console.say(_written(path, report_text(project, targets, options, error)))
        raise


def _written(path: Path, text: str) -> str:
    """What came of writing the file: that it cannot be written must not hide why a build failed."""
    try:
        write_files({path: text})
    except FileError as error:
        return f"--report: {error}"
    return f"wrote {path}: read it before you send it to anybody"


def report_text(
    project: Project, targets: Iterable[Target], options: BuildOptions, error: CanneryError
) -> str:
    """The text of the file: what was said, versions, packages, Dockerfiles and logs."""
    targets = [*targets]
    parts = {
        "what was said": "\n".join(map(str, error.problems)),
        "versions": "\n".join([_system(), *map(_version, _VERSIONS)]),
        "packages": "\n".join(_packages(project, targets, options)),
    }
    for target in targets:
        log = project.state / "logs" / f"{target.id}.log"
        for path in (project.images / target.id / "Dockerfile", log):
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                parts[str(path.relative_to(project.root))] = text
    text = "".join(f"==== {name}\n{each.rstrip()}\n\n" for name, each in parts.items())
    return without_secrets(text, project.root)


def _system() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _version(argv: tuple[str, ...]) -> str:
    """What a program says of its version, or that it says nothing."""
    try:
        code, said = run(argv)
    except CanneryError as error:
        return str(error)
    return said.strip() if code == 0 else f"{' '.join(argv[:2])}: exit code {code}"


def _packages(project: Project, targets: list[Target], options: BuildOptions) -> Iterator[str]:
    """The names of the vendor's files, with the sha256 of those that are there."""
    names = sorted({file.name for target in targets for file in target.artifacts.values()})
    hashes = Hashes(project.state / "hashes.json")
    for name in names:
        path = options.artifacts / name
        yield f"{name} {hashes.sha256(path) if path.is_file() else 'is not there'}"
    hashes.keep()


def without_secrets(text: str, root: Path) -> str:
    """``text`` without logins, without what is named a secret, and without paths of the user."""
    values = {
        value
        for name, value in os.environ.items()
        if _SECRET.search(name) and len(value) >= _SHORTEST
    }
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "****")
    text = _LOGIN.sub("://****@", text)
    text = _SAID.sub(r"\1****", text)
    return text.replace(str(root), ".").replace(str(Path.home()), "~")
