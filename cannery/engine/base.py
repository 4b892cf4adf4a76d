# SPDX-License-Identifier: Apache-2.0
"""Finds the bases of builds: in a registry, or in the engine if no registry can be reached."""

from __future__ import annotations

import json
import os
import platform
import tarfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.archives import opened
from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.errors import (
    CanneryError,
    EngineError,
    FileError,
    Problem,
    file_error,
)
from cannery.common.files import exclusive, read_text, temporary_folder, write_files
from cannery.common.outside import MOST, parse_json
from cannery.common.process import allowed_env, run
from cannery.common.references import full_reference
from cannery.engine import builder as buildx
from cannery.engine import client as engine
from cannery.engine.builder import Builder
from cannery.engine.images import Images, local_images, pull
from cannery.registry.client import locate
from cannery.registry.http import UnreachableError
from cannery.registry.oci import INDEX, Document, manifest_contents


@dataclass(frozen=True, kw_only=True)
class BaseCache:
    """The images that builds have used for bases, in a file below the folder ``state``.

    The user may delete it at any time.
    """

    state: Path

    @property
    def path(self) -> Path:
        return self.state / "bases.json"

    def known(self, base: Base, architecture: str) -> FoundBase | None:
        """The image that was last used for ``base``; None if that is unknown."""
        try:
            known = self._read()[f"{base.image} {architecture}"]
            return FoundBase(
                reference=str(known["reference"]),
                identity=str(known["identity"]),
                origin=Origin(known["origin"]),
            )
        except (LookupError, ValueError, TypeError):
            return None

    def keep(self, base: Base, architecture: str, image: FoundBase) -> None:
        """Write down the image that is used for ``base``."""
        if self.known(base, architecture) == image:
            return
        with exclusive(self.path.with_suffix(".lock")):
            images = {**self._read(), f"{base.image} {architecture}": asdict(image)}
            write_files({self.path: json.dumps(images, indent=1, sort_keys=True) + "\n"})

    def _read(self) -> dict[str, Any]:
        try:
            loaded = parse_json(read_text(self.path))
        except (FileNotFoundError, FileError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}


def building_architecture(builder: str = "", architecture: str = "") -> str:
    """The machine on which images for ``architecture`` are built, both as the engine names them.

    It is that of the node of ``builder`` that builds them, where an empty name is for the default
    builder; or else the engine's. Where neither answers, as for a plan, it is this machine's.
    """
    machine = platform.machine()
    with suppress(CanneryError):
        nodes = buildx.node_platforms(builder)
        building = [node for node in nodes if f"linux/{architecture}" in node] or nodes
        if building:
            return building[0][0].split("/")[1]
        machine, _ = engine.machine_and_runtimes()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def base_names(base: Base, architecture: str) -> tuple[str, ...]:
    """The names by which the engine may have an image that is used for ``base``."""
    tag = base.bootstrap_tag(architecture)
    return (tag,) if base.is_pinned else (base.image, tag)


def expected_base(base: Base, architecture: str, images: Images, notes: BaseCache) -> FoundBase:
    """The expected result of ``Bases.find``, without asking any registry.

    ``images`` are the local ones among ``base_names``.
    """
    known = notes.known(base, architecture)
    if known and known.origin is Origin.REGISTRY:
        return known
    named = FoundBase(reference=base.image, identity=base.image, origin=Origin.REGISTRY)
    return _local_base(base, architecture, images) or named


def _local_base(base: Base, architecture: str, images: Images) -> FoundBase | None:
    """The one of the local ``images`` that is used for ``base`` if no registry can be asked."""
    for name in base_names(base, architecture):
        stand_in = name == base.bootstrap_tag(architecture)
        if stand_in and not base.stand_in:
            continue
        if name in images and images[name].architecture == architecture:
            origin = Origin.STAND_IN if stand_in else Origin.LOCAL
            return FoundBase(reference=name, identity=images[name].id, origin=origin)
    return None


@dataclass
class Bases:
    """Finds the bases of a run's builds, and writes them down. ``ca`` has certificates to trust."""

    builder: Builder
    notes: BaseCache
    ca: Path | None = None
    _found: dict[tuple[str, str], FoundBase] = field(default_factory=dict)
    _unreachable: dict[str, str] = field(default_factory=dict)
    """Registry to why it cannot be reached."""

    def find(self, base: Base, architecture: str) -> FoundBase:
        """The image that a build uses for ``base``.

        Raises:
            EngineError: a registry answers and does not give it; or no registry can be reached, and
                there is no stand-in.
        """
        key = (base.image, architecture)
        if key not in self._found:
            image = self._from_registries(base, architecture)
            if not image:
                hosts = dict.fromkeys(full_reference(name).registry for name in _references(base))
                known = self._unreachable
                reasons = "; ".join(f"{host}: {known[host]}" for host in hosts if host in known)
                image = _stand_in(base, architecture, reasons)
            self.notes.keep(base, architecture, image)
            self._found[key] = image
        return self._found[key]

    def _from_registries(self, base: Base, architecture: str) -> FoundBase | None:
        """The base of the first registry that has it; None if no registry can be reached."""
        problems: list[Problem] = []
        for reference in _references(base):
            try:
                if image := self._pulled(base, reference, architecture):
                    return image
            except CanneryError as error:
                problems += error.problems
                for problem in error.problems:
                    console.say(f"base {base.name}: {problem.what}")
        if problems:
            what = f"base {base.name} ({base.image}) is not available for linux/{architecture}."
            fix = "A stand-in is used only where no registry can be reached."
            raise EngineError([*problems, Problem(what=what, fix=fix)])
        # That of the last build, if the builder still has it.
        known = self.notes.known(base, architecture)
        open_base = not (base.is_pinned or base.only_mirrors)
        if open_base and known and known.origin is Origin.REGISTRY:
            return None if pull(self.builder, known.reference, architecture) else known
        return None

    def _pulled(self, base: Base, reference: str, architecture: str) -> FoundBase | None:
        """The base ``reference``, pulled; None if its registry cannot be reached."""
        host = full_reference(reference).registry
        if host in self._unreachable and not base.is_pinned:
            # What has a digest the builder may have pulled earlier.
            return None
        image = FoundBase(reference=reference, identity=base.image, origin=Origin.REGISTRY)
        unknown: CanneryError | None = None
        if not base.is_pinned:
            try:
                image = _resolved(base, reference, architecture, self.ca)
            except UnreachableError as error:
                if reference in local_images([reference]):
                    # The builder would take it, and ask nobody.
                    self._unreachable[host] = error.problems[0].what
                    return None
                unknown = error
        refusal = pull(self.builder, image.reference, architecture)
        if refusal and refusal.silent:
            self._unreachable[host] = refusal.why
            return None
        if refusal:
            raise EngineError(refusal.problem)
        if unknown:
            what = f"The builder reaches {host}; this machine cannot resolve {reference}."
            fix = "Let this machine reach it, too, or give the base a digest in matrix.yaml."
            raise EngineError([*unknown.problems, Problem(what=what, fix=fix)])
        return image


def look_up(base: Base, architecture: str, notes: BaseCache, ca: Path | None) -> None:
    """Write down the image that ``base``, which has no digest, is now, if a registry answers."""
    for reference in _references(base):
        with suppress(CanneryError):
            notes.keep(base, architecture, _resolved(base, reference, architecture, ca))
            return


def _resolved(base: Base, reference: str, architecture: str, ca: Path | None) -> FoundBase:
    platform = f"linux/{architecture}"
    now = locate([str(full_reference(reference))], [platform], ca, tries=2)
    return FoundBase(
        reference=f"{reference}@{now.digest}",
        # That of one platform, because the image of another may be a new one.
        identity=f"{base.image}@{now.platforms.get(platform, now.digest)}",
        origin=Origin.REGISTRY,
    )


def _references(base: Base) -> tuple[str, ...]:
    if not base.only_mirrors:
        return (*base.mirrors, base.image)
    if not base.mirrors:
        registry = full_reference(base.image).registry
        what = f"base {base.name} ({base.image}): cannery.toml names no mirror of {registry}."
        fix = f"Add it below [mirrors], or build with --bases pulled to ask {registry} itself."
        raise EngineError(Problem(what=what, fix=fix))
    return base.mirrors


def _stand_in(base: Base, architecture: str, why: str) -> FoundBase:
    """An image that the engine has, or one that a program makes; ``why`` no registry is reached."""
    tag = base.bootstrap_tag(architecture)
    if base.only_mirrors:
        what = f"base {base.name} ({base.image}): no mirror of it can be reached ({why})."
        raise EngineError(Problem(what=what, fix="Check [mirrors] in cannery.toml, and retry."))
    if image := _local_base(base, architecture, local_images(base_names(base, architecture))):
        kind = "the stand-in" if image.origin is Origin.STAND_IN else "the local image"
        says = f"base {base.name}: no registry can be reached ({why}); {kind}"
        console.say(f"{says} {image.reference} is used")
        return image
    mirror = "Name a mirror of its registry below [mirrors] in cannery.toml"
    if not base.stand_in:
        what = f"base {base.name} ({base.image}): no registry of it can be reached ({why})."
        program = f"a program that makes a stand-in for {full_reference(base.image).name}"
        raise EngineError(Problem(what=what, fix=f"{mirror}, or {program} below [stand-ins]."))
    console.say(
        f"base {base.name}: {base.stand_in.name} makes a stand-in for {architecture}, because no "
        f"registry can be reached ({why})"
    )
    argv = [str(base.stand_in), base.suite, architecture, tag]
    code, output = run(argv, env=allowed_env("docker"))
    image = None if code else _local_base(base, architecture, local_images([tag]))
    if not image:
        what = f"base {base.name}: {base.stand_in} has not made {tag} ({code}):\n{output.strip()}\n"
        raise EngineError(Problem(what=what, fix=f"{mirror}."))
    for line in output.splitlines():
        console.say(f"base {base.name}: {line}")
    return image


def contexts(bases: Iterable[FoundBase], builder: Builder, folder: Path) -> dict[str, str]:
    """The build contexts of ``bases`` that only the engine has, for a remote ``builder``."""
    if builder.local:
        return {}
    local = {base.reference for base in bases if base.origin is not Origin.REGISTRY}
    return {reference: as_layout(reference, folder) for reference in sorted(local)}


def as_layout(image: str, folder: Path) -> str:
    """``image`` as a build context, for a builder that cannot use the engine's images.

    The image is unpacked below ``folder``, once.
    """
    images = local_images([image])
    if image not in images:
        raise EngineError(f"somebody has removed {image} during this run.")
    place = folder / images[image].id.removeprefix("sha256:")[:12]
    try:
        if not (place / "index.json").is_file():
            with temporary_folder(place.parent) as temporary:
                archive, tree = temporary / "image.tar", temporary / "tree"
                argv = ["docker", "save", "--output", str(archive), image]
                code, output = run(argv)
                if code:
                    raise EngineError(f"the engine could not save {image}:\n{output.strip()}")
                with opened(archive) as layout:
                    layout.extract(tree)
                os.replace(tree, place)
        return f"oci-layout://{place}@{layout_digest(place)}"
    except (tarfile.TarError, ValueError) as error:
        what = f"the engine has saved {image} in a form that is not known: {error}."
        raise EngineError(Problem(what=what, fix="Docker from 25 on saves OCI layouts.")) from error
    except OSError as error:
        raise file_error("write", place, error) from error


def layout_digest(layout: Path) -> str:
    """The digest of the one image in the OCI ``layout``; ValueError if it has no image.

    Raises:
        OSError: it cannot be read.
    """
    with (layout / "index.json").open("rb") as stream:
        index = Document(media_type=INDEX, content=stream.read(MOST + 1))
    contents = manifest_contents(index)
    if len(contents.manifests) != 1:
        raise ValueError(f"{layout} has {len(contents.manifests)} images and not one")
    return contents.manifests[0].digest
