# SPDX-License-Identifier: Apache-2.0
"""``build.py update --bases``: the digests of bases for which matrix.yaml has only a tag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import MatrixError, Problem, Span
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.references import full_reference
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.matrix.versions import Use, VersionChange, rewrite
from cannery.registry.located import digest_of_tag


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
    path = project.matrix_file
    text = read_text(path)
    top = yaml.compose(text, Loader=yaml.CSafeLoader)
    changes = []
    for name, digest in digests.items():
        node = base_value(top, name, "image")
        mark = node.start_mark
        where = Span(file=path.name, line=mark.line + 1, column=mark.column + 1)
        use = Use(key="image", version=str(node.value), where=where, targets=())
        changes.append(VersionChange(use=use, version=f"{node.value}@{digest}"))
    after = rewrite(text, changes)
    changed = parse_matrix(after, path.name).targets
    if _images(changed) != _images(matrix.targets, digests):
        what = "matrix.yaml cannot be changed by program: more would change than the digests."
        raise MatrixError(Problem(what=what, fix="Write the digests there that are listed above."))
    project.replace({path: after}, {path: text})
    console.say("now run: python build.py render")


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


def base_value(top: yaml.Node | None, name: str, key: str) -> yaml.Node:
    """The value of ``key`` of the base ``name`` in the tree of a valid matrix.yaml."""
    node = top
    for step in ("bases", name, key):
        assert isinstance(node, yaml.MappingNode), "it has been loaded"
        values: dict[str, yaml.Node] = {own.value: value for own, value in node.value}
        node = values[step]
    assert node
    return node
