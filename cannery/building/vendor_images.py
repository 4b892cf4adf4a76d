# SPDX-License-Identifier: Apache-2.0
"""Takes CANN out of the vendor's images, for the targets whose first source that is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cannery.building.ready import Ready
from cannery.building.selection import Selection
from cannery.common import console
from cannery.common.errors import CanneryError
from cannery.common.references import digest_in
from cannery.common.sources import CannSource
from cannery.engine.bake import BakeSettings, read_facts
from cannery.image.bake_file import ImageBuild
from cannery.image.vendor_image import (
    check_facts,
    image_of,
    left_out,
    vendor_contexts,
    vendor_files,
)
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
    order = order or ([] if options.simulate else [*settings.order])
    targets, failures = [], {}
    for target in selection.targets:
        found = target
        try:
            image = image_of(target, order, options.artifacts, servers=bool(settings.servers))
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
        found = locate((*mirrors, reference), target.platform, self.options.ca)
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
