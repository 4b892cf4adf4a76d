# SPDX-License-Identifier: Apache-2.0
"""The paths of a checkout, all below the project's root, and what is read from them.

What reads the matrix is imported only where it is read: a command may know the answer without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cannery.common.cache import Cache, Inputs, hash_of, inputs_of, inputs_of_each
from cannery.matrix.file_names import FACTS, MATRIX, SETTINGS
from cannery.matrix.selection import qualities_of, select_ids

if TYPE_CHECKING:
    from cannery.common.model import Matrix, Target
    from cannery.compat import Compat
    from cannery.matrix.settings import Settings


VERIFIED = "verified"
"""The folder of the results that are committed."""


RENDERED = "rendered"
"""The entry of the cache that the folders of all targets are as rendered."""

IN_SYNC = "in-sync"
"""The entry that they are, and that there are no others. Its text is the number of targets."""

EACH_IN_SYNC = "each-in-sync"
"""The entry of the targets whose folders are as rendered, by id."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """A checkout. ``root`` is the folder of matrix.yaml."""

    root: Path

    @property
    def matrix_file(self) -> Path:
        return self.root / MATRIX

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def templates(self) -> Path:
        """The templates of Dockerfiles."""
        return self.root / "cannery" / "image" / "templates"

    @property
    def build_context(self) -> Path:
        """The build context ``cannery`` of every Dockerfile: programs and the image's guard."""
        return self.root / "cannery" / "image" / "context"

    @property
    def build_lock(self) -> Path:
        """The lock of the packages in the Dockerfiles' ``build`` stage."""
        return self.build_context / "requirements.txt"

    def rendering_inputs(self) -> Inputs:
        """The state of all files that images/ is rendered from, and of those in it."""
        return self.inputs(self.images, self.templates, self.build_context)

    def inputs_of_targets(self, targets: Sequence[Target]) -> dict[str, Inputs]:
        """The state of what the folder of each target is rendered from, and of the folder, by id.

        The lock is in the folder. The shared build context is no part of what is rendered.
        """
        return inputs_of_each(_digests(targets), self.images, [self.templates])

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def state(self) -> Path:
        """Simulated packages, reports and caches; it may be deleted at any time."""
        return self.root / ".cannery"

    @property
    def reports(self) -> Path:
        """The reports on images of this machine."""
        return self.state / "reports"

    @property
    def cache(self) -> Cache:
        """What was computed from the files of the checkout."""
        return Cache(folder=self.state / "cache")

    def inputs(self, *paths: Path) -> Inputs:
        """The state of what says what the targets are, and of ``paths``."""
        files = (self.matrix_file, self.root / FACTS, self.root / SETTINGS)
        return inputs_of([], [*files, *paths])

    @property
    def publish_file(self) -> Path:
        """The policy for the names and tags of published images."""
        return self.root / "publish.yaml"

    @property
    def releases(self) -> Path:
        """The records of published images."""
        return self.root / "releases"

    def lock(self, target: Target) -> Path:
        return self.images / target.id / "requirements.lock"

    def build_requirements_lock(self, target: Target) -> Path:
        """The lock of what builds wheels of ``target`` from sdists."""
        return self.images / target.id / "build-requirements.lock"

    def matrix(self) -> Matrix:
        """Read matrix.yaml, and the images and mirrors of cannery.toml.

        See ``load_matrix``, ``read_settings`` and ``with_settings`` for what it raises.
        """
        from cannery.matrix.own_sources import with_settings
        from cannery.matrix.schema import load_matrix

        matrix = load_matrix(self.matrix_file, self.cache)
        return with_settings(matrix, self.settings())

    def settings(self) -> Settings:
        """Read cannery.toml; see ``read_settings`` for what it raises."""
        from cannery.matrix.settings import read_settings

        return read_settings(self.root)

    def compat(self) -> Compat:
        """Read compat.yaml; see ``read_facts`` and ``parse_facts`` for what it raises."""
        from cannery.matrix.facts import parse_facts, read_facts

        return parse_facts(read_facts(self.matrix_file))

    def selected_ids(self, patterns: Sequence[str], conditions: Sequence[str]) -> list[str]:
        """The ids of what ``select`` selects; see ``matrix`` and ``select`` for what it raises."""

        def qualities() -> dict[str, dict[str, str]]:
            return {name: qualities_of(each) for name, each in self.matrix().targets.items()}

        known = self.cache.computed("qualities", self.inputs(), qualities)
        return select_ids(known, patterns, conditions)


def _digests(targets: Sequence[Target]) -> dict[str, str]:
    """What stands for each target, by id: the hashes of its values, of shared ones once."""
    # A target keeps its values, so none of them gets the id of another one.
    known: dict[int, str] = {}
    found: dict[str, str] = {}
    for target in targets:
        values = [getattr(target, each.name) for each in fields(target)]
        for value in values:
            if id(value) not in known:
                known[id(value)] = hash_of(value)
        found[target.id] = " ".join([known[id(value)] for value in values])
    return found


def select(matrix: Matrix, patterns: Sequence[str], conditions: Sequence[str] = ()) -> list[Target]:
    """The targets that match any of ``patterns`` (ids or globs) and all ``conditions``.

    The order is that of the matrix. See ``select_ids`` for a condition, and what it raises.
    """
    known = {name: qualities_of(target) for name, target in matrix.targets.items()}
    return [matrix.targets[name] for name in select_ids(known, patterns, conditions)]
