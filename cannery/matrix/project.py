# SPDX-License-Identifier: Apache-2.0
"""The paths of a checkout, all below the project's root, and the selection of targets."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cannery.errors import Problem, UsageError, did_you_mean
from cannery.matrix.facts import parse_facts, read_facts
from cannery.matrix.own_sources import with_settings
from cannery.matrix.schema import load_matrix
from cannery.matrix.settings import Settings, read_settings
from cannery.model import Matrix, Target

if TYPE_CHECKING:
    from cannery.compat import Compat


@dataclass(frozen=True, kw_only=True)
class Project:
    """A checkout. ``root`` is the folder of matrix.yaml."""

    root: Path

    @property
    def matrix_file(self) -> Path:
        return self.root / "matrix.yaml"

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

    @property
    def artifacts(self) -> Path:
        return self.root / "artifacts"

    @property
    def state(self) -> Path:
        """Simulated packages, reports and caches; it may be deleted at any time."""
        return self.root / ".cannery"

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
        matrix = load_matrix(self.matrix_file, self.state / "passed")
        return with_settings(matrix, self.settings())

    def settings(self) -> Settings:
        """Read cannery.toml; see ``read_settings`` for what it raises."""
        return read_settings(self.root)

    def compat(self) -> Compat:
        """Read compat.yaml; see ``read_facts`` and ``parse_facts`` for what it raises."""
        return parse_facts(read_facts(self.matrix_file))


def select(matrix: Matrix, patterns: Sequence[str], conditions: Sequence[str] = ()) -> list[Target]:
    """The targets that match any of ``patterns`` (ids or globs) and all ``conditions``.

    A condition is as in ``python=3.9``: a component and a version of it, or the front part of one,
    or ``chip=910b``, ``platform=linux/arm64``, ``architecture=arm64``, ``flavour=runtime`` or
    ``application=vllm``;
    ``cann`` is the toolkit. The order is that of the matrix.

    Raises:
        UsageError: naming every pattern that fits no target and every condition that makes no
            sense, or because nothing is left.
    """
    problems = [
        Problem(what=f"there is no target {pattern!r}.", fix=_nearest(pattern, matrix.targets))
        for pattern in patterns
        if not fnmatch.filter(matrix.targets, pattern)
    ]
    known = {key for target in matrix.targets.values() for key in _qualities(target)}
    for condition in conditions:
        key, equals, _ = condition.partition("=")
        if not equals:
            what = f"invalid condition {condition!r}."
            problems.append(Problem(what=what, fix="Write it as in python=3.9."))
        elif key not in known:
            problems.append(Problem(what=f"targets have no {key!r}.", fix=did_you_mean(key, known)))
    if problems:
        raise UsageError(problems)
    found = [
        target
        for name, target in matrix.targets.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
        and all(_holds(target, condition) for condition in conditions)
    ]
    if not found:
        asked = " ".join([*patterns, *conditions])
        values = [_values(condition, matrix.targets.values()) for condition in conditions]
        hint = " ".join([*filter(None, values), "'build.py list' shows all."])
        raise UsageError(Problem(what=f"no target is selected by {asked}.", fix=hint))
    return found


def _values(condition: str, targets: Iterable[Target]) -> str:
    """The values of the key of ``condition``, if it holds for none of ``targets``."""
    if any(_holds(target, condition) for target in targets):
        return ""
    key, _, wanted = condition.partition("=")
    values = dict.fromkeys(_qualities(target).get(key, "") for target in targets)
    return did_you_mean(wanted, sorted(filter(None, values)))


def _nearest(pattern: str, ids: Collection[str]) -> str:
    """A sentence that offers the id or pattern that ``pattern`` probably stands for."""
    lower = pattern.lower()
    alike = [name for name in ids if fnmatch.fnmatchcase(name.lower(), lower)]
    if not alike:
        return did_you_mean(pattern, ids)
    meant = lower if fnmatch.filter(ids, lower) else alike[0]
    return f"Upper and lower case differ. Did you mean {meant!r}?"


def _qualities(target: Target) -> dict[str, str]:
    return {
        **target.components,
        "cann": target.cann.version,
        "chip": target.chip,
        "flavour": target.flavour,
        "platform": target.platform,
        "architecture": target.docker_arch,
        "application": target.application.component if target.application else "",
    }


def _holds(target: Target, condition: str) -> bool:
    key, _, wanted = condition.partition("=")
    version = _qualities(target).get(key, "")
    # As in 2.1.0.post6, 0.1+ascend, and the kernels of a release for a chip: "8.0.RC2 (910b)".
    after = version[len(wanted) : len(wanted) + 1]
    return version == wanted or (wanted != "" and version.startswith(wanted) and after in ".+ ")
