# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of buildx: build contexts, arguments and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cannery.building import bases, git
from cannery.building.plan import Action, Plan, Step
from cannery.common import console
from cannery.common.bases import Base, FoundBase
from cannery.common.errors import ArtifactError, EngineError
from cannery.common.files import Hashes, now
from cannery.common.model import Target
from cannery.common.references import digest_in, image_tag
from cannery.engine import base
from cannery.engine.bake import BakeSettings, read_facts
from cannery.engine.builder import Builder
from cannery.engine.images import local_images
from cannery.engine.simulator import Simulated, simulated
from cannery.fetch.artifacts import check_artifacts
from cannery.fetch.needs import files_of_build
from cannery.image import vendor_image as vendor
from cannery.image.bake_file import Caches, ImageBuild, bake_file
from cannery.image.content_key import LABEL, bases_labels, origin_labels
from cannery.image.plan import SIMULATED_ARGUMENT, SIMULATED_LABEL
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.settings import at_mirrors
from cannery.options import BuildOptions
from cannery.registry.client import locate


@dataclass
class Assembly:
    """Makes the builds of a run, and finds their bases."""

    project: Project
    matrix: Matrix
    options: BuildOptions
    builder: Builder

    @cached_property
    def settings(self) -> BakeSettings:
        return BakeSettings(
            builder=self.builder,
            source=self.options.index,
            caches=Caches(sources=self.options.cache_from, destinations=self.options.cache_to),
            logs=self.project.state / "logs",
        )

    def image(self, step: Step, made: Simulated | None) -> ImageBuild:
        """The build of one image, with the simulated files if those were ``made``.

        Raises:
            ArtifactError, FileError: a file is missing or invalid.
            EngineError, BuildError: a base or the image with CANN is not available.
        """
        target = step.target
        folder = made.artifacts if made else self.options.artifacts
        hashes = self._artifact_hashes(target, folder)
        needed = bases.bases(target, self.options.builder)
        used = {name: self._base(*one) for name, one in needed.items()}
        contexts = base.contexts(used.values(), self.builder, self.project.state / "bases")
        build = self._build(step, used, contexts, folder, hashes)
        if self.options.bundle:
            layouts = bases.layout_contexts(self.options.bundle, needed.values())
            build = bases.with_equal_modes(build, layouts, self.project.state / "contexts")
        if target.vendor_image:
            build = self._with_vendor_image(target, build)
        labels = origin_labels(
            key=build.labels[LABEL],
            commit=self._origin[0],
            origin=self._origin[1],
            created=now(),
        )
        return replace(build, labels={**build.labels, **labels})

    def find_bases(self, targets: Iterable[Target]) -> None:
        """Find the bases of ``targets``, except those of the building machine.

        ``image`` raises the error of a base that there is not.
        """
        for target in targets:
            needed = bases.bases(target, self.options.builder)
            building = needed.pop("BUILD_IMAGE")
            for base_of_target in needed.values():
                if base_of_target != building:
                    with suppress(EngineError, ArtifactError):
                        self._base(*base_of_target)

    def print_file(self, plan: Plan) -> str:
        """The bake file of ``plan``. Nothing is built or pulled."""
        builds = []
        for step in plan.with_action(Action.BUILD):
            target, folder, hashes = step.target, self.options.artifacts, dict[str, str]()
            if self.options.simulate:
                folder = simulated(self.project, target).artifacts
            try:
                hashes = self._artifact_hashes(target, folder)
            except ArtifactError:
                console.say(f"{target.id}: {folder} does not exist yet; a build creates it")
            images = local_images(bases.local_names(target, self.options.builder))
            used = bases.expected_bases(self.project, target, self.options, images)
            contexts = {}
            if target.vendor_image:
                contexts = vendor.vendor_contexts(target.vendor_image)
            builds.append(self._build(step, used, contexts, folder, hashes))
        if not builds:
            console.say("nothing to build; --force prints all selected targets")
        return bake_file(builds, self.settings.caches, self.options.index)

    def _artifact_hashes(self, target: Target, folder: Path) -> dict[str, str]:
        simulate = self.options.simulate
        hashes = Hashes(self.project.state / "hashes.json")
        files = files_of_build(target, simulate=simulate, with_cann=self.options.with_cann)
        checked = check_artifacts(target, folder, files, simulated=simulate, hash_of=hashes.sha256)
        hashes.keep()
        return checked

    def _base(self, of: Base, architecture: str) -> FoundBase:
        if self.options.bundle:
            return bases.bundled_base(self.options.bundle, of, architecture)
        return self._bases.find(of, architecture)

    @cached_property
    def _bases(self) -> base.Bases:
        cache = base.BaseCache(state=self.project.state)
        return base.Bases(builder=self.builder, notes=cache, ca=self.options.index.ca)

    @cached_property
    def _origin(self) -> tuple[str, str]:
        return git.commit(self.project.root), git.origin(self.project.root)

    def _with_vendor_image(self, target: Target, build: ImageBuild) -> ImageBuild:
        reference = target.vendor_image
        mirrors = at_mirrors(reference, self.project.settings().mirrors)
        image = locate((*mirrors, reference), [target.platform], self.options.ca).reference
        console.say(f"{target.id}: CANN {target.cann.version} is taken from {image}")
        program = hashlib.sha256("".join(vendor.vendor_files().values()).encode()).hexdigest()
        name = f"{digest_in(reference)[7:19]}-{target.docker_arch}-{program[:8]}.json"
        kept = self.project.state / "vendor-images" / name
        contexts = {**build.contexts, **vendor.vendor_contexts(image)}
        if not Path(contexts["artifacts"]).is_dir():
            del contexts["artifacts"]  # with CANN out of an image, nothing else may be needed
        build = replace(build, contexts=contexts)
        facts = read_facts(build, image, self.settings, kept)
        vendor.check_facts(target, image, facts, simulated=self.options.simulate)
        if sentence := vendor.left_out(facts):
            console.say(f"{target.id}: {sentence}")
        return build

    def _build(
        self,
        step: Step,
        used: Mapping[str, FoundBase],
        contexts: Mapping[str, str],
        artifacts: Path,
        hashes: Mapping[str, str],
    ) -> ImageBuild:
        target, simulate = step.target, self.options.simulate
        folder = self.project.images / target.id
        arguments = {name: image.reference for name, image in used.items()}
        arguments |= {f"{component.upper()}_SHA256": value for component, value in hashes.items()}
        labels = {
            SIMULATED_LABEL: str(simulate).lower(),
            LABEL: step.content_key(self.options, used),
            **bases_labels(target.base, used),
            **vendor.image_labels(target),
        }
        # With the same CANN, or with the same torch and Python.
        related = (
            other.id
            for other in self.matrix.targets.values()
            if other.id != target.id
            and other.platform == target.platform
            and (
                other.cann.version == target.cann.version
                or (other.torch, other.python.version) == (target.torch, target.python.version)
            )
        )
        return ImageBuild(
            id=target.id,
            tag=image_tag(target.id, simulate=simulate),
            related_tags=tuple(image_tag(name, simulate=simulate) for name in related),
            dockerfile=folder / "Dockerfile",
            # images/ has the Dockerfile that installs the vendor's packages.
            text=step.rendered.files["Dockerfile"] if target.vendor_image else "",
            folder=folder,
            platform=target.platform,
            contexts={
                **contexts,
                "artifacts": str(artifacts),
                "cannery": str(self.project.build_context),
            },
            arguments={**arguments, **({SIMULATED_ARGUMENT: "true"} if simulate else {})},
            labels=labels,
            no_cache=self.options.force,
        )
