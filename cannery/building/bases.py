# SPDX-License-Identifier: Apache-2.0
"""The bases of targets: those that are expected now, and those in the folder of a bundle.

The machine that makes a bundle builds from it, too, so that both machines ask BuildKit's cache for
the same keys.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cannery.common.bases import Base, FoundBase
from cannery.common.errors import ArtifactError, Problem, file_error
from cannery.common.model import Target
from cannery.engine.base import (
    BaseCache,
    Bases,
    base_names,
    building_architecture,
    expected_base,
    layout_digest,
)
from cannery.engine.images import Images, export_layout
from cannery.image.bake_file import ImageBuild
from cannery.image.content_key import bases_of
from cannery.matrix.project import Project
from cannery.options import BuildOptions


def bases(target: Target, builder: str = "") -> dict[str, tuple[Base, str]]:
    """Build argument to its base, and to the architecture of that base.

    ``builder`` is the name of that of the build, empty for the default one.
    """
    building = {"BUILD_IMAGE": building_architecture(builder, target.docker_arch)}
    return {
        name: (base, building.get(name, target.docker_arch))
        for name, base in bases_of(target).items()
    }


def local_names(target: Target, builder: str) -> list[str]:
    """The names by which the engine may have base images of ``target``, or stand-ins."""
    return [name for base in bases(target, builder).values() for name in base_names(*base)]


def expected_bases(
    project: Project, target: Target, options: BuildOptions, images: Images
) -> dict[str, FoundBase]:
    """Build argument to the base that would be used now, given the local ``images``."""
    needed = bases(target, options.builder)
    if options.bundle:
        return {name: bundled_base(options.bundle, *base) for name, base in needed.items()}
    cache = BaseCache(state=project.state)
    return {name: expected_base(*base, images, cache) for name, base in needed.items()}


def keep_bases(folder: Path, used: Iterable[tuple[Base, str]], finder: Bases) -> None:
    """Write the base images into the bundle's ``folder``, each for its architecture."""
    for base, architecture in used:
        layout = _layout(folder, base, architecture)
        if not layout.exists():
            image = finder.find(base, architecture)
            export_layout(finder.builder, image.reference, architecture, layout)
            BaseCache(state=folder).keep(base, architecture, image)


def bundled_base(folder: Path, base: Base, architecture: str) -> FoundBase:
    """The image that the bundle in ``folder`` has for ``base``."""
    known = BaseCache(state=folder).known(base, architecture)
    if not known:
        what = f"the bundle does not have base {base.name} for linux/{architecture}."
        fix = "Make it on a machine of the same architecture, with this checkout."
        raise ArtifactError(Problem(what=what, fix=fix))
    return known


def layout_contexts(folder: Path, used: Iterable[tuple[Base, str]]) -> dict[str, str]:
    """The build contexts that replace references of bases by the bundle's images."""
    contexts = {}
    for base in used:
        layout = _layout(folder, *base)
        try:
            digest = layout_digest(layout)
        except (OSError, ValueError) as error:
            what = f"{layout} of the bundle is not an image: {error}."
            raise ArtifactError(Problem(what=what, fix="Make the bundle again.")) from error
        contexts[bundled_base(folder, *base).reference] = f"oci-layout://{layout}@{digest}"
    return contexts


def _layout(folder: Path, base: Base, architecture: str) -> Path:
    return folder / "bases" / f"{base.name}-{architecture}"


def with_equal_modes(build: ImageBuild, contexts: dict[str, str], folder: Path) -> ImageBuild:
    """``build`` from copies of its files below ``folder``, and with ``contexts``.

    The modes of files are part of BuildKit's cache keys, and those of a checkout follow the umask
    of whoever has cloned it.
    """
    place = folder / build.id
    try:
        shutil.rmtree(place, ignore_errors=True)
        for source, name in ((build.folder, "image"), (Path(build.contexts["cannery"]), "cannery")):
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    except OSError as error:
        raise file_error("write", place, error) from error
    return replace(
        build,
        folder=place / "image",
        dockerfile=place / "image" / build.dockerfile.name,
        contexts={**build.contexts, **contexts, "cannery": str(place / "cannery")},
    )
