# SPDX-License-Identifier: Apache-2.0
"""``build.py update --bases``: the digests of bases for which matrix.yaml has only a tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import MatrixError, Problem
from cannery.common.model import Target
from cannery.common.references import full_reference
from cannery.common.yaml_reader import Problems, Section, compose
from cannery.matrix.files import FACTS, MATRIX, Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files
from cannery.matrix.versions import Use, VersionChange, rewrite
from cannery.registry.client import digest_of_tag


def update_bases(project: Project, *, building: str, write: bool, ca: Path | None) -> None:
    """Print the digests that registries have for bases without one; with ``write`` keep them.

    ``building`` is the architecture of the building machine, for which build bases are.

    Raises:
        ArtifactError: an image is not for the platforms of its targets.
        EngineError: no registry has an image.
        MatrixError: matrix.yaml is wrong, or cannot be changed by program.
        FileError: a file cannot be read or written; then none has changed.
    """
    matrix = project.matrix()
    found: dict[str, str] = {}
    for base, platforms in _unpinned(matrix, f"linux/{building}").values():
        references = (*base.mirrors, str(full_reference(base.image)))
        found[base.name] = digest_of_tag(references, sorted(platforms), ca)
        print(f"{base.name}: {base.image}@{found[base.name]}")
    if not found:
        console.say("every base that a target uses has a digest")
    elif not write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
    else:
        _write(project, matrix, found)


def _unpinned(matrix: Matrix, building: str) -> dict[str, tuple[Base, set[str]]]:
    """Name to each base without a digest, and to the platforms that builds here need it for."""
    found: dict[str, tuple[Base, set[str]]] = {}
    for target in matrix.targets.values():
        for base, platform in ((target.base, target.platform), (target.build_base, building)):
            if not base.is_pinned:
                found.setdefault(base.name, (base, set()))[1].add(platform)
    return found


def _write(project: Project, matrix: Matrix, digests: Mapping[str, str]) -> None:
    before = project.files()
    images = {base.name: base.image for base in _bases(matrix)}
    new = {name: f"{images[name]}@{digest}" for name, digest in digests.items()}
    after = with_bases(before, "image", new)
    changed = parse_files(after).targets
    if _images(changed) != _images(matrix.targets, digests):
        what = "matrix.yaml cannot be changed by program: more would change than the digests."
        raise MatrixError(Problem(what=what, fix="Write the digests there that are listed above."))
    project.replace_named(after, before)
    console.say("now run: python build.py render")


def _bases(matrix: Matrix) -> Iterator[Base]:
    for target in matrix.targets.values():
        yield from (target.base, target.build_base)


def _images(
    targets: Mapping[str, Target], digests: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """The references of all bases by target, with the ``digests`` of bases by name."""
    added = {name: f"@{digest}" for name, digest in (digests or {}).items()}
    return {
        name: [
            f"{base.image}{added.get(base.name, '')}" for base in (target.base, target.build_base)
        ]
        for name, target in targets.items()
    }


def with_bases(files: Data, key: str, new: Mapping[str, str]) -> Data:
    """``files`` with the ``new`` value of ``key`` of each base by its name.

    Raises:
        MatrixError: a value is not written as it is read.
    """
    problems = {name: Problems(name) for name in files if name != FACTS}
    tops = [Section(compose(files[name], name), name, each) for name, each in problems.items()]
    changes: dict[str, list[VersionChange]] = {}
    for base, value in new.items():
        nodes = (top.at(("bases", base, key)) for top in tops)
        node = next(node for node in nodes if isinstance(node, yaml.ScalarNode))
        where = problems[MATRIX].span(node)
        use = Use(key=key, version=str(node.value), where=where, targets=())
        changes.setdefault(where.file, []).append(VersionChange(use=use, version=value))
    return {name: rewrite(text, changes.get(name, ())) for name, text in files.items()}
