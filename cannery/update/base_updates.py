# SPDX-License-Identifier: Apache-2.0
"""``build.py update --bases``: digests of bases."""

from __future__ import annotations

from pathlib import Path

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.documents import load_yaml
from cannery.common.references import full_reference
from cannery.matrix.files import FACTS
from cannery.matrix.project import Project
from cannery.matrix.text import Use, VersionChange, rewrite
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
    unpinned: dict[str, tuple[Base, set[str]]] = {}
    for target in project.matrix().targets.values():
        for base, platform in (
            (target.base, target.platform),
            (target.build_base, f"linux/{building}"),
        ):
            if not base.is_pinned:
                unpinned.setdefault(base.name, (base, set()))[1].add(platform)
    images = {}
    for base, platforms in unpinned.values():
        references = (*base.mirrors, str(full_reference(base.image)))
        digest = digest_of_tag(references, sorted(platforms), ca)
        images[base.name] = f"{base.image}@{digest}"
        print(f"{base.name}: {images[base.name]}")
    if not images:
        console.say("every base that a target uses has a digest")
        return
    if not write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
        return
    before = project.files()
    tops = [load_yaml(text, name, []) for name, text in before.items() if name != FACTS]
    changes: dict[str, list[VersionChange]] = {}
    for name, image in images.items():
        top = next(top for top in tops if name in top.get("bases", ()))
        where = top.place("bases", name, "image")
        use = Use(key="image", version=top["bases"][name]["image"], where=where, targets=())
        changes.setdefault(where.file, []).append(VersionChange(use=use, version=image))
    after = {file: rewrite(text, changes.get(file, ())) for file, text in before.items()}
    project.replace_named(after, before)
    console.say("now run: python build.py render")
