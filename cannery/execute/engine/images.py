# SPDX-License-Identifier: Apache-2.0
"""Asks the engine which images are here, all at once.

Through docker's command line: importing the SDK takes longer than all else that a run does which
finds everything up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cannery.errors import EngineError, Problem
from cannery.execute.process import run


@dataclass(frozen=True, kw_only=True)
class LocalImage:
    """An image of the local engine; ``architecture`` is as the engine names it."""

    id: str
    architecture: str
    labels: Mapping[str, str]


Images = Mapping[str, LocalImage]
"""Reference to image; without those that are not here."""


def local_images(references: Iterable[str]) -> Images:
    """Those of ``references`` that are images here.

    Raises:
        EngineError: the engine does not answer, or takes one of them for no name.
    """
    wanted = [*dict.fromkeys(references)]
    if not wanted:
        return {}
    argv = ["docker", "image", "inspect", "--format", "{{json .}}", *wanted]
    code, said = run(argv, capture=True)
    lines = said.splitlines()
    found = [line for line in lines if line.startswith("{")]
    # docker ends with 1 whether an image is missing or the engine is, and says which only in words.
    absent = [line for line in lines if "No such image: " in line]
    if len(found) + len(absent) < len(wanted) or (code and not absent):
        # It says the same of each of them.
        rest = " ".join(dict.fromkeys(line for line in lines if line not in found)).strip()
        what = f"the container engine does not answer: {rest.rstrip('.')}."
        fix = "Start it ('bash setup.sh' does, where it can), or set DOCKER_HOST."
        raise EngineError(Problem(what=what, fix=fix))
    missing = {line.partition("No such image: ")[2] for line in absent}
    here = [name for name in wanted if name not in missing]
    return dict(zip(here, map(_image, found), strict=True))


def _image(line: str) -> LocalImage:
    loaded = json.loads(line)
    labels = (loaded.get("Config") or {}).get("Labels") or {}
    return LocalImage(id=loaded["Id"], architecture=loaded["Architecture"], labels=labels)
