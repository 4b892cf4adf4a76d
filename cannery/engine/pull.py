# SPDX-License-Identifier: Apache-2.0
"""Lets a builder pull a base image, and says why it cannot.

BuildKit keeps what it pulls by digest and platform. An engine's image store keeps one image of a
reference, so that it cannot have a base and a build base that are the same reference.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.common.process import run
from cannery.common.references import full_reference
from cannery.engine.builder import Builder
from cannery.image.bake_file import INTO_ENGINE

_ENVIRONMENT = {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}

_SILENT = re.compile(
    r"failed to resolve .*: failed to do request: .*(dial tcp|proxyconnect|no such host|i/o timeout"
    r"|handshake timeout|is unreachable|deadline exceeded|Client\.Timeout)"
)
"""What BuildKit says if nobody answers where a registry should be."""

_DAMAGED = "unexpected commit digest"
"""What BuildKit says of content that is not what its digest says."""

_FIXES = (
    (r"no match for platform", "Name an image that is for this platform, too."),
    (r"x509|certificate", "Make the builder trust it: put the CA into /etc/docker/certs.d/{host}."),
    (r"401|403|authoriz|access denied|forbidden", "Log in with an account that may: {login}"),
    (r"429|toomanyrequests", "Wait, log in ({login}), or name a mirror in cannery.toml."),
    (r"digest|mismatch|unexpected", "Its answer is not this image: ask who runs the registry."),
    (r"not found|unknown", "Check the reference in matrix.yaml, and the mirrors in cannery.toml."),
)
"""What to do, by what BuildKit says; the first that is found."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why ``reference`` could not be pulled; ``silent`` if nobody has answered."""

    reference: str
    platform: str
    why: str
    silent: bool

    @property
    def problem(self) -> Problem:
        host = full_reference(self.reference).registry
        what = f"{host} does not give {self.reference} for {self.platform}: {self.why.rstrip('.')}."
        found = (fix for words, fix in _FIXES if re.search(words, self.why, re.IGNORECASE))
        fix = next(found, "Check that the builder can reach {host}.")
        return Problem(what=what, fix=fix.format(host=host, login=f"docker login {host}"))


def pull(builder: Builder, reference: str, architecture: str) -> Refusal | None:
    """Let ``builder`` pull ``reference`` unless it has it; why it cannot, or None if it can.

    Raises:
        EngineError: the builder fails for another reason.
    """
    platform = f"linux/{architecture}"
    code, said = _build(builder, reference, platform, "type=cacheonly")
    if code and _DAMAGED in said:
        _forget_damaged(builder)
        code, said = _build(builder, reference, platform, "type=cacheonly")
    if not code:
        return None
    last = (said.strip().splitlines() or ["docker gives no reason"])[-1]
    _, solving, why = last.partition("failed to solve: ")
    if not solving:
        raise EngineError(f"the builder {builder.name} reports:\n{said.strip()}")
    # Errors repeat the reference with every step that has failed.
    why = why.rpartition(f"{reference}: ")[2]
    return Refusal(
        reference=reference, platform=platform, why=why, silent=bool(_SILENT.search(last))
    )


def put_into_engine(builder: Builder, reference: str, architecture: str, name: str) -> None:
    """Give the engine the image ``reference`` for one architecture, under a ``name`` of its own.

    Raises:
        EngineError: the builder cannot do that.
    """
    output = f"{INTO_ENGINE},name={name}"
    code, said = _build(builder, reference, f"linux/{architecture}", output)
    if code:
        raise EngineError(f"the engine cannot have {reference}:\n{said.strip()}")


def _forget_damaged(builder: Builder) -> None:
    """Let BuildKit collect garbage, with which goes what it has received and cannot use.

    Until then it would take these bytes for the answer of the next pull, too. No cache has such an
    id, so nothing else is removed.
    """
    argv = ["docker", "buildx", "prune", "--builder", builder.name, "--force"]
    run([*argv, "--filter", "id=^none$"], capture=True)


def _build(builder: Builder, reference: str, platform: str, output: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="cannery-pull-") as folder:
        (Path(folder) / "Dockerfile").write_text(f"FROM {reference}\n", encoding="utf-8")
        argv = ["docker", "buildx", "build", "--builder", builder.name, "--platform", platform]
        argv += ["--progress", "plain", "--provenance", "false", "--output", output, folder]

        def waiting() -> None:
            console.say(f"pulling {reference} for {platform}")

        return run(argv, capture=True, env=_ENVIRONMENT, waiting=waiting)
