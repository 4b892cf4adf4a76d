# SPDX-License-Identifier: Apache-2.0
"""``build.py update --bases``: digests of bases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import MatrixError, Problem
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
    images, found = {}, {}
    for base, platforms in _unpinned(project.matrix(), f"linux/{building}").values():
        references = (*base.mirrors, str(full_reference(base.image)))
        found[base.name] = f"{base.image}@{digest_of_tag(references, sorted(platforms), ca)}"
        images[base.image] = found[base.name]
        print(f"{base.name}: {found[base.name]}")
    if not found:
        console.say("every base that a target uses has a digest")
    else:
        _change(project, found, images, write=write)


def _unpinned(matrix: Matrix, building: str) -> dict[str, tuple[Base, set[str]]]:
    """Name to each base without a digest, and to the platforms that builds here need it for."""
    found: dict[str, tuple[Base, set[str]]] = {}
    for target in matrix.targets.values():
        for base, platform in ((target.base, target.platform), (target.build_base, building)):
            if not base.is_pinned:
                found.setdefault(base.name, (base, set()))[1].add(platform)
    return found


def _change(
    project: Project,
    new: Mapping[str, str],
    images: Mapping[str, str],
    *,
    write: bool,
) -> None:
    """With ``write`` give each base its ``new`` image, by the base's name.

    ``images`` maps the references to the new ones; no others may change.
    """
    if not write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
        return
    before = project.files()
    after = _with_bases(before, new)
    wanted = {
        name: [images.get(each, each) for each in found]
        for name, found in _images(project.matrix()).items()
    }
    if _images(parse_files(after)) != wanted:
        what = "matrix.yaml cannot be changed by program: more than the image would change."
        raise MatrixError(Problem(what=what, fix="Write each image there that is listed above."))
    project.replace_named(after, before)
    console.say("now run: python build.py render")


def _images(matrix: Matrix) -> dict[str, list[str]]:
    """Target to the references of its bases, with their digests."""
    targets = matrix.targets.items()
    return {name: [each.base.image, each.build_base.image] for name, each in targets}


def _with_bases(files: Data, new: Mapping[str, str]) -> Data:
    """``files`` with the ``new`` image of each base by its name.

    Raises:
        MatrixError: a value is not written as it is read.
    """
    problems = {name: Problems(name) for name in files if name != FACTS}
    tops = [Section(compose(files[name], name), name, each) for name, each in problems.items()]
    changes: dict[str, list[VersionChange]] = {}
    for base, value in new.items():
        nodes = (top.at(("bases", base, "image")) for top in tops)
        node = next(node for node in nodes if isinstance(node, yaml.ScalarNode))
        where = problems[MATRIX].span(node)
        use = Use(key="image", version=str(node.value), where=where, targets=())
        changes.setdefault(where.file, []).append(VersionChange(use=use, version=value))
    return {name: rewrite(text, changes.get(name, ())) for name, text in files.items()}
