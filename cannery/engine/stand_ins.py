# SPDX-License-Identifier: Apache-2.0
"""Determines whether an image is simulated, without running it."""

from __future__ import annotations

from collections.abc import Iterator

from docker.models.containers import Container

from cannery.common.model import Target
from cannery.engine import containers
from cannery.engine.images import ImageFiles
from cannery.image.simulated import LABEL, MARK, marked_paths, marker_paths


def stand_ins(image: str, target: Target) -> tuple[str, ...]:
    """The signs that the local image ``image`` of ``target`` is simulated; empty if it is not.

    Signs are a label, files in the image, because a derived image can change the label, and what
    libraries contain, because it may have a part of CANN only.

    Raises:
        EngineError: there is no such image for the platform, or the engine does not answer.
    """
    with containers.unstarted(image, target.platform) as container:
        return stand_ins_in(container, target)


def stand_ins_in(container: Container, target: Target) -> tuple[str, ...]:
    """The same signs, for a container that was not started.

    Raises:
        EngineError: the engine does not answer.
    """
    return tuple(_signs(container, target))


def _signs(container: Container, target: Target) -> Iterator[str]:
    labels = container.attrs["Config"].get("Labels") or {}
    if labels.get(LABEL) == "true":
        yield f"label {LABEL}=true"
    words = container.attrs["Config"].get("Env") or ()
    environment = dict(each.split("=", 1) for each in words if "=" in each)
    files = ImageFiles(container)
    yield from (path for path in marker_paths(target, environment) if files.exists(path))
    yield from (path for path in marked_paths(environment) if files.contains(path, MARK))
