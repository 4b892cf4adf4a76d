# SPDX-License-Identifier: Apache-2.0
"""What a commit changes of images, from the ids of files alone, without content keys."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from functools import cache

from tests.policy.dockerfile import Dockerfile, parse
from tests.replay.history import Blobs, entries

CONTEXT = "cannery/image/context/"
_IMAGE = re.compile(r"images/([^/]+)/(.+)")
_SIMULATOR = re.compile(r"packages/ascend-sim/(Dockerfile.*|device/.+|ascend_sim/packages/.+)")
_PACKAGE = re.compile(r"^#   (Ascend-cann-\S+)$", re.MULTILINE)

BUILDERS = (
    *("building/assembly.py", "building/vendor_images.py", "image/bake_file.py"),
    *("image/vendor_image.py", "image/vendor/take-cann", "image/simulator_spec.py"),
    *("engine/bake.py", "engine/base.py", "engine/builder.py", "engine/simulator.py"),
    *("verify/checking.py", "verify/run_checks.py", "verify/pytest_report.py"),
)
"""Below cannery/: what gives a build its inputs besides images/, starts it, or checks an image.

Some exist only in earlier commits.
"""


@cache
def _dockerfile(text: str) -> Dockerfile:
    return parse(text)


@cache
def _named(text: str) -> frozenset[str]:
    """The files and folders of the shared context that a Dockerfile names; empty is all of it."""
    result: set[str] = set()
    for item in _dockerfile(text):
        if item.word == "COPY" and "--from=cannery" in item.rest.split():
            result |= {word for word in item.rest.split()[:-1] if not word.startswith("--")}
        result |= {
            mount.get("source", "") for mount in item.mounts if mount.get("from") == "cannery"
        }
    return frozenset(result)


def images(commit: str, blobs: Blobs) -> dict[str, dict[str, str]]:
    """Target to what its image is built from: names of files, each with mode and id."""
    listed = entries(commit)
    result: dict[str, dict[str, str]] = {}
    for path, about in listed.items():
        if (match := _IMAGE.fullmatch(path)) and match[2] != "compose.yaml":
            result.setdefault(match[1], {})[match[2]] = about
    shared = {
        path.removeprefix(CONTEXT): about
        for path, about in listed.items()
        if path.startswith(CONTEXT) and not path.endswith(("/.dockerignore", ".sha256"))
    }
    blobs.need({files["Dockerfile"].split()[2] for files in result.values()})
    for files in result.values():
        named = _named(blobs[files["Dockerfile"].split()[2]])
        for name, about in shared.items():
            if {"", name, name.partition("/")[0]} & named:
                files[f"cannery/{name}"] = about
    return result


def packages(commit: str, blobs: Blobs) -> dict[str, tuple[str, ...]]:
    """Target to the names of CANN's packages in its image, which are simulated in CI."""
    listed = entries(commit)
    result = {}
    for path, about in listed.items():
        if (match := _IMAGE.fullmatch(path)) and match[2] == "Dockerfile":
            result[match[1]] = tuple(_PACKAGE.findall(blobs[about.split()[2]]))
    return result


def device(commit: str) -> dict[str, str]:
    """The files from which simulated packages are made, with their modes and ids."""
    return {
        path: about
        for path, about in entries(commit).items()
        if _SIMULATOR.fullmatch(path) and not path.endswith(".md")
    }


def builders(commit: str, blobs: Blobs) -> Mapping[str, tuple[str, ...]]:
    """The words of the files in BUILDERS, in which comments and docstrings are no words."""
    result = {}
    for path, about in entries(commit).items():
        # The room was called 'build' in the beginning.
        name = path.removeprefix("cannery/").replace("build/", "building/", 1)
        if path.startswith("cannery/") and name in BUILDERS:
            blob = about.split()[2]
            blobs.need({blob})
            result[path] = _words(blobs[blob], python=path.endswith(".py"))
    return result


@cache
def _words(text: str, *, python: bool) -> tuple[str, ...]:
    if not python:
        return tuple(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    words = []
    starts = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        blank = token.type in (tokenize.COMMENT, tokenize.NL)
        if not blank and not (starts and token.type == tokenize.STRING):
            words.append(token.string.strip())
        if not blank:
            starts = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return tuple(word for word in words if word not in ("", ",", "(", ")"))
