# SPDX-License-Identifier: Apache-2.0
"""The names of images: on this machine, in caches, and the ending of simulated ones.

``cannery.publish.policy`` makes the tags of published images from the rules in publish.yaml.
"""

from __future__ import annotations

SIMULATED = "-sim"
"""The end of every tag of a simulated image, here and in a registry."""

TARGET_FIELD = "{target}"
"""Stands for a target's tag in the name of a cache."""

_LOCAL = "cannery"
"""The repository of the images on the machine that has built them."""


def tag_end(*, simulate: bool) -> str:
    """The end of a tag: ``-sim`` for a simulated image, else nothing."""
    return SIMULATED if simulate else ""


def image_tag(target_id: str, *, simulate: bool) -> str:
    """The local tag of a target's image, and its tag in a cache."""
    return target_id + tag_end(simulate=simulate)


def image_name(target_id: str, *, simulate: bool) -> str:
    """The local name of a target's image, as in ``cannery:TARGET-sim``."""
    return f"{_LOCAL}:{image_tag(target_id, simulate=simulate)}"


def cache_name(cache: str, tag: str) -> str:
    """The name of one target's cache; ``cache`` names a repository, perhaps with a tag.

    Each target has a cache of its own, because a cache replaces what its tag named before.
    """
    if TARGET_FIELD in cache:
        return cache.replace(TARGET_FIELD, tag)
    repository, _, named = cache.rpartition(":")
    # The colon of a port is before a slash.
    return f"{cache}-{tag}" if repository and "/" not in named else f"{cache}:{tag}"
