# SPDX-License-Identifier: Apache-2.0
"""What the SBOM and the provenance say of a wheel that the build made from an sdist."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.image.lock import parse_lock
from cannery.image.locks import read_lock
from cannery.image.record import target_record
from cannery.model import Target
from cannery.publish.inventory import Inventory, Origin, Package, wheels, with_sdists
from cannery.publish.provenance import Builder, Inputs, Source, slsa
from cannery.publish.sbom import spdx
from tests.unit.bills import read_slsa, read_spdx
from tests.unit.built_wheels import built_checkout
from tests.unit.matrices import Checkout

SHA256 = "5d" * 32
IMAGE = "sha256:" + "a" * 64
OF_TARGET = "served"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return built_checkout(tmp_path)


def target_of(checkout: Checkout) -> Target:
    return checkout.matrix.targets[OF_TARGET]


def inventory(checkout: Checkout, version: str = "1.1+npu") -> Inventory:
    target = target_of(checkout)
    locked = target_record(target, read_lock(checkout.project, target))["wheels"]
    found = wheels(
        [Package(name="serve-npu", version=version)], [], target, locked, simulated=False
    )
    return Inventory(wheels=found, debian=(), vendor=())


def test_the_bill_names_the_sdist_and_its_hash(checkout: Checkout) -> None:
    contents = with_sdists(inventory(checkout), {"serve-npu": (SHA256,)})
    bill = spdx(target_of(checkout), contents, image_digest=IMAGE, created="2026-11-21T12:00:00Z")
    read_spdx(bill)
    [found] = [each for each in bill["packages"] if each["name"] == "serve-npu"]
    assert found["versionInfo"] == "1.1+npu"
    assert found["sourceInfo"] == "built from the sdist serve-npu==1.1 of a package index"
    assert found["checksums"] == [{"algorithm": "SHA256", "checksumValue": SHA256}]
    assert found["externalRefs"][0]["referenceLocator"] == "pkg:pypi/serve-npu@1.1"


def test_one_of_several_files_is_not_guessed(checkout: Checkout) -> None:
    [found] = with_sdists(inventory(checkout), {"serve-npu": (SHA256, "b" * 64)}).wheels
    assert found.source is Origin.BUILT
    assert found.sha256 == ""


def test_another_version_is_of_unknown_source(checkout: Checkout) -> None:
    [found] = inventory(checkout, "1.1").wheels
    assert found.source is Origin.UNKNOWN


def test_the_provenance_names_the_sdist_and_what_built_it(checkout: Checkout) -> None:
    lock = read_lock(checkout.project, target_of(checkout))
    assert lock.build
    made = slsa(
        target_of(checkout),
        inventory(checkout),
        Inputs(
            key="sha256:" + "ef" * 32,
            source=Source(commit="0123456789" * 4),
            lock=lock.wheels,
            build_stage=parse_lock("").wheels,
            bases={},
            sdists={"serve-npu"},
            builder=lock.build.wheels,
        ),
        Builder(),
    )
    read_slsa(made)
    found = {
        (each["name"], each["annotations"]["usedIn"]): each["annotations"].get("builtFrom")
        for each in made["buildDefinition"]["resolvedDependencies"]
        if "usedIn" in each.get("annotations", {})
    }
    assert found["serve-npu", "image"] == "sdist"
    assert found["torch", "image"] is None
    builder = {name for name, used_in in found if used_in == "builder of wheels"}
    assert builder == {"pip", "setuptools", "wheel"}
