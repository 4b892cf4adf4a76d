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
            try:
                write_files({path: report_text(project, targets, options, error)})
                console.say(f"wrote {path}: read it before you send it to anybody")
            except FileError as unwritten:
                # It must not hide why the build failed.
                console.say(f"--report: {unwritten}")
        raise


def report_text(
    project: Project, targets: Iterable[Target], options: BuildOptions, error: CanneryError
) -> str:
    """The text of the file: messages, versions, packages, Dockerfiles and logs."""
    targets = [*targets]
    versions = [f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"]
    for argv in _VERSIONS:
        try:
            code, output = run(argv)
            failed = f"{' '.join(argv[:2])}: exit code {code}"
            versions.append(failed if code else output.strip())
        except CanneryError as problem:
            versions.append(str(problem))
    hashes = Hashes(project.state / "hashes.json")
    packages = []
    for name in sorted({file.name for target in targets for file in target.artifacts.values()}):
        path = options.artifacts / name
        packages.append(f"{name} {hashes.sha256(path) if path.is_file() else 'is not there'}")
    hashes.keep()
    parts = {
        "messages": "\n".join(map(str, error.problems)),
        "versions": "\n".join(versions),
        "packages": "\n".join(packages),
    }
    for target in targets:
        log = project.state / "logs" / f"{target.id}.log"
        for path in (project.images / target.id / "Dockerfile", log):
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                parts[str(path.relative_to(project.root))] = text
    text = "".join(f"==== {name}\n{part.rstrip()}\n\n" for name, part in parts.items())
    return without_secrets(text, project.root)


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
