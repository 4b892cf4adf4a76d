# SPDX-License-Identifier: Apache-2.0
"""The paths of a project, all below its root, those of the tool's files, and what is read there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cannery.common import documents
from cannery.common.documents import Map
from cannery.common.files import exclusive, write_files
from cannery.common.model import Target
from cannery.common.program import BUILD_PY, COMMAND
from cannery.common.tool import is_checkout, tool_path
from cannery.compat import Compat
from cannery.matrix.files import MATRIX, Data, catalogue, facts_of, read_data, read_facts
from cannery.matrix.matrix import Matrix, select_targets
from cannery.matrix.schema import parse_files
from cannery.matrix.settings import Settings, read_settings, with_settings

VERIFIED = "verified"
"""The folder of the results that are committed."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project. ``root`` is the folder of matrix.yaml."""

    root: Path

    @property
    def program(self) -> str:
        """The command in generated files, which is the same whoever writes them."""
        return BUILD_PY if self.is_checkout else COMMAND

    @property
    def matrix_file(self) -> Path:
        return self.root / MATRIX

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def templates(self) -> Path:
        """The templates of Dockerfiles."""
        return tool_path("cannery/image/templates", self.root)

    @property
    def build_context(self) -> Path:
        """The build context ``cannery`` of every Dockerfile: programs and the image's guard."""
        return tool_path("cannery/image/context", self.root)

    @property
    def checks(self) -> Path:
        """The image tests, which have a folder for each component."""
        return tool_path("tests/image", self.root)

    @property
    def own_checks(self) -> Path:
        """A project's image tests beside these, which need not be there."""
        return self.root / "checks"

    @property
    def is_checkout(self) -> bool:
        """Whether the tool's own files are part of the project, and commands may change them."""
        return is_checkout(self.root)

    @property
    def build_lock(self) -> Path:
        """The lock of the packages in the Dockerfiles' ``build`` stage."""
        return self.build_context / "requirements.txt"

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
    def publish_file(self) -> Path:
        """The policy for the names and tags of published images."""
        return self.root / "publish.yaml"

    @property
    def releases(self) -> Path:
        """The records of published images."""
        return self.root / "releases"

    def editing(self) -> AbstractContextManager[None]:
        """Wait until no other run is in here: it may write what it makes from files it has read."""
        return exclusive(self.state / "editing.lock")

    def write(
        self,
        files: Mapping[Path, str],
        *,
        remove: Iterable[Path] = (),
        before: Mapping[Path, str | None] | None = None,
    ) -> None:
        """Write files of the project with ``write_files``; no link leads out of it."""
        write_files(files, remove=remove, before=before, root=self.root)

    def replace(self, files: Mapping[Path, str], before: Mapping[Path, str | None]) -> None:
        """Write ``files``, which were made from the texts ``before`` without ``editing``."""
        with self.editing():
            self.write(files, before=before)

    def replace_named(self, after: Data, before: Data) -> list[str]:
        """``replace`` those of ``after`` that differ from ``before``; return their names."""
        changed = [name for name in after if after[name] != before[name]]
        paths = {name: self.root / name for name in changed}
        new = {path: after[name] for name, path in paths.items()}
        self.replace(new, {path: before[name] for name, path in paths.items()})
        return changed

    def lock(self, target: Target) -> Path:
        return self.images / target.id / "requirements.lock"

    def build_requirements_lock(self, target: Target) -> Path:
        """The lock of what builds wheels of ``target`` from sdists."""
        return self.images / target.id / "build-requirements.lock"

    def packages_lock(self, target: Target) -> Path:
        """The record of what apt resolved for ``target``; it need not be there."""
        return self.images / target.id / "packages.lock"

    def matrix(self) -> Matrix:
        """Read matrix.yaml, and the images and mirrors of cannery.toml.

        Equal files are parsed and judged once. See ``parse_matrix``, ``read_facts``,
        ``read_settings`` and ``with_settings`` for what it raises.
        """
        return with_settings(_judged(tuple(self.files().items())), self.settings())

    def files(self) -> Data:
        """matrix.yaml and the files by which it is read, each with its text."""
        text = documents.read_text(self.matrix_file, MATRIX)
        return {MATRIX: text, **read_data(self.root), **read_facts(self.matrix_file)}

    def catalogue(self) -> Mapping[str, Map]:
        """The targets that come with the program, which others can name with ``from``."""
        return catalogue(read_data(self.root))

    def settings(self) -> Settings:
        """Read cannery.toml; see ``read_settings`` for what it raises."""
        return read_settings(self.root)

    def compat(self) -> Compat:
        """Read compat.yaml; see ``read_facts`` and ``parse_compat`` for what it raises."""
        return facts_of(read_facts(self.matrix_file))


@lru_cache(maxsize=2)
def _judged(files: tuple[tuple[str, str], ...]) -> Matrix:
    data = dict(files)
    return parse_files(data, facts_of(data))


def select(matrix: Matrix, patterns: Sequence[str], conditions: Sequence[str] = ()) -> list[Target]:
    """The targets that match any of ``patterns`` (ids or globs) and all ``conditions``.

    The order is that of the matrix. See ``select_targets`` for a condition, and what it raises.
    """
    return select_targets(matrix.targets, patterns, conditions)
