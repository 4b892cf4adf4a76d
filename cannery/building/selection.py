# SPDX-License-Identifier: Apache-2.0
"""The targets of a run, and the caches and the package index of its build."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.common.model import Target
from cannery.common.option import Shard
from cannery.common.package_index import PackageIndex, package_index
from cannery.fetch.fetching import Provided
from cannery.image.bake_file import Caches
from cannery.matrix.matrix import Matrix
from cannery.options import BuildOptions


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected targets of ``matrix``. It is an error if one in ``named`` cannot be built.

    ``provided`` says what was fetched for them, or would be.
    """

    matrix: Matrix
    targets: tuple[Target, ...]
    named: frozenset[str]
    shard: Shard | None = None
    provided: Provided | None = None


def caches_of(options: BuildOptions) -> Caches:
    """The caches that a build reads and writes."""
    return Caches(sources=options.cache_from, destinations=options.cache_to)


def index_of(options: BuildOptions) -> PackageIndex:
    """The package index and the certificates of a build."""
    return package_index(options.ca, options.index_url)
