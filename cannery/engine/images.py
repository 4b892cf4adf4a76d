# SPDX-License-Identifier: Apache-2.0
"""Asks the engine for several local images at once.

This uses docker's command line, because importing the SDK takes longer than a run in which
everything is up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cannery.common.process import run
from cannery.engine.unreachable import unreachable


@dataclass(frozen=True, kw_only=True)
class LocalImage:
    """An image of the local engine; ``architecture`` is as the engine names it."""

    id: str
    architecture: str
    labels: Mapping[str, str]


Images = Mapping[str, LocalImage]
"""Reference to image, for the images that exist."""


def local_images(references: Iterable[str]) -> Images:
    """The local images among ``references``.

    Raises:
        EngineError: the engine does not answer, or rejects one of the names.
    """
    names = [*dict.fromkeys(references)]
    if not names:
        return {}
    argv = ["docker", "image", "inspect", "--format", "{{json .}}", *names]
    code, said = run(argv, capture=True)
    lines = said.splitlines()
    found = [line for line in lines if line.startswith("{")]
    # docker ends with 1 for a missing image and for a missing engine; only its text differs.
    absent = [line for line in lines if "No such image: " in line]
    if len(found) + len(absent) < len(names) or (code and not absent):
        raise unreachable("\n".join(line for line in lines if line not in found))
    missing = {line.partition("No such image: ")[2] for line in absent}
    here = [name for name in names if name not in missing]
    return dict(zip(here, map(_image, found), strict=True))


def _image(line: str) -> LocalImage:
    loaded = json.loads(line)
    labels = (loaded.get("Config") or {}).get("Labels") or {}
    return LocalImage(id=loaded["Id"], architecture=loaded["Architecture"], labels=labels)
