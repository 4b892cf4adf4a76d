# SPDX-License-Identifier: Apache-2.0
"""Finds buildx and its builders."""

from __future__ import annotations

import re
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


def progress_mode() -> str:
    """The value of buildx's option ``--progress``.

    Raises:
        EngineError: there is no buildx.
    """
    code, said = run(["docker", "buildx", "version"], capture=True)
    if code:
        raise EngineError(Problem(what="docker has no buildx.", fix="'bash setup.sh' installs it."))
    match = re.search(r"v?([0-9]+)\.([0-9]+)\.[0-9]+", said)
    # A buildx without a version was built from a newer source.
    recent = not match or (int(match[1]), int(match[2])) >= _RAWJSON
    return "rawjson" if recent else "plain"


def find_builder(name: str) -> Builder:
    """The builder ``name``, or the default builder if ``name`` is empty.

    Raises:
        UsageError: there is no such builder.
        EngineError: there is no buildx, a remote builder does not answer, or the builder is part of
            another engine than the one that checks the images.
    """
    code, said = run(["docker", "buildx", "inspect", *([name] if name else [])], capture=True)
    if code:
        progress_mode()
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


def check_cache_export(builder: Builder) -> None:
    """Raise EngineError unless ``builder`` can write a cache."""
    if builder.local and not engine.uses_containerd():
        what = (
            f"the builder {builder.name} cannot write a cache, because the engine does not use the"
            " containerd image store."
        )
        fix = "Enable that store, or choose another builder with --builder."
        raise EngineError(Problem(what=what, fix=fix))
