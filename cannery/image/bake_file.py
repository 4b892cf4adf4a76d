# SPDX-License-Identifier: Apache-2.0
"""The file from which ``docker buildx bake`` builds all targets of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cannery.errors import Problem, UsageError
from cannery.image.names import REPOSITORY, TAG, TARGET_FIELD, cache_name

INDEX_VARIABLE = "CANNERY_INDEX_URL"
"""The variable from which buildx takes the package index, so that no file holds it."""

_OVERWRITES = ("registry", "local")
"""Types of caches in which each target would replace the others."""


@dataclass(frozen=True, kw_only=True)
class Caches:
    """The caches to read and to write, each as an option of buildx or as a repository."""

    sources: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ImageBuild:
    """One image.

    ``tag`` is its tag in caches, ``related_tags`` are those of targets that share layers with it.
    ``contexts`` maps the names of build contexts to folders or other values that buildx accepts.
    ``anew`` leaves the cache unread.
    """

    id: str
    tag: str
    related_tags: tuple[str, ...] = ()
    dockerfile: Path
    folder: Path
    platform: str
    contexts: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    anew: bool = False


def bake_names(ids: Iterable[str]) -> dict[str, str]:
    """Id to a unique name that bake allows, which has no dots."""
    names: dict[str, str] = {}
    for each in ids:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", each)
        while name in names.values():
            name += "_"
        names[each] = name
    return names


def bake_file(
    builds: Sequence[ImageBuild],
    caches: Caches,
    *,
    ca: Path | None,
    index: bool,
    apt: Path | None = None,
) -> str:
    """The text of the file; ``index`` says that ``INDEX_VARIABLE`` will be set.

    ``apt`` is a file of settings for apt.
    """
    names = bake_names(build.id for build in builds)
    secrets = [f"id=ca,src={ca}"] if ca else []
    secrets += [f"id=apt,src={apt}"] if apt else []
    secrets += [f"id=index,env={INDEX_VARIABLE}"] if index else []
    targets = {names[build.id]: _target(build, caches, secrets) for build in builds}
    content = {"group": {"default": {"targets": [*targets]}}, "target": targets}
    return json.dumps(_escaped(content), indent=2, ensure_ascii=False) + "\n"


def _target(build: ImageBuild, caches: Caches, secrets: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "context": str(build.folder),
        "dockerfile": str(build.dockerfile),
        "contexts": dict(build.contexts),
        "args": dict(build.arguments),
        "labels": dict(build.labels),
        "platforms": [build.platform],
        "output": ["type=docker"],
        "attest": ["type=provenance,disabled=true"],
    }
    sources = dict.fromkeys(
        each for text in caches.sources for each in _sources(text, [build.tag, *build.related_tags])
    )
    destinations = [_destination(text, build.tag) for text in caches.destinations]
    optional: dict[str, Any] = {
        "secret": secrets,
        "cache-from": [*sources],
        "cache-to": destinations,
    }
    optional["no-cache"] = build.anew
    return found | {name: value for name, value in optional.items() if value}


def _escaped(value: Any) -> Any:
    """``value`` with its strings escaped: bake reads strings in JSON as HCL templates."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {name: _escaped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    return value


def check_caches(caches: Caches, count: int) -> None:
    """Raise UsageError for invalid caches, or caches that ``count`` targets cannot share."""
    problems = [
        problem
        for option, texts in (("from", caches.sources), ("to", caches.destinations))
        for text in texts
        if (problem := _cache_problem(option, text, count))
    ]
    if problems:
        raise UsageError(problems)


def _cache_problem(option: str, text: str, count: int) -> Problem | None:
    fields = dict(each.partition("=")[::2] for each in text.split(","))
    if "=" in text and not fields.get("type"):
        what = f"--cache-{option} {text!r} has no type."
        fix = "Name a repository, as in registry.example/cache, or write type=...,..."
        return Problem(what=what, fix=fix)
    if "=" not in text and not _REFERENCE.fullmatch(text.replace(TARGET_FIELD, "x")):
        what = f"--cache-{option}: invalid name of a repository: {text!r}."
        return Problem(what=what, fix="Write it as in registry.example/cache.")
    overwrites = option == "to" and fields.get("type") in _OVERWRITES
    if overwrites and count > 1 and TARGET_FIELD not in text:
        what = f"--cache-to {text}: each target would replace the cache of the others."
        return Problem(what=what, fix=f"Put {TARGET_FIELD} into it, which stands for the target.")
    return None


_REFERENCE = re.compile(rf"[A-Za-z0-9.-]+(:\d+)?(/{REPOSITORY})?(:{TAG})?")


def _sources(text: str, tags: Iterable[str]) -> list[str]:
    """The caches that one target reads: its own first, then those of related targets."""
    if "=" in text:
        return [text.replace(TARGET_FIELD, tag) for tag in tags]
    return [f"type=registry,ref={cache_name(text, tag)}" for tag in tags]


def _destination(text: str, tag: str) -> str:
    if "=" in text:
        return text.replace(TARGET_FIELD, tag)
    compression = "compression=zstd,force-compression=true"
    return f"type=registry,ref={cache_name(text, tag)},mode=max,{compression}"
