# SPDX-License-Identifier: Apache-2.0
"""The bases that a build is expected to use: a plan asks the engine for them and no registry."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.errors import FileError
from cannery.common.files import exclusive, read_text, write_files
from cannery.engine.images import Images, LocalImage

_FILE = "bases.json"


@dataclass(frozen=True, kw_only=True)
class Notes:
    """Which images builds have used for bases, as it is written down below the folder ``state``.

    The user may delete it at any time.
    """

    state: Path

    @property
    def path(self) -> Path:
        return self.state / _FILE

    def known(self, base: Base, architecture: str) -> FoundBase | None:
        """What was found last for ``base``; None if that is unknown."""
        try:
            known = self._read()[_key(base, architecture)]
            return FoundBase(
                reference=str(known["reference"]),
                identity=str(known["identity"]),
                origin=Origin(known["origin"]),
            )
        except (LookupError, ValueError, TypeError):
            return None

    def keep(self, base: Base, architecture: str, found: FoundBase) -> None:
        """Write down what was found.

        Raises:
            FileError: it cannot be written.
        """
        if self.known(base, architecture) == found:
            return
        with exclusive(self.path.with_suffix(".lock")):
            every = {**self._read(), _key(base, architecture): asdict(found)}
            write_files({self.path: json.dumps(every, indent=1, sort_keys=True) + "\n"})

    def _read(self) -> dict[str, Any]:
        try:
            loaded = json.loads(read_text(self.path))
        except (FileNotFoundError, FileError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}


def _key(base: Base, architecture: str) -> str:
    return f"{base.image} {architecture}"


def building_architecture() -> str:
    """The architecture of this machine, as the engine names it."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def base_names(base: Base, architecture: str) -> tuple[str, ...]:
    """The names by which the engine may have an image that is used for ``base``."""
    tag = base.bootstrap_tag(architecture)
    return (tag,) if base.is_pinned else (base.image, tag)


def expected_base(base: Base, architecture: str, images: Images, notes: Notes | None) -> FoundBase:
    """What ``Bases.find`` is expected to find, without asking any registry.

    ``images`` are the local ones among ``base_names``. Without ``notes`` no registry will be asked.
    """
    known = notes.known(base, architecture) if notes and not base.snapshot else None
    if known and known.origin is Origin.REGISTRY:
        return known
    named = FoundBase(reference=base.image, identity=base.image, origin=Origin.REGISTRY)
    return local_base(base, architecture, images) or named


def local_base(base: Base, architecture: str, images: Images) -> FoundBase | None:
    """The one of the local ``images`` that is used for ``base`` if no registry can be asked."""
    tag = base.bootstrap_tag(architecture)
    if base.snapshot:
        found = FoundBase(reference=tag, identity=base.image, origin=Origin.SNAPSHOT)
        return found if _is_for(architecture, images.get(tag)) else None
    for name in base_names(base, architecture):
        if _is_for(architecture, images.get(name)):
            origin = Origin.STAND_IN if name == tag else Origin.LOCAL
            return FoundBase(reference=name, identity=images[name].id, origin=origin)
    return None


def _is_for(architecture: str, image: LocalImage | None) -> bool:
    return image is not None and image.architecture == architecture
