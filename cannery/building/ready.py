# SPDX-License-Identifier: Apache-2.0
"""A target that can be built: its bases, the content key of its image, and the one that is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cannery.building.bundle.inputs import bundled_base
from cannery.building.plan import Local
from cannery.common.bases import Base, FoundBase
from cannery.common.model import Target
from cannery.engine.base import (
    BaseCache,
    base_names,
    building_architecture,
    expected_base,
)
from cannery.engine.images import Images
from cannery.image import vendor_image
from cannery.image.content_key import (
    LABEL,
    SIMULATOR,
    KeyInputs,
    bases_of,
    context_files,
    used_bases,
)
from cannery.image.layers import Layer
from cannery.image.render import Rendered
from cannery.image.vendor_image import vendor_files
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.image_checks import checks_digest, expected
from cannery.verify.results import report_text
from cannery.verify.verification import passed_on


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A target that can be built. ``context`` has the files that all targets share, by name.

    ``hashes`` maps each component to the sha256 of its file; for simulated packages it has the
    hash of their recipe.
    """

    rendered: Rendered
    context: Mapping[str, str]
    hashes: Mapping[str, str]

    @property
    def target(self) -> Target:
        return self.rendered.target

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.rendered.layers

    @property
    def context_files(self) -> dict[str, str]:
        """Name to text of the files of both build contexts."""
        taken = vendor_files() if self.target.vendor_image else {}
        return {**context_files(self.rendered.files, self.context), **taken}

    @property
    def committed(self) -> KeyInputs:
        """What the image is built from by the committed files, the same on every machine."""
        simulator = self.hashes.get(SIMULATOR, "")
        return KeyInputs.committed(self.target, self.context_files, simulator=simulator)


def bases(target: Target) -> dict[str, tuple[Base, str]]:
    """Build argument to its base, and to the architecture of that base."""
    building = {"BUILD_IMAGE": building_architecture()}
    return {
        name: (each, building.get(name, target.docker_arch))
        for name, each in bases_of(target).items()
    }


def local_names(target: Target) -> list[str]:
    """The names by which the engine may have base images of ``target``, or stand-ins."""
    return [name for each in bases(target).values() for name in base_names(*each)]


def expected_bases(
    project: Project, target: Target, options: BuildOptions, images: Images
) -> dict[str, FoundBase]:
    """Build argument to the base that would be used now, given the local ``images``."""
    if options.bundle:
        return {name: bundled_base(options.bundle, *each) for name, each in bases(target).items()}
    notes = BaseCache(state=project.state)
    return {name: expected_base(*each, images, notes) for name, each in bases(target).items()}


def content_key(ready: Ready, options: BuildOptions, used: Mapping[str, FoundBase]) -> str:
    """The content key of an image on the bases ``used``, by their build arguments."""
    return KeyInputs.from_target(
        ready.target,
        ready.context_files,
        identify_file=lambda name, _: ready.hashes[name],
        identify_base=lambda name, _: used[name].identity,
        simulator=ready.hashes[SIMULATOR] if options.simulate else "",
    ).key


def local_state(project: Project, target: Target, name: str, images: Images) -> Local:
    """The state of the image ``name`` of ``target`` on this machine, given the local ``images``."""
    if name not in images:
        return Local()
    image = images[name]
    report = report_text(project, name)
    passed = passed_on(
        report,
        image_id=image.id,
        checks=checks_digest(project),
        expected=lambda kind: expected(project, target, kind),
    )
    return Local(
        image=image.id,
        key=image.labels.get(LABEL, ""),
        vendor_image=image.labels.get(vendor_image.LABEL, ""),
        bases=used_bases(image.labels),
        passed=passed,
    )
