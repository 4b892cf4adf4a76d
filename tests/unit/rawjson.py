# SPDX-License-Identifier: Apache-2.0
"""Writes what ``docker buildx bake --progress rawjson`` says, as two versions of it do."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

DAY = "2026-11-21T"
ERROR = 'process "/bin/sh -c exit 3" did not complete successfully: exit code: 3'


def vertex(name: str, digest: str = "", **more: Any) -> dict[str, Any]:
    return {"vertexes": [{"digest": f"sha256:{digest or name}", "name": name, **more}]}


def started(name: str, digest: str = "") -> dict[str, Any]:
    return vertex(name, digest, started=f"{DAY}09:41:26.5Z")


def done(name: str, digest: str = "", at: str = "09:41:28.75Z", **more: Any) -> dict[str, Any]:
    return vertex(name, digest, started=f"{DAY}09:41:26.5Z", completed=DAY + at, **more)


def log(digest: str, text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {"logs": [{"vertex": f"sha256:{digest}", "stream": 1, "data": data}]}


def status(digest: str, text: str, *, completed: bool = False) -> dict[str, Any]:
    """What a step says of a part of it."""
    found = {"id": text, "vertex": f"sha256:{digest}", "started": f"{DAY}09:41:26.5Z"}
    return {"statuses": [{**found, "completed": f"{DAY}09:41:26.6Z"} if completed else found]}


def compact(events: Iterable[dict[str, Any]]) -> str:
    """An object a line, as newer versions write them."""
    return "".join(json.dumps(event) + "\n" for event in events)


def spread(events: Iterable[dict[str, Any]]) -> str:
    """Objects over many lines, as buildx 0.13 writes them."""
    return "".join(json.dumps(event, indent=2) + "\n" for event in events)
