# SPDX-License-Identifier: Apache-2.0
"""Removes from a builder's cache what takes much space and saves little time."""

from __future__ import annotations

import re

from cannery.execute.engine.builder import Builder
from cannery.execute.process import run

INSTALLERS = re.compile(
    "SIMULATED by cannery|seal-layer --before /before .*--only /usr/local/Ascend"
)
"""Matches the steps in which CANN's installers run, or in which their files become a layer.

Only Dockerfiles of cannery have them.
"""

_RECORD = re.compile(r"^ID:\s+(\w+)\n(?:.+\n)*?Description:\s+(.*)$", re.MULTILINE)


def forget_installers(builder: Builder) -> None:
    """Remove the results of the steps that ``INSTALLERS`` matches from the cache of ``builder``.

    Their files are in the images, and in the cached steps that copy them into the images, which
    stay. A result that another build is using stays, too, and so does all if ``builder`` fails.
    """
    own = ["--builder", builder.name]
    _, said = run(["docker", "buildx", "du", *own, "--verbose"], capture=True)
    if found := installers_in(said):
        # buildx takes the value as a regular expression; names and texts it can only compare.
        ids = f"id={'|'.join(found)}"
        run(["docker", "buildx", "prune", *own, "--force", "--filter", ids], capture=True)


def installers_in(usage: str) -> list[str]:
    """The ids of the results that ``INSTALLERS`` matches, in the output of ``buildx du``."""
    return [name for name, what in _RECORD.findall(usage) if INSTALLERS.search(what)]
