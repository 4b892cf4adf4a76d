# SPDX-License-Identifier: Apache-2.0
"""When CANN is taken from the vendor's image, and what such an image is refused for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.bases import Address, CannSource
from cannery.common.errors import ArtifactError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.fetch.needs import cann_files, needed_files
from cannery.image.bake_file import Caches, ImageBuild, bake_file
from cannery.image.content_key import KeyInputs
from cannery.image.plan import plan_image
from cannery.image.vendor_image import (
    VendorFacts,
    check_facts,
    image_of,
    vendor_contexts,
)
from cannery.lock.lock_file import parse_lock
from cannery.matrix.schema import parse_matrix
from tests.unit.cann_packages import with_packages
from tests.unit.matrices import MATRIX

DIGEST = "sha256:" + "ab" * 32
IMAGE = f"quay.example/ascend/cann@{DIGEST}"
PLAIN = replace(parse_matrix(MATRIX, "matrix.yaml").targets["full"], cxx_abi=0)
FACTS = VendorFacts(
    releases={"toolkit": ["8.0.RC2"], "kernels": ["8.0.RC2"], "nnal": ["8.0.RC2"]},
    arches=["aarch64"],
    operators=["ascend910b"],
    stand_ins=[],
    driver=[],
    record=True,
)


def known(reference: str = IMAGE) -> Target:
    """A target whose CANN release has an image."""
    return replace(PLAIN, cann=replace(PLAIN.cann, images={PLAIN.chip: reference}))


def chosen(target: Target, folder: Path, *order: CannSource) -> str:
    return image_of(target, order, folder)


def fill(folder: Path) -> Path:
    for file in cann_files(PLAIN).values():
        (folder / file.name).write_text("x", encoding="utf-8")
    return folder


def test_the_first_source_with_cann_is_used(tmp_path: Path) -> None:
    folder, download, image = CannSource.FOLDER, CannSource.DOWNLOAD, CannSource.IMAGE
    assert chosen(known(), tmp_path, image, folder) == IMAGE
    assert chosen(known(), tmp_path, folder, download, image) == IMAGE
    assert chosen(known(), tmp_path, folder, download) == ""
    assert chosen(known(), tmp_path) == ""
    fill(tmp_path)
    assert chosen(known(), tmp_path, folder, image) == ""
    assert chosen(known(), tmp_path, image, folder) == IMAGE
    (tmp_path / PLAIN.toolkit_file.name).unlink()
    assert chosen(known(), tmp_path, folder, image) == IMAGE


def test_files_with_an_address_are_downloaded_first(tmp_path: Path) -> None:
    def addressed(file: Any) -> Any:
        return replace(file, addresses=(Address(url="https://x.test/f"),))

    cann = known().cann
    each = cann.packages[PLAIN.machine]
    files = {
        "toolkit": addressed(each.toolkit),
        "kernels": {chip: addressed(file) for chip, file in each.kernels.items()},
        "nnal": addressed(each.nnal),
    }
    target = replace(known(), cann=with_packages(cann, **files))
    order = (CannSource.DOWNLOAD, CannSource.IMAGE)
    assert chosen(target, tmp_path, *order) == ""
    partly = replace(target, cann=with_packages(target.cann, nnal=each.nnal))
    assert chosen(partly, tmp_path, *order) == IMAGE
    # Nobody knows what an own server has before it is asked.
    assert image_of(partly, order, tmp_path, servers=True) == ""


def test_an_index_is_no_source_of_cann(tmp_path: Path) -> None:
    order = (CannSource.FOLDER, CannSource.INDEX)
    what = "the vendor's wheels have only a part of the toolkit, in another layout"
    with pytest.raises(ArtifactError, match=what) as caught:
        chosen(known(), tmp_path, *order)
    assert "docs/cann.md" in str(caught.value)
    assert chosen(known(), fill(tmp_path), *order) == ""


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (PLAIN, "no image with CANN 8.0.T39 for chip 910b is known"),
        (known("quay.example/ascend/cann:8.0"), "quay.example/ascend/cann:8.0 has no digest"),
    ],
)
def test_an_image_without_a_digest_is_refused(target: Target, said: str, tmp_path: Path) -> None:
    target = replace(target, cann=replace(target.cann, version="8.0.T39"))
    with pytest.raises(ArtifactError, match=said) as caught:
        chosen(target, tmp_path, CannSource.IMAGE)
    place = '\n    [images."8.0.T39"]\n    910b = "NAME@sha256:DIGEST"'
    assert f"Add to cannery.toml:{place}" in str(caught.value)
    assert chosen(target, tmp_path, CannSource.IMAGE, CannSource.FOLDER) == ""


def test_a_suitable_image_is_taken() -> None:
    check_facts(PLAIN, IMAGE, FACTS, simulated=False)
    upper = replace(FACTS, releases={**FACTS.releases, "toolkit": ["8.0.rc2"]})
    check_facts(PLAIN, IMAGE, upper, simulated=False)
    without = replace(FACTS, releases={**FACTS.releases, "nnal": []})
    check_facts(replace(PLAIN, with_nnal=False), IMAGE, without, simulated=False)
    more = replace(FACTS, operators=["ascend310p", "ascend910b"])
    check_facts(PLAIN, IMAGE, more, simulated=False)
    check_facts(PLAIN, IMAGE, replace(FACTS, stand_ins=["x"]), simulated=True)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another toolkit": (
        {"releases": {**FACTS.releases, "toolkit": ["8.0.RC3"]}},
        "has toolkit 8.0.RC3, and 8.0.RC2 is needed.",
    ),
    "two toolkits": (
        {"releases": {**FACTS.releases, "toolkit": ["8.0.RC2", "8.0.RC3"]}},
        "has toolkit 8.0.RC2 and 8.0.RC3, and 8.0.RC2 is needed.",
    ),
    "other kernels": (
        {"releases": {**FACTS.releases, "kernels": ["8.0.RC1"]}},
        "has kernels 8.0.RC1, and 8.0.RC2 is needed.",
    ),
    "no nnal": (
        {"releases": {"toolkit": ["8.0.RC2"], "kernels": ["8.0.RC2"]}},
        "has no nnal, and 8.0.RC2 is needed.",
    ),
    "another architecture": (
        {"arches": ["x86_64"]},
        "has programs for x86_64, and aarch64 is needed.",
    ),
    "no architecture": ({"arches": []}, "has programs for no known architecture, and aarch64 is"),
    "another chip": (
        {"operators": ["ascend910_93"]},
        "has operators for ascend910_93, and chip 910b needs ascend910b.",
    ),
    "no chip": ({"operators": []}, "has operators for no chip, and chip 910b needs ascend910b."),
    "no record": ({"record": False}, "lacks the installer's record"),
    "stand-ins": ({"stand_ins": ["x"]}, "holds simulated packages. Add --simulate"),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_an_unsuitable_image_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        check_facts(PLAIN, IMAGE, replace(FACTS, **changes), simulated=False)
    assert f"{IMAGE} {said}" in str(caught.value)
    assert str(caught.value).endswith(
        f"{PLAIN.id}: CANN cannot be taken from this image. "
        "Name an image with the right contents in cannery.toml, "
        "or another --source."
    )


def test_all_mismatches_are_reported_at_once() -> None:
    nothing = VendorFacts(
        releases={}, arches=[], operators=[], stand_ins=[], driver=[], record=False
    )
    with pytest.raises(ArtifactError) as caught:
        check_facts(PLAIN, IMAGE, nothing, simulated=True)
    assert len(caught.value.problems) == 8
    assert "holds the vendor's CANN, which cannot use a simulated NPU" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"releases": {}}', '{"x": 1}', "null"])
def test_invalid_facts_are_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        VendorFacts.parse(text)


def key(target: Target) -> str:
    return KeyInputs.from_target(
        target,
        {"Dockerfile": "FROM x"},
        identify_file=lambda name, _: name,
        identify_base=lambda _, base: base.name,
        simulator="",
    ).key


def test_the_image_is_in_the_key_by_its_digest() -> None:
    taken = replace(PLAIN, vendor_image=IMAGE)
    mirrored = replace(PLAIN, vendor_image=f"mirror.test/x@{DIGEST}")
    other = replace(PLAIN, vendor_image=IMAGE.replace("ab", "cd"))
    assert key(taken) == key(mirrored)
    assert len({key(PLAIN), key(taken), key(other)}) == 3


def test_cann_s_files_are_not_needed_and_its_layers_are_others() -> None:
    taken = replace(PLAIN, vendor_image=IMAGE)
    own = needed_files(PLAIN, simulate=False).keys() - needed_files(taken, simulate=False).keys()
    assert own == {"toolkit", "kernels", "nnal"}
    assert not needed_files(taken, simulate=True, with_cann=True).keys() & own
    lock = parse_lock("")
    pairs = zip(plan_image(PLAIN, lock).layers, plan_image(taken, lock).layers, strict=True)
    differing = {one.name for one, other in pairs if one.identity != other.identity}
    assert differing == own | {"cann-python"}


def build() -> ImageBuild:
    folder = Path("/images/a.b")
    return ImageBuild(
        id="a.b",
        tag="a.b",
        dockerfile=folder / "Dockerfile",
        text="FROM ${X}",
        folder=folder,
        platform="linux/arm64",
        contexts={"cannery": "/context", **vendor_contexts(IMAGE)},
        arguments={"BUILD_IMAGE": "debian"},
    )


def test_the_bake_file_has_the_dockerfile_for_taking_cann() -> None:
    found = json.loads(
        bake_file([build()], Caches(), PackageIndex(ca=Path("/ca.pem"), index_url=""))
    )
    # A bake target that uses results of another would lose the session of that one's contexts.
    assert {*found["target"]} == {"a_b"}
    main = found["target"]["a_b"]
    assert main["dockerfile-inline"] == "FROM $${X}"
    assert "dockerfile" not in main
    contexts = main["contexts"]
    assert contexts["vendor"] == f"docker-image://{IMAGE}"
    assert (Path(contexts["take-cann"]) / "take-cann").is_file()
