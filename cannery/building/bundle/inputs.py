# SPDX-License-Identifier: Apache-2.0
"""What builds take out of the folder of a bundle: bases, and contexts that give equal cache keys.

The machine that makes a bundle builds from it, too, so that both machines ask BuildKit's cache for
the same keys.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cannery.common.bases import Base, FoundBase
from cannery.common.errors import ArtifactError, Problem, file_error
from cannery.common.outside import parse_json
from cannery.engine.base import BaseCache, Bases
from cannery.engine.images import export_layout
from cannery.image.bake_file import ImageBuild

BASES = "bases"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def keep_bases(folder: Path, used: Iterable[tuple[Base, str]], bases: Bases) -> None:
    """Write the base images into the bundle's ``folder``, each for its architecture."""
    for base, architecture in used:
        layout = _layout(folder, base, architecture)
        if not layout.exists():
            base_image = bases.find(base, architecture)
            export_layout(bases.builder, base_image.reference, architecture, layout)
            BaseCache(state=folder).keep(base, architecture, base_image)


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
    return {
        bundled_base(folder, *each).reference: _context(_layout(folder, *each)) for each in used
    }


def _layout(folder: Path, base: Base, architecture: str) -> Path:
    return folder / BASES / f"{base.name}-{architecture}"


def _context(layout: Path) -> str:
    with suppress(OSError, ValueError, LookupError, TypeError):
        [manifest] = parse_json((layout / "index.json").read_bytes())["manifests"]
        if _DIGEST.fullmatch(manifest["digest"]):
            return f"oci-layout://{layout}@{manifest['digest']}"
    what = f"{layout} of the bundle is not an image."
    raise ArtifactError(Problem(what=what, fix="Make the bundle again."))


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
