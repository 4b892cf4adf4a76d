# SPDX-License-Identifier: Apache-2.0
"""The content key of an image: equal keys mean that it would be made from the same things."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

LABEL = "io.cannery.key"
"""The label of an image that holds its key."""

_SCHEMA = 1
"""Part of every key; a new one makes all images out of date."""

_UNSEEN = ("compose.yaml",)
"""Rendered files that no Dockerfile looks at."""


def content_key(
    files: Mapping[str, str],
    artifacts: Mapping[str, str],
    bases: Mapping[str, str],
    *,
    simulate: bool,
) -> str:
    """The key of an image.

    ``files`` maps the name of each file in the build's context to its text, ``artifacts`` each
    component to the sha256 of its file, and ``bases`` each build argument that names a base to
    what identifies the image that is really used: its pinned reference, or a local image's id.
    """
    content = {
        "schema": _SCHEMA,
        "files": {name: text for name, text in files.items() if name not in _UNSEEN},
        "artifacts": dict(artifacts),
        "bases": dict(bases),
        "simulate": simulate,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
