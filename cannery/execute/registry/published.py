# SPDX-License-Identifier: Apache-2.0
"""Asks a registry what the images there were made from, without pulling them."""

from __future__ import annotations

import json
import re
from typing import Any

from cannery.errors import EngineError, Problem
from cannery.execute.process import run
from cannery.image.content_key import LABEL

_ABSENT = re.compile(r"not found|manifest unknown|name unknown|404", re.IGNORECASE)


def published_key(reference: str, platform: str) -> str | None:
    """The key of the image ``reference``; empty where it has none, None where there is no image.

    Raises:
        EngineError: the registry cannot be asked.
    """
    argv = ["docker", "buildx", "imagetools", "inspect", reference]
    code, said = run([*argv, "--format", "{{json .Image}}"], capture=True)
    if code:
        if _ABSENT.search(said):
            return None
        what = f"the registry of {reference} cannot be asked: {said.strip()}."
        fix = "See that it runs, and that 'docker login' was done where it wants it."
        raise EngineError(Problem(what=what, fix=fix))
    try:
        image = json.loads(said)
        labels = _config(image, platform).get("Labels") or {}
        return str(labels.get(LABEL, ""))
    except (ValueError, AttributeError) as error:
        raise EngineError(f"{reference} is no image that buildx can read.") from error


def _config(image: dict[str, Any], platform: str) -> dict[str, Any]:
    # Of an image for several platforms there is one for each.
    one = image.get(platform, image)
    return one.get("config") or {}
