# SPDX-License-Identifier: Apache-2.0
"""A builder's cache: what is in it, and what is removed that takes much space and saves little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cannery.common.process import run
from cannery.engine.builder import Builder

CANN_STEPS = re.compile(
    "python3 /tmp/install-cann "
    "|seal-layer --before /before .*--only /usr/local/Ascend"
    "|take-cann layer /vendor"
)
"""Matches the steps whose results are CANN, before it is copied into an image.

These are the installers, what makes layers of their files, and what takes CANN out of an image of
the vendor's. Only Dockerfiles of cannery have such steps.
"""

_FIELD = re.compile(r"^([A-Z][A-Za-z ]*):[ \t]+(.*)$", re.MULTILINE)
_SIZE = re.compile(r"([0-9.]+)([kMGT]?)B")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True, kw_only=True)
class Record:
    """An entry of a cache: the files that the step ``description`` added, ``size`` bytes."""

    id: str
    size: int
    description: str


def forget_cann(builder: Builder) -> None:
    """Remove the results of the steps that ``CANN_STEPS`` matches from the cache of ``builder``.

    Their files are in the images, and in the cached steps that copy them into the images, which
    stay. A result that another build is using stays, too, and so does all if ``builder`` fails.
    """
    own = ["--builder", builder.name]
    _, said = run(["docker", "buildx", "du", *own, "--verbose"], capture=True)
    if found := [each.id for each in records(said) if CANN_STEPS.search(each.description)]:
        # buildx takes an id as a regular expression, and other values only as they are.
        ids = f"id={'|'.join(found)}"
        run(["docker", "buildx", "prune", *own, "--force", "--filter", ids], capture=True)


def records(usage: str) -> Iterator[Record]:
    """The entries in ``usage``, which is the output of ``docker buildx du --verbose``."""
    for block in usage.split("\n\n"):
        fields = dict(_FIELD.findall(block))
        size = _SIZE.fullmatch(fields.get("Size", ""))
        if "ID" in fields and size:
            number = round(float(size[1]) * _UNITS[size[2]])
            yield Record(id=fields["ID"], size=number, description=fields.get("Description", ""))
