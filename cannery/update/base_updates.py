# SPDX-License-Identifier: Apache-2.0
"""``build.py update --bases``: digests of bases."""

from __future__ import annotations

from pathlib import Path

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import Span
from cannery.common.references import full_reference
from cannery.matrix.project import Project
from cannery.matrix.text import MatrixText, Use, VersionChange, rewrite
from cannery.registry.client import locate


def update_bases(
    project: Project, *, building: str, write: bool, ca: Path | None
) -> dict[str, str]:
    """The images that registries have for bases without a digest; with ``write`` they are kept.

    ``building`` is the architecture of the building machine, for which build bases are.
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
        digest = locate(references, sorted(platforms), ca).digest
        images[base.name] = f"{base.image}@{digest}"
    if not images:
        console.say("every base that a target uses has a digest")
        return images
    if not write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
        return images
    before = project.files()
    text = MatrixText(before)
    changes: dict[str, list[VersionChange]] = {}
    files = {name: next(text.nodes(("bases", name, "image")))[0] for name in images}
    # What is added to matrix.yaml moves the places in it.
    for name, image in sorted(images.items(), key=lambda each: not text.is_tools(files[each[0]])):
        file, _, node = next(text.nodes(("bases", name, "image")))
        if text.is_tools(file):
            text.add(("bases",), [f'{name}: {{extend: {{image: "{image}"}}}}'])
            continue
        mark = node.start_mark
        where = Span(file=file, line=mark.line + 1, column=mark.column + 1)
        use = Use(key="image", version=str(node.value), where=where, targets=())
        changes.setdefault(file, []).append(VersionChange(use=use, version=image))
    after = {file: rewrite(old, changes.get(file, ())) for file, old in text.files.items()}
    project.replace_named(after, before)
    console.say("now run: python build.py render")
    return images
