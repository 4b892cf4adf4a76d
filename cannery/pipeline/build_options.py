# SPDX-License-Identifier: Apache-2.0
"""What the command line says about a build."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.execute.engine.buildx import PackageIndex
from cannery.image.bake_file import Caches
from cannery.model import Matrix, Target


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """How images are built. ``jobs`` is how many are checked at a time."""

    simulate: bool
    artifacts: Path
    test: bool
    package_index: PackageIndex
    force: bool = False
    jobs: int = 1
    builder: str = ""
    caches: Caches = field(default_factory=Caches)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which targets of ``matrix``; of ``named`` ones it is an error if they cannot be built.

    ``shard`` is ``I/N``, or empty.
    """

    matrix: Matrix
    targets: tuple[Target, ...]
    named: frozenset[str]
    shard: str = ""
