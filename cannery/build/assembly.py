# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of buildx: build contexts, arguments and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from cannery.build import git
from cannery.build.plan import Action
from cannery.build.planning import Planned
from cannery.build.ready import Ready, base_names, bases, expected_key
from cannery.build.selection import Selection, caches_of, index_of
from cannery.build.vendor_images import VendorImages
from cannery.common import console
from cannery.common.bases import Base
from cannery.common.clock import now
from cannery.common.errors import ArtifactError, EngineError
from cannery.common.file_hashes import Hashes
from cannery.common.image_names import image_tag
from cannery.common.model import Matrix, Target
from cannery.engine import base
from cannery.engine.bake import BakeSettings
from cannery.engine.builder import Builder
from cannery.engine.images import local_images
from cannery.engine.simulator import Simulated, simulated
from cannery.fetch.artifacts import check_artifacts
from cannery.fetch.needed_files import files_of_build
from cannery.image.bake_file import ImageBuild, bake_file
from cannery.image.content_key import LABEL
from cannery.image.origin_labels import origin_labels
from cannery.image.simulated import ARGUMENT as SIMULATED
from cannery.image.simulated import LABEL as SIMULATED_LABEL
from cannery.image.vendor_image import image_labels, vendor_stages
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions


@dataclass
class Assembly:
    """Makes the builds of a run, and pulls or bootstraps missing bases."""

    project: Project
    matrix: Matrix
    options: BuildOptions
    builder: Builder
    _references: dict[tuple[str, str], str] = field(default_factory=dict)

    def image(self, ready: Ready, made: Simulated | None) -> ImageBuild:
        """The build of one image, with the simulated files if those were ``made``.

        Raises:
            ArtifactError, FileError: as ``check_artifacts`` and ``VendorImages.stages``.
            EngineError, BuildError: as ``VendorImages.stages``; or a base is missing and can
                neither be pulled nor bootstrapped.
        """
        folder = made.artifacts if made else self.options.artifacts
        hashes = Hashes(self.project.state / "hashes.json")
        files = files_of_build(
            ready.target, simulate=self.options.simulate, with_cann=self.options.with_cann
        )
        found = check_artifacts(
            ready.target, folder, files, simulated=self.options.simulate, hash_of=hashes.of
        )
        hashes.keep()
        ensured = {name: self._ensured(*each) for name, each in bases(ready.target).items()}
        used, contexts = _used_bases(ready.target, ensured)
        contexts |= {"artifacts": str(folder), "cannery": str(self.project.build_context)}
        if not self.builder.local:
            contexts |= self._foreign(used.values())
        # Computed last, because pulling or bootstrapping decides the bases.
        key = expected_key(ready, self.options, local_images(base_names(ready.target)))
        arguments = {**used, **_sha_arguments(found)}
        if self.options.gateway:
            # Arguments that every build knows; they are in no layer, history or cache key.
            arguments |= dict.fromkeys(("http_proxy", "https_proxy"), self.options.gateway)
        build = _image(self, ready, arguments=arguments, contexts=contexts, key=key)
        if ready.target.vendor_image:
            build = replace(build, stages=self._vendor_images.stages(ready, build))
        labels = origin_labels(key=key, commit=self._commit, origin=self._origin, created=now())
        return replace(build, labels={**build.labels, **labels})

    def find_bases(self, targets: Iterable[Target]) -> None:
        """Pull or bootstrap missing bases of ``targets``, except those of the building machine.

        ``image`` raises the error of a base that can be neither pulled nor bootstrapped.
        """
        for target in targets:
            needed = bases(target)
            building = needed.pop("BUILD_IMAGE")
            for each in needed.values():
                if each != building:
                    with suppress(EngineError):
                        self._ensured(*each)

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

    def _ensured(self, each: Base, architecture: str) -> str:
        key = (each.name, architecture)
        if key not in self._references:
            self._references[key] = base.ensure_base(each, architecture)
        return self._references[key]

    def _foreign(self, references: Iterable[str]) -> dict[str, str]:
        """Build contexts for bootstrapped bases, which only this machine's engine has."""
        folder = self.project.state / "bases"
        return {
            each: base.as_layout(each, folder) for each in sorted({*references}) if "@" not in each
        }


def printed(project: Project, selection: Selection, options: BuildOptions, planned: Planned) -> str:
    """The bake file of ``planned``. Nothing is built, pulled or bootstrapped.

    Raises:
        EngineError: the engine does not answer.
    """
    assembly = Assembly(project, selection.matrix, options, Builder(name="", local=True))
    hashes = Hashes(project.state / "hashes.json")
    builds = []
    for step in planned.plan.of(Action.BUILD):
        ready = planned.ready[step.id]
        target = ready.target
        folder = simulated(project, target).artifacts if options.simulate else options.artifacts
        found: dict[str, str] = {}
        try:
            files = files_of_build(target, simulate=options.simulate, with_cann=options.with_cann)
            found = check_artifacts(
                target, folder, files, simulated=options.simulate, hash_of=hashes.of
            )
        except ArtifactError:
            console.say(f"{target.id}: {folder} does not exist yet; a build creates it")
        images = local_images(base_names(target))
        named = {name: base.reference(*each, images) for name, each in bases(target).items()}
        used, contexts = _used_bases(target, named)
        arguments = {**used, **_sha_arguments(found)}
        contexts |= {"artifacts": str(folder), "cannery": str(project.build_context)}
        build = _image(assembly, ready, arguments=arguments, contexts=contexts, key=step.key)
        if target.vendor_image:
            build = replace(build, stages=vendor_stages(ready.layers, target.vendor_image))
        builds.append(build)
    if not builds:
        console.say("nothing to build; --force prints all selected targets")
    source = index_of(options)
    return bake_file(builds, caches_of(options), ca=source.ca, index=bool(source.index_url))


def _used_bases(
    target: Target, references: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The build arguments for bases with the local ``references``, and the contexts of mirrors."""
    arguments: dict[str, str] = {}
    contexts: dict[str, str] = {}
    for name, (each, _) in bases(target).items():
        found = base.mirrored(each, references[name])
        contexts |= found
        arguments[name] = each.image if found else references[name]
    return arguments, contexts


def _image(
    assembly: Assembly,
    ready: Ready,
    *,
    arguments: dict[str, str],
    contexts: dict[str, str],
    key: str,
) -> ImageBuild:
    target, simulate = ready.target, assembly.options.simulate
    folder = assembly.project.images / target.id
    return ImageBuild(
        id=target.id,
        tag=image_tag(target.id, simulate=simulate),
        related_tags=tuple(
            image_tag(each.id, simulate=simulate) for each in _related(target, assembly.matrix)
        ),
        dockerfile=folder / "Dockerfile",
        folder=folder,
        platform=target.platform,
        contexts=contexts,
        arguments={**arguments, **({SIMULATED: "true"} if simulate else {})},
        labels={SIMULATED_LABEL: str(simulate).lower(), LABEL: key, **image_labels(target)},
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
