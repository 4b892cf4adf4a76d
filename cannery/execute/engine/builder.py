# SPDX-License-Identifier: Apache-2.0
"""Which buildx there is, and which builders it knows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cannery.errors import EngineError, Problem, UsageError, did_you_mean
from cannery.execute.engine import client as engine
from cannery.execute.process import run

_RAWJSON = (0, 13)
"""The first buildx that tells its progress as JSON."""


@dataclass(frozen=True, kw_only=True)
class Builder:
    """A builder. ``local`` says that it works in the engine itself and sees its images."""

    name: str
    local: bool


def progress_mode() -> str:
    """How buildx is to tell its progress.

    Raises:
        EngineError: there is no buildx.
    """
    code, said = run(["docker", "buildx", "version"], capture=True)
    if code:
        raise EngineError(
            Problem(what="docker has no buildx.", fix="Install it; 'bash setup.sh' can.")
        )
    match = re.search(r"v?(\d+)\.(\d+)\.\d+", said)
    # What has no version was built from a source that is newer than any.
    recent = not match or (int(match[1]), int(match[2])) >= _RAWJSON
    return "rawjson" if recent else "plain"


def find_builder(name: str) -> Builder:
    """The builder ``name``, or the one that buildx uses where none is named.

    Raises:
        UsageError: there is no such builder.
        EngineError: there is no buildx, or the builder works in another engine than the one where
            images are checked.
    """
    code, said = run(["docker", "buildx", "inspect", *([name] if name else [])], capture=True)
    if code:
        progress_mode()
        known = _known()
        if name and name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"there is no builder {name!r}. {hint}".rstrip())
        raise EngineError(f"buildx says of its builder:\n{said.strip()}")
    fields = dict(re.findall(r"^(Name|Driver):\s*(\S+)", said, re.MULTILINE)[:2])
    found = Builder(name=fields.get("Name", name), local=fields.get("Driver") == "docker")
    if name and found.local:
        _check_engine(found)
    return found


def _known() -> list[str]:
    _, said = run(["docker", "buildx", "ls"], capture=True)
    # A builder's line begins with its name, those of its nodes with a space or a branch.
    names = re.findall(r"^([A-Za-z0-9][\w.-]*)\*?\s", said, re.MULTILINE)
    return [name for name in names if name != "NAME"]


def _check_engine(builder: Builder) -> None:
    _, said = run(["docker", "context", "show"], capture=True)
    if said.strip() == builder.name:
        return
    what = f"the builder {builder.name} keeps its images in an engine of its own."
    raise EngineError(Problem(what=what, fix="Point DOCKER_HOST to that engine in its place."))


def check_cache_export(builder: Builder) -> None:
    """Raise EngineError unless ``builder`` can write a cache to somewhere else."""
    if builder.local and not engine.uses_containerd():
        what = f"the builder {builder.name} cannot write a cache: the engine has no store for it."
        fix = "Turn on the engine's containerd image store, or name another builder."
        raise EngineError(Problem(what=what, fix=fix))
