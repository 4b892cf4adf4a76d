# SPDX-License-Identifier: Apache-2.0
"""Finds buildx and its builders, and removes from a cache what is large and saves little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    code, said = run(["docker", "buildx", "version"], capture=True)
    if code:
        raise EngineError(Problem(what="docker has no buildx.", fix="'bash setup.sh' installs it."))
    return said


def progress_mode() -> str:
    """The value of buildx's option ``--progress``."""
    match = re.search(r"v?([0-9]+)\.([0-9]+)\.[0-9]+", buildx_version())
    # A buildx without a version was built from a newer source.
    recent = not match or (int(match[1]), int(match[2])) >= _RAWJSON
    return "rawjson" if recent else "plain"


def find_builder(name: str) -> Builder:
    """The builder ``name``, or the default builder if ``name`` is empty."""
    code, said = run(["docker", "buildx", "inspect", *([name] if name else [])], capture=True)
    if code:
        buildx_version()
        known = _known()
        if name and name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"there is no builder {name!r}. {hint}".rstrip())
        raise EngineError(f"buildx reports about its builder:\n{said.strip()}")
    fields = dict(re.findall(r"^(Name|Driver):\s*(\S+)", said, re.MULTILINE)[:2])
    found = Builder(name=fields.get("Name", name), local=fields.get("Driver") == "docker")
    if fields.get("Driver") == "remote":
        _check_answers(found, said)
    if name and found.local:
        _check_engine(found)
    return found


def _known() -> list[str]:
    _, said = run(["docker", "buildx", "ls"], capture=True)
    # The line of a builder begins with its name, the lines of its nodes with a space or a branch.
    names = re.findall(r"^([A-Za-z0-9][\w.-]*)\*?\s", said, re.MULTILINE)
    return [name for name in names if name != "NAME"]


def _check_answers(builder: Builder, said: str) -> None:
    """Raise EngineError if a node of a remote builder does not answer; buildx waits for it."""
    nodes = re.findall(
        r"^Endpoint:\s*(\S+)(?:\n(?!Endpoint:).*)*?\nStatus:\s*(\S+)", said, re.MULTILINE
    )
    if silent := [address for address, status in nodes if status != "running"]:
        what = f"the builder {builder.name} does not answer at {', '.join(silent)}."
        fix = (
            "Check that buildkitd runs there, and that it accepts the certificate of this builder."
        )
        raise EngineError(Problem(what=what, fix=fix))


def _check_engine(builder: Builder) -> None:
    _, said = run(["docker", "context", "show"], capture=True)
    if said.strip() == builder.name:
        return
    what = f"the builder {builder.name} belongs to another engine, which would keep the images."
    raise EngineError(Problem(what=what, fix="Set DOCKER_HOST to that engine instead."))


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

_FIELD = re.compile(r"^([A-Z][A-Za-z ]*):[ \t]+(.*)$", re.MULTILINE)
_SIZE = re.compile(r"([0-9.]+)([kMGT]?)B")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True, kw_only=True)
class CacheRecord:
    """An entry of a cache: the files that the step ``description`` added, ``size`` bytes."""

    id: str
    size: int
    description: str


def forget_cann(builder: Builder) -> None:
    """Remove the results of the steps that ``CANN_STEPS`` matches from the cache of ``builder``.

    Their files are in the images, and in the cached steps that copy them into the images, which
    stay. A result that another build is using stays, too, and so does all if ``builder`` fails.
    """
    own = ["--builder", builder.name]
    _, said = run(["docker", "buildx", "du", *own, "--verbose"], capture=True)
    if found := [each.id for each in records(said) if CANN_STEPS.search(each.description)]:
        # buildx takes an id as a regular expression, and other values only as they are.
        ids = f"id={'|'.join(found)}"
        run(["docker", "buildx", "prune", *own, "--force", "--filter", ids], capture=True)


def records(usage: str) -> Iterator[CacheRecord]:
    """The entries in ``usage``, which is the output of ``docker buildx du --verbose``."""
    for block in usage.split("\n\n"):
        fields = dict(_FIELD.findall(block))
        size = _SIZE.fullmatch(fields.get("Size", ""))
        if "ID" in fields and size:
            number = round(float(size[1]) * _UNITS[size[2]])
            yield CacheRecord(
                id=fields["ID"], size=number, description=fields.get("Description", "")
            )
