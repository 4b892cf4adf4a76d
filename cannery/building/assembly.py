# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of buildx: build contexts, arguments and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cannery.building import git
from cannery.building.bundle.inputs import bundled_base, layout_contexts, with_equal_modes
from cannery.building.plan import Action
from cannery.building.planning import Planned, Selection, caches_of, index_of
from cannery.building.ready import Ready, bases, content_key, expected_bases, local_names
from cannery.common import console
from cannery.common.bases import Base, CannSource, FoundBase
from cannery.common.errors import ArtifactError, CanneryError, EngineError
from cannery.common.files import Hashes, now
from cannery.common.model import Target
from cannery.common.references import digest_in, image_tag
from cannery.engine import base
from cannery.engine.bake import BakeSettings, read_facts
from cannery.engine.base import BaseCache
from cannery.engine.builder import Builder
from cannery.engine.images import local_images
from cannery.engine.simulator import Simulated, simulated
from cannery.fetch.artifacts import check_artifacts
from cannery.fetch.needs import files_of_build
from cannery.image.bake_file import ImageBuild, bake_file
from cannery.image.content_key import LABEL, bases_labels, origin_labels
from cannery.image.plan import SIMULATED_ARGUMENT, SIMULATED_LABEL
from cannery.image.vendor_image import (
    check_facts,
    image_labels,
    image_of,
    left_out,
    vendor_contexts,
    vendor_files,
)
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.settings import Settings, at_mirrors
from cannery.options import BuildOptions
from cannery.registry.client import locate


def with_images(
    selection: Selection, options: BuildOptions, settings: Settings
) -> tuple[Selection, Mapping[str, CanneryError]]:
    """``selection`` with the images from which its targets take CANN.

    Also returns the errors of targets that can only take it from an image and have none.
    """
    # Without a source by name, --simulate simulates CANN, too.
    order = [CannSource(name) for name in options.sources]
    order = order or ([] if options.simulate else [*settings.sources.order])
    targets, failures = [], {}
    for target in selection.targets:
        found = target
        try:
            image = image_of(
                target, order, options.artifacts, servers=bool(settings.sources.servers)
            )
            found = replace(target, vendor_image=image)
        except CanneryError as error:
            failures[target.id] = error
        targets.append(found)
    return replace(selection, targets=tuple(targets)), failures


@dataclass(frozen=True, kw_only=True)
class VendorImages:
    """Finds the images that CANN is taken from, and looks at each before it is used."""

    project: Project
    options: BuildOptions
    settings: BakeSettings

    def taking(self, ready: Ready, build: ImageBuild) -> ImageBuild:
        """``build`` with the build contexts that it takes the CANN of ``ready`` from."""
        target, reference = ready.target, ready.target.vendor_image
        mirrors = at_mirrors(reference, self.project.settings().mirrors)
        found = locate((*mirrors, reference), [target.platform], self.options.ca).reference
        console.say(f"{target.id}: CANN {target.cann.version} is taken from {found}")
        program = hashlib.sha256("".join(vendor_files().values()).encode()).hexdigest()
        name = f"{digest_in(reference)[7:19]}-{target.docker_arch}-{program[:8]}.json"
        kept = self.project.state / "vendor-images" / name
        build = replace(build, contexts={**build.contexts, **vendor_contexts(found)})
        facts = read_facts(build, found, self.settings, kept)
        check_facts(target, found, facts, simulated=self.options.simulate)
        if sentence := left_out(facts):
            console.say(f"{target.id}: {sentence}")
        return build


@dataclass
class Assembly:
    """Makes the builds of a run, and finds their bases."""

    project: Project
    matrix: Matrix
    options: BuildOptions
    builder: Builder

    def image(self, ready: Ready, made: Simulated | None) -> ImageBuild:
        """The build of one image, with the simulated files if those were ``made``.

        Raises:
            ArtifactError, FileError: as ``check_artifacts`` and ``VendorImages.taking``.
            EngineError, BuildError: as ``VendorImages.taking``; or there is no base.
        """
        folder = made.artifacts if made else self.options.artifacts
        hashes = Hashes(self.project.state / "hashes.json")
        files = files_of_build(
            ready.target, simulate=self.options.simulate, with_cann=self.options.with_cann
        )
        found = check_artifacts(
            ready.target, folder, files, simulated=self.options.simulate, hash_of=hashes.sha256
        )
        hashes.keep()
        used = {name: self._base(*each) for name, each in bases(ready.target).items()}
        contexts = base.contexts(used.values(), self.builder, self.project.state / "bases")
        build = _image(self, ready, used, (folder, _sha_arguments(found), contexts))
        if self.options.bundle:
            layouts = layout_contexts(self.options.bundle, bases(ready.target).values())
            build = with_equal_modes(build, layouts, self.project.state / "contexts")
        if ready.target.vendor_image:
            build = self._vendor_images.taking(ready, build)
        key = build.labels[LABEL]
        labels = origin_labels(key=key, commit=self._commit, origin=self._origin, created=now())
        return replace(build, labels={**build.labels, **labels})

    def find_bases(self, targets: Iterable[Target]) -> None:
        """Find the bases of ``targets``, except those of the building machine.

        ``image`` raises the error of a base that there is not.
        """
        for target in targets:
            needed = bases(target)
            building = needed.pop("BUILD_IMAGE")
            for each in needed.values():
                if each != building:
                    with suppress(EngineError, ArtifactError):
                        self._base(*each)

    def _base(self, of: Base, architecture: str) -> FoundBase:
        if self.options.bundle:
            return bundled_base(self.options.bundle, of, architecture)
        return self._bases.find(of, architecture)

    @cached_property
    def _vendor_images(self) -> VendorImages:
        settings = BakeSettings(
            builder=self.builder,
            source=index_of(self.options),
            caches=caches_of(self.options),
            logs=self.project.state / "logs",
        )
        return VendorImages(project=self.project, options=self.options, settings=settings)

    @cached_property
    def _commit(self) -> str:
        return git.commit(self.project.root)

    @cached_property
    def _origin(self) -> str:
        return git.origin(self.project.root)

    @cached_property
    def _bases(self) -> base.Bases:
        return base.Bases(
            builder=self.builder,
            notes=BaseCache(state=self.project.state),
            ca=index_of(self.options).ca,
        )


def printed(project: Project, selection: Selection, options: BuildOptions, planned: Planned) -> str:
    """The bake file of ``planned``. Nothing is built or pulled."""
    assembly = Assembly(project, selection.matrix, options, Builder(name="", local=True))
    hashes = Hashes(project.state / "hashes.json")
    builds = []
    for step in planned.plan.with_action(Action.BUILD):
        ready = planned.ready[step.id]
        target = ready.target
        folder = simulated(project, target).artifacts if options.simulate else options.artifacts
        found: dict[str, str] = {}
        try:
            files = files_of_build(target, simulate=options.simulate, with_cann=options.with_cann)
            found = check_artifacts(
                target, folder, files, simulated=options.simulate, hash_of=hashes.sha256
            )
        except ArtifactError:
            console.say(f"{target.id}: {folder} does not exist yet; a build creates it")
        images = local_images(local_names(target))
        used = expected_bases(project, target, options, images)
        build = _image(assembly, ready, used, (folder, _sha_arguments(found), {}))
        if target.vendor_image:
            contexts = {**build.contexts, **vendor_contexts(target.vendor_image)}
            build = replace(build, contexts=contexts)
        builds.append(build)
    if not builds:
        console.say("nothing to build; --force prints all selected targets")
    source = index_of(options)
    return bake_file(builds, caches_of(options), ca=source.ca, index=bool(source.index_url))


def _image(
    assembly: Assembly,
    ready: Ready,
    used: Mapping[str, FoundBase],
    given: tuple[Path, Mapping[str, str], Mapping[str, str]],
) -> ImageBuild:
    """The build on the bases ``used``; ``given`` are a folder of files, arguments and contexts."""
    target, simulate = ready.target, assembly.options.simulate
    folder = assembly.project.images / target.id
    artifacts, arguments, contexts = given
    own = {"artifacts": str(artifacts), "cannery": str(assembly.project.build_context)}
    names = {name: each.reference for name, each in used.items()}
    key = content_key(ready, assembly.options, used)
    labels = {SIMULATED_LABEL: str(simulate).lower(), LABEL: key, **bases_labels(target.base, used)}
    return ImageBuild(
        id=target.id,
        tag=image_tag(target.id, simulate=simulate),
        related_tags=tuple(
            image_tag(each.id, simulate=simulate) for each in _related(target, assembly.matrix)
        ),
        dockerfile=folder / "Dockerfile",
        # images/ has the Dockerfile that installs the vendor's packages.
        text=ready.rendered.files["Dockerfile"] if target.vendor_image else "",
        folder=folder,
        platform=target.platform,
        contexts={**contexts, **own},
        arguments={**names, **arguments, **({SIMULATED_ARGUMENT: "true"} if simulate else {})},
        labels={**labels, **image_labels(target)},
        no_cache=assembly.options.force,
    )


def _related(target: Target, matrix: Matrix) -> list[Target]:
    """The other targets with the same CANN, or with the same torch and Python."""
    own = (target.cann.version, target.torch, target.python.version)
    return [
        each
        for each in matrix.targets.values()
        if each.id != target.id
        and each.platform == target.platform
        and (each.cann.version == own[0] or (each.torch, each.python.version) == own[1:])
    ]


def _sha_arguments(hashes: dict[str, str]) -> dict[str, str]:
    return {f"{component.upper()}_SHA256": digest for component, digest in hashes.items()}
