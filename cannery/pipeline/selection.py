# SPDX-License-Identifier: Apache-2.0
"""Which targets a run is about, and from where it builds them."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.execute.engine.buildx import PackageIndex, package_index
from cannery.image.bake_file import Caches
from cannery.model import Matrix, Target
from cannery.options.build import BuildOptions
from cannery.options.values import Shard


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which targets of ``matrix``; of ``named`` ones it is an error if they cannot be built."""

    matrix: Matrix
    targets: tuple[Target, ...]
    named: frozenset[str]
    shard: Shard | None = None


def caches_of(options: BuildOptions) -> Caches:
    """Where the layers of a build come from and go to."""
    return Caches(sources=options.cache_from, destinations=options.cache_to)


def index_of(options: BuildOptions) -> PackageIndex:
    """How the packages of a build are reached."""
    return package_index(options.ca, options.index_url)
