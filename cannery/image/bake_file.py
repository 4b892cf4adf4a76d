# SPDX-License-Identifier: Apache-2.0
"""The file from which ``docker buildx bake`` builds all targets of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cannery.common.errors import Problem, UsageError
from cannery.common.package_index import PackageIndex
from cannery.common.references import TARGET_FIELD, cache_name, read_reference
from cannery.options import without_secrets

INDEX_VARIABLE = "CANNERY_INDEX_URL"
"""The variable from which buildx takes the package index, so that no file holds it."""

APT_VARIABLE = "CANNERY_APT"
"""The variable from which buildx takes settings for apt, which the program use-apt-mirror reads."""

PROXY_VARIABLE, NO_PROXY_VARIABLE = "CANNERY_PROXY", "CANNERY_NO_PROXY"
"""The variables from which buildx takes the proxy of build steps."""

_PROXIES = {
    PROXY_VARIABLE: ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"),
    NO_PROXY_VARIABLE: ("NO_PROXY", "no_proxy"),
}
"""Build arguments that every step gets, and that are in no cache key (BuildKit's documentation,
"Predefined ARGs")."""

INTO_ENGINE = "type=docker,oci-mediatypes=true"
"""The output of an image. Docker's media types have none for zstd: an engine with the containerd
image store cannot run an image with them that has a layer of a base or of a cache as zstd."""

_MARKED = re.compile(r"\\u0000(\w+)\\u0000")
"""Matches, in JSON, a name of a variable that stands for a secret."""

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
    ``text`` replaces the text of ``dockerfile`` if it is not empty, and ``no_cache`` builds every
    step again.
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
    text: str = ""
    no_cache: bool = False


def bake_names(ids: Iterable[str]) -> dict[str, str]:
    """Id to a unique name that bake allows, which has no dots."""
    names: dict[str, str] = {}
    for target in ids:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", target)
        while name in names.values():
            name += "_"
        names[target] = name
    return names


def bake_file(builds: Sequence[ImageBuild], caches: Caches, source: PackageIndex) -> str:
    """The text of the file, to be used with ``build_variables`` of the same ``source``."""
    names = bake_names(build.id for build in builds)
    caches, variables = _with_variables(caches)
    targets: dict[str, Any] = {}
    for build in builds:
        tags = [build.tag, *build.related_tags]
        optional = {
            "cache-from": [
                *dict.fromkeys(c for text in caches.sources for c in _sources(text, tags))
            ],
            "cache-to": [_destination(text, build.tag) for text in caches.destinations],
        }
        targets[names[build.id]] = {
            **_target(build, INTO_ENGINE, source),
            "labels": dict(build.labels),
            **{name: value for name, value in optional.items() if value},
        }
    return _text(targets, {**variables, **_proxies(source)})


def build_variables(source: PackageIndex) -> dict[str, str]:
    """The environment that buildx needs for what no file holds of ``source``."""
    apt = f'Cannery::Mirror "{source.apt_mirror}";\n' if source.apt_mirror else ""
    secrets = {INDEX_VARIABLE: source.index_url, APT_VARIABLE: apt}
    return {**{name: value for name, value in secrets.items() if value}, **_proxies(source)}


def _proxies(source: PackageIndex) -> dict[str, str]:
    values = {PROXY_VARIABLE: source.proxy, NO_PROXY_VARIABLE: source.no_proxy}
    return {name: value for name, value in values.items() if value}


def stage_file(build: ImageBuild, output: tuple[str, Path], source: PackageIndex) -> str:
    """The text of a file that writes the files of a stage of ``build`` into a folder.

    ``output`` are the stage, which is the last one if it is "", and the folder. The rest is as in
    ``bake_file``.
    """
    stage, folder = output
    [name] = bake_names([build.id]).values()
    target = _target(build, f"type=local,dest={folder}", source)
    return _text({name: target | ({"target": stage} if stage else {})}, _proxies(source))


def _text(targets: Mapping[str, Any], variables: Iterable[str] = ()) -> str:
    content = {"group": {"default": {"targets": [*targets]}}, "target": targets}
    declared: dict[str, Any] = {name: {} for name in variables}
    text = json.dumps(
        _escaped(content | ({"variable": declared} if declared else {})),
        indent=2,
        ensure_ascii=False,
    )
    return _MARKED.sub(r"${\1}", text) + "\n"


def cache_variables(caches: Caches) -> dict[str, str]:
    """The environment from which buildx takes the secrets in ``caches``, so no file holds them."""
    return _with_variables(caches)[1]


def _with_variables(caches: Caches) -> tuple[Caches, dict[str, str]]:
    """``caches`` with marked names of variables in place of secrets, and the variables."""
    variables: dict[str, str] = {}

    def named(secret: str) -> str:
        return f"\0{variables.setdefault(secret, f'CANNERY_CACHE_SECRET_{len(variables) + 1}')}\0"

    hidden = Caches(
        sources=tuple(without_secrets(text, named) for text in caches.sources),
        destinations=tuple(without_secrets(text, named) for text in caches.destinations),
    )
    return hidden, {name: secret for secret, name in variables.items()}


def _target(build: ImageBuild, output: str, source: PackageIndex) -> dict[str, Any]:
    secrets = [f"id=ca,src={source.ca}"] if source.ca else []
    secrets += [f"id=index,env={INDEX_VARIABLE}"] if source.index_url else []
    secrets += [f"id=apt,env={APT_VARIABLE}"] if source.apt_mirror else []
    proxies = {name: f"\0{value}\0" for value in _proxies(source) for name in _PROXIES[value]}
    inline = {"dockerfile-inline": build.text}
    return {
        "context": str(build.folder),
        **(inline if build.text else {"dockerfile": str(build.dockerfile)}),
        "contexts": dict(build.contexts),
        "args": {**build.arguments, **proxies},
        "platforms": [build.platform],
        "attest": ["type=provenance,disabled=true"],
        "output": [output],
        **({"no-cache": True} if build.no_cache else {}),
        **({"secret": secrets} if secrets else {}),
    }


def _escaped(value: Any) -> Any:
    """``value`` with its strings escaped: bake reads strings in JSON as HCL templates."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {name: _escaped(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_escaped(inner) for inner in value]
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
    fields = dict(pair.partition("=")[::2] for pair in text.split(","))
    if "=" in text and not fields.get("type"):
        what = f"--cache-{option} {without_secrets(text)!r} has no type."
        fix = "Name a repository, as in registry.example/cache, or write type=...,..."
        return Problem(what=what, fix=fix)
    named = read_reference(text.replace(TARGET_FIELD, "x"))
    if "=" not in text and (not named or named.digest):
        what = f"--cache-{option}: invalid name of a repository: {text!r}."
        return Problem(what=what, fix="Write it as in registry.example/cache.")
    overwrites = option == "to" and fields.get("type") in _OVERWRITES
    if overwrites and count > 1 and TARGET_FIELD not in text:
        shown = without_secrets(text)
        what = f"--cache-to {shown}: each target would replace the cache of the others."
        return Problem(what=what, fix=f"Put {TARGET_FIELD} into it, which stands for the target.")
    return None


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
