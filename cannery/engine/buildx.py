# SPDX-License-Identifier: Apache-2.0
"""Builds with BuildKit through ``docker buildx``, because the docker SDK cannot use BuildKit."""

from __future__ import annotations

import re
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cannery.common.errors import BuildError, Problem
from cannery.common.package_index import PackageIndex
from cannery.common.process import stream
from cannery.engine.builder import buildx_version

_REASON = re.compile(r"ERROR|error:|\bcause:|Caused by:")
"""Matches the lines with the reason of a failure; uv writes the causes of an error below it."""

REPEATED = re.compile(r"ERROR: (?:failed to build: )?failed to (?:solve|run Build function): ")
"""The beginning of the line in which buildx repeats the error of a step.

It is "run Build function" if the engine takes more than five seconds to end the build.
"""


@dataclass(frozen=True, kw_only=True)
class Build:
    """One ``docker buildx build`` that makes files instead of an image.

    ``folder`` is the build context, ``output`` the folder for the files of the last stage.
    """

    name: str
    dockerfile: Path
    folder: Path
    platform: str
    contexts: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    output: Path

    def argv(self) -> list[str]:
        """The command, without secrets."""
        argv = ["docker", "buildx", "build", "--platform", self.platform, "--progress", "plain"]
        argv += ["--file", str(self.dockerfile), "--provenance", "false"]
        for option, values in (
            ("--build-context", self.contexts),
            ("--build-arg", self.arguments),
        ):
            for name, value in values.items():
                argv += [option, f"{name}={value}"]
        return [*argv, "--output", f"type=local,dest={self.output}"]


def execute(build: Build, source: PackageIndex, log: Path) -> None:
    """Run ``build``, with its output in ``log``.

    Raises:
        EngineError: buildx is missing.
        BuildError: the build failed; the message has the end of the output.
    """
    buildx_version()
    with _secrets(source) as secrets:
        code, tail = stream_to([*build.argv(), *secrets, str(build.folder)], log, source)
    if code:
        raise failure(f"{build.name}: the build failed ({code})", [*tail], log)


def stream_to(
    argv: Sequence[str], log: Path, source: PackageIndex, env: Mapping[str, str] | None = None
) -> tuple[int, deque[str]]:
    """Run ``argv``, with its output in ``log``, without the login of ``source``.

    Returns the exit code and the last lines.
    """
    tail: deque[str] = deque(maxlen=25)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:

        def heard(told: str) -> None:
            line = source.redacted(told)
            file.write(line)
            tail.append(line)

        code = stream(argv, heard, env)
    return code, tail


@contextmanager
def _secrets(source: PackageIndex) -> Iterator[list[str]]:
    options = ["--secret", f"id=ca,src={source.ca}"] if source.ca else []
    with tempfile.NamedTemporaryFile("w", prefix="cannery-index-") as index:
        if source.index_url:
            index.write(source.index_url)
            index.flush()
            options += ["--secret", f"id=index,src={index.name}"]
        yield options


def failure(what: str, tail: Sequence[str], log: Path) -> BuildError:
    """The error for a build that ended with the lines ``tail``; ``log`` has the whole output."""
    lines = [REPEATED.sub("ERROR: ", line) for line in tail]
    text = "".join(lines)
    fix = f"The whole log is in {log}."
    # Steps run programs of all kinds, so only their texts can be searched. This only adds a hint.
    if "no space left on device" in text.lower():
        fix = "The engine's disk is full: 'docker system df' shows its use. " + fix
    elif "certificate" in text.lower():
        fix = "A certificate is not trusted: name your own CA file with --ca. " + fix
    elif "rpc error: code = Unavailable" in text or "ERROR: Unavailable:" in text:
        fix = "The connection to the engine was lost: check that it runs, and build again. " + fix
    errors = [line for line in lines if _REASON.search(line)] or lines[-5:]
    said = "".join(dict.fromkeys(errors)).rstrip()
    return BuildError(Problem(what=f"{what}.\n{said}\n", fix=fix))
