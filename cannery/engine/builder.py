# SPDX-License-Identifier: Apache-2.0
"""Finds buildx and its builders, and removes from a cache what is large and saves little."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from cannery.common.errors import EngineError, Problem, UsageError, did_you_mean
from cannery.common.process import run
from cannery.engine import client as engine

_RAWJSON = (0, 13)
"""The first version of buildx with its progress as JSON."""


@dataclass(frozen=True, kw_only=True)
class Builder:
    """A builder. A ``local`` one is part of the engine and can use its images."""

    name: str
    local: bool


def buildx_version() -> str:
    """The text in which buildx says its version."""
    code, output = run(["docker", "buildx", "version"])
    if code:
        raise EngineError(Problem(what="docker has no buildx.", fix="'bash setup.sh' installs it."))
    return output


def progress_mode() -> str:
    """The value of buildx's option ``--progress``."""
    match = re.search(r"v?([0-9]+)\.([0-9]+)\.[0-9]+", buildx_version())
    # A buildx without a version was built from a newer source.
    recent = not match or (int(match[1]), int(match[2])) >= _RAWJSON
    return "rawjson" if recent else "plain"


def find_builder(name: str) -> Builder:
    """The builder ``name``, or the default builder if ``name`` is empty."""
    code, output = run(["docker", "buildx", "inspect", *([name] if name else [])])
    if code:
        buildx_version()
        _, listed = run(["docker", "buildx", "ls"])
        # The line of a builder begins with its name, those of its nodes with a space or a branch.
        known = re.findall(r"^(?!NAME)([A-Za-z0-9][\w.-]*)\*?\s", listed, re.MULTILINE)
        if name and name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"there is no builder {name!r}. {hint}".rstrip())
        raise EngineError(f"buildx reports about its builder:\n{output.strip()}")
    fields = dict(re.findall(r"^(Name|Driver):\s*(\S+)", output, re.MULTILINE)[:2])
    driver = fields.get("Driver")
    builder = Builder(name=fields.get("Name", name), local=driver == "docker")
    if driver == "remote":
        # buildx would wait for a node that does not answer.
        nodes = re.findall(
            r"^Endpoint:\s*(\S+)(?:\n(?!Endpoint:).*)*?\nStatus:\s*(\S+)", output, re.MULTILINE
        )
        if silent := [address for address, status in nodes if status != "running"]:
            what = f"the builder {builder.name} does not answer at {', '.join(silent)}."
            fix = "Check that buildkitd runs there, and that it accepts the certificate of this "
            raise EngineError(Problem(what=what, fix=f"{fix}builder."))
    if name and builder.local:
        _, context = run(["docker", "context", "show"])
        if context.strip() != builder.name:
            what = f"the builder {builder.name} belongs to another engine, which would keep the "
            fix = "Set DOCKER_HOST to that engine instead."
            raise EngineError(Problem(what=f"{what}images.", fix=fix))
    return builder


@cache
def node_platforms(name: str = "") -> tuple[tuple[str, ...], ...]:
    """The platforms of each node of the builder ``name``, first the one that is not emulated.

    Empty where no builder answers; a builder that was not started yet has no platforms. ``name`` is
    empty for the default builder.
    """
    _, output = run(["docker", "buildx", "inspect", *([name] if name else [])])
    lines = re.findall(r"^Platforms:[ \t]*(\S.*)$", output, re.MULTILINE)
    # An asterisk marks those that were named when the node was made.
    return tuple(tuple(one.strip(" *") for one in line.split(",")) for line in lines)


def require_containerd(builder: Builder, purpose: str) -> None:
    """Raise EngineError if ``builder`` is part of an engine without the containerd image store.

    ``purpose`` is what needs it, as in "write a cache".
    """
    if builder.local and not engine.uses_containerd():
        what = (
            f"the builder {builder.name} cannot {purpose}, because the engine does not use the"
            " containerd image store."
        )
        fix = "Enable that store, or choose another builder with --builder."
        raise EngineError(Problem(what=what, fix=fix))


CANN_STEPS = re.compile(
    "install-cann (toolkit|kernels|nnal) "
    "|seal-layer --before /before .*--only /usr/local/Ascend"
    "|take-cann layer /vendor"
)
"""Matches the steps whose results are CANN, before it is copied into an image.

These are the installers, what makes layers of their files, and what takes CANN out of an image of
the vendor's. Only Dockerfiles of cannery have such steps.
"""


def forget_cann(builder: Builder) -> None:
    """Remove the results of the steps that ``CANN_STEPS`` matches from the cache of ``builder``.

    Their files are in the images, and in the cached steps that copy them into the images, which
    stay. A result that another build is using stays, too, and so does all if ``builder`` fails.
    """
    options = ["--builder", builder.name]
    _, usage = run(["docker", "buildx", "du", *options, "--verbose"])
    entries = [
        dict(re.findall(r"^([A-Z][A-Za-z ]*):[ \t]+(.*)$", block, re.MULTILINE))
        for block in usage.split("\n\n")
    ]
    ids = [
        entry["ID"]
        for entry in entries
        if "ID" in entry and CANN_STEPS.search(entry.get("Description", ""))
    ]
    if ids:
        # buildx takes an id as a regular expression, and other values only as they are.
        words = ["--force", "--filter", f"id={'|'.join(ids)}"]
        run(["docker", "buildx", "prune", *options, *words])
