# SPDX-License-Identifier: Apache-2.0
"""A build that takes CANN out of the vendor's image, and when it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.building import assembly, running
from cannery.building.planning import make_plan, with_images
from cannery.building.running import build_all
from cannery.common.errors import ArtifactError, CanneryError, EngineError, PublishError
from cannery.image.bake_file import ImageBuild
from cannery.image.vendor_image import LABEL, VendorFacts
from cannery.publish.push_checks import PushOptions, candidates
from cannery.registry.client import LocatedImage
from tests.unit.image.test_vendor_image import FACTS, IMAGE
from tests.unit.world import World, make_world

TAKEN = ("toolkit", "kernels", "nnal")
MIRROR = IMAGE.replace("quay.example", "mirror.test")


@dataclass
class Vendor:
    """The vendor's image and the registries, as far as a build sees them."""

    world: World
    facts: VendorFacts = FACTS
    asked: list[str] = field(default_factory=list)
    gone: bool = False
    builds: list[ImageBuild] = field(default_factory=list)

    def locate(self, references: Sequence[str], platforms: object, _: object) -> LocatedImage:
        assert platforms == ["linux/arm64"]
        self.asked += references
        if self.gone:
            raise EngineError("no registry has it")
        return LocatedImage(reference=references[0], digest="", platforms={})

    def read(self, build: ImageBuild, reference: str, _: object, kept: Path) -> VendorFacts:
        assert build.contexts["vendor"] == f"docker-image://{reference}"
        assert reference == self.asked[0]
        assert kept.parent.name == "vendor-images"
        return self.facts

    def bake(self, builds: Sequence[ImageBuild], *rest: Any) -> Any:
        self.builds += builds
        return self.world.bake(builds, *rest)

    def run(self, *sources: str, names: Sequence[str] = ("full",), **more: Any) -> None:
        project = self.world.checkout.project
        chosen = replace(self.world.selection(names), matrix=project.matrix())
        targets = tuple(chosen.matrix.targets[name] for name in names)
        options = self.world.options(sources=sources, **more)
        selection = with_images(replace(chosen, targets=targets), options, project.settings())
        build_all(project, selection, options, make_plan(project, selection, options))


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vendor:
    """CANN is in no folder, and cannery.toml names an image."""
    world = make_world(tmp_path, monkeypatch)
    target = world.checkout.matrix.targets["full"]
    for component in TAKEN:
        (world.artifacts / target.artifacts[component].name).unlink()
    settings(world, f'[images."8.0.RC2"]\n910b = "{IMAGE}"\n')
    found = Vendor(world, replace(FACTS, releases={each: ["8.0.RC2"] for each in TAKEN}))
    monkeypatch.setattr(assembly, "locate", found.locate)
    monkeypatch.setattr(assembly, "read_facts", found.read)
    monkeypatch.setattr(running, "bake", found.bake)
    return found


def settings(world: World, text: str) -> None:
    (world.checkout.project.root / "cannery.toml").write_text(text, encoding="utf-8")


def test_the_image_replaces_the_stages_of_cann(
    vendor: Vendor, capsys: pytest.CaptureFixture[str]
) -> None:
    vendor.facts = replace(vendor.facts, driver=["usr/local/Ascend/driver"])
    vendor.run("image")
    [build] = vendor.builds
    taken = [f"take-cann layer /vendor {each}; " for each in TAKEN]
    assert all(each in build.text for each in taken)
    assert "install-cann toolkit" not in build.text
    assert build.contexts["vendor"] == f"docker-image://{IMAGE}"
    assert build.labels[LABEL] == IMAGE
    assert not {"TOOLKIT_SHA256", "KERNELS_SHA256", "NNAL_SHA256"} & build.arguments.keys()
    said = capsys.readouterr().err
    assert f"full: CANN 8.0.RC2 is taken from {IMAGE}" in said
    assert "full: left out, because containers get the host's driver: /usr/local/Ascend/driver" in (
        said
    )
    assert vendor.world.checked == ["full"]
    # The next run has nothing to do, and asks no registry.
    vendor.asked.clear()
    vendor.run("image")
    assert (vendor.asked, len(vendor.builds)) == ([], 1)


def test_mirrors_of_its_registry_are_asked_first(vendor: Vendor) -> None:
    text = f'[images."8.0.RC2"]\n910b = "{IMAGE}"\n[mirrors]\n"quay.example" = ["mirror.test"]\n'
    settings(vendor.world, text)
    vendor.run("image")
    assert vendor.asked == [MIRROR, IMAGE]
    [build] = vendor.builds
    assert build.contexts["vendor"] == f"docker-image://{MIRROR}"
    # The same image from elsewhere is the same input.
    assert build.labels[LABEL] == IMAGE


def test_the_image_is_a_source_only_where_it_is_named(vendor: Vendor) -> None:
    with pytest.raises(ArtifactError, match="is missing"):
        vendor.run()
    assert vendor.asked == []
    vendor.run("folder", "image")
    assert vendor.asked == [IMAGE]


def push_problems(world: World) -> str:
    options = PushOptions(artifacts=world.artifacts)
    selection = replace(world.selection(["full"]), matrix=world.checkout.project.matrix())
    targets = (selection.matrix.targets["full"],)
    with pytest.raises(PublishError) as caught:
        candidates(world.checkout.project, replace(selection, targets=targets), options)
    return str(caught.value)


def test_a_push_reports_a_changed_image_of_cann(vendor: Vendor) -> None:
    vendor.run("image")
    said = push_problems(vendor.world)
    assert "differs from the committed files: the checkout has no git commit" in said
    assert "content key" not in said
    assert "its CANN" not in said
    other = IMAGE.replace("ab", "cd")
    settings(vendor.world, f'[images."8.0.RC2"]\n910b = "{other}"\n')
    said = push_problems(vendor.world)
    assert f"its CANN is from {IMAGE}, and the checkout names {other}" in said


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"releases": {each: ["8.0.RC3"] for each in TAKEN}}, "has toolkit 8.0.RC3"),
    ({"operators": ["ascend310p"]}, "has operators for ascend310p"),
    ({"arches": ["x86_64"]}, "has programs for x86_64"),
    ({"stand_ins": ["x"]}, "holds simulated packages"),
]


def test_nothing_is_built_from_an_image_with_other_contents(vendor: Vendor) -> None:
    good = vendor.facts
    for changes, said in REFUSED:
        vendor.asked.clear()
        vendor.facts = replace(good, **changes)
        with pytest.raises(ArtifactError, match=said):
            vendor.run("image")
    assert vendor.builds == []


def test_a_target_whose_release_has_no_image_does_not_keep_others_from_it(vendor: Vendor) -> None:
    with pytest.raises(CanneryError, match=r"no image with CANN 8.0.T39 for chip 910b is known"):
        vendor.run("image", names=("full", "bare"))
    assert [build.id for build in vendor.builds] == ["full"]
