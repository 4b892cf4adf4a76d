# SPDX-License-Identifier: Apache-2.0
"""Runs ``uv pip compile``, for an interpreter that need not be installed here."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.common import console
from cannery.common.errors import EngineError, MatrixError, Problem
from cannery.common.package_index import PackageIndex
from cannery.common.process import run

_NO_UV = re.compile(r"No module named '?uv\b")
_UNREACHED = re.compile(r"Failed to fetch|Request failed|certificate|invalid value")
_REACH = (
    "Check the network, the proxy and --index-url; name a file with your own certificates with "
    "--ca."
)
_REFUSED = re.compile(r"valid authentication credentials|401 Unauthorized|403 Forbidden")
_LOG_IN = (
    "Put a login for the index into CANNERY_INDEX_URL, as in https://USER:PASSWORD@HOST/simple."
)
_SETTINGS = "uv.toml"
_QUIET = ("--no-header", "--quiet")


class UnsolvedError(MatrixError):
    """No versions satisfy all requirements."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One question to uv: requirements files, options, and the output that uv begins with.

    ``inputs`` maps the names of requirements files to their texts, and ``more`` those of the files
    that ``options`` name. ``output`` is the name of the file that uv writes, ``before`` its text.
    """

    name: str
    inputs: Mapping[str, str]
    options: tuple[str, ...]
    more: Mapping[str, str]
    output: str
    before: str = ""


def stated_metadata(packages: Mapping[str, str]) -> dict[str, str]:
    """Settings with which uv asks for no file of ``packages``, each with its version.

    matrix.yaml has their requirements.
    """
    text = "".join(
        f'[[dependency-metadata]]\nname = "{name}"\nversion = "{version}"\nrequires-dist = []\n'
        for name, version in packages.items()
    )
    return {_SETTINGS: text}


def compiled(job: Job, source: PackageIndex) -> str:
    """The text that uv writes.

    Raises:
        UnsolvedError: the requirements cannot be satisfied; the message has uv's explanation.
        EngineError: uv failed for another reason, such as an index that cannot be reached.
        ModuleNotFoundError: uv is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="cannery-lock-") as place:
        folder = Path(place)
        # uv reads this file only, and not those of the user or of a folder above this one.
        files = {_SETTINGS: "", **job.inputs, **job.more}
        if job.before:
            files[job.output] = job.before
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        argv = [sys.executable, "-m", "uv", "pip", "compile", *job.inputs]
        # As variables, because everybody can see the arguments of a process.
        environment = {"UV_DEFAULT_INDEX": source.index_url} if source.index_url else {}
        if source.ca:
            environment["SSL_CERT_FILE"] = str(source.ca)
        code, output = run(
            [*argv, "--config-file", _SETTINGS, *_QUIET, *job.options, "--output-file", job.output],
            cwd=folder,
            env=environment,
            waiting=lambda: console.say(f"still resolving the packages of {job.name}"),
        )
        if not code:
            return (folder / job.output).read_text(encoding="utf-8")
    output = source.redacted(output).strip()
    if _NO_UV.search(output):
        raise ModuleNotFoundError(output, name="uv")
    if _REFUSED.search(output):
        what = f"uv could not lock {job.name}, because the index refuses it. uv says:\n{output}"
        raise EngineError(Problem(what=what, fix=_LOG_IN))
    if "No solution found" in output:
        what = f"the requirements of {job.name} cannot be satisfied. uv says:"
        raise UnsolvedError(f"{what}\n{output}")
    what = f"uv could not lock {job.name}. uv says:\n{output}"
    raise EngineError(Problem(what=what, fix=_REACH if _UNREACHED.search(output) else ""))
