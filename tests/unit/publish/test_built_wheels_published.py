# SPDX-License-Identifier: Apache-2.0
"""What the SBOM and the provenance say of a wheel that the build made from an sdist."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.lock.lock_file import parse_lock, read_lock
from cannery.publish.attestations import Builder, Inputs, UsedBase, slsa, spdx
from cannery.publish.inventory import Inventory, Package, wheels
from tests.unit.bills import read_slsa, read_spdx
from tests.unit.built_wheels import built_checkout
from tests.unit.matrices import DIGEST, Checkout

IMAGE = "sha256:" + "a" * 64
OF_TARGET = "served"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return built_checkout(tmp_path)


def target_of(checkout: Checkout) -> Target:
    return checkout.matrix.targets[OF_TARGET]


def inventory(checkout: Checkout, version: str = "1.1+npu") -> Inventory:
    target = target_of(checkout)
    lock = read_lock(checkout.project, target)
    result = wheels([Package(name="serve-npu", version=version)], [], target, lock, simulated=False)
    return Inventory(wheels=result, debian=(), vendor=())


def test_the_bill_names_the_sdist_and_its_hash(checkout: Checkout) -> None:
    contents = inventory(checkout)
    bill = spdx(target_of(checkout), contents, image_digest=IMAGE, created="2026-11-21T12:00:00Z")
    read_spdx(bill)
    [result] = [each for each in bill["packages"] if each["name"] == "serve-npu"]
    assert result["versionInfo"] == "1.1+npu"
    assert result["sourceInfo"] == "built from the sdist serve-npu==1.1 of a package index"
    assert result["checksums"] == [{"algorithm": "SHA256", "checksumValue": DIGEST}]
    assert result["externalRefs"][0]["referenceLocator"] == "pkg:pypi/serve-npu@1.1"


def test_the_provenance_names_the_sdist_and_its_build_tools(checkout: Checkout) -> None:
    lock = read_lock(checkout.project, target_of(checkout))
    assert lock.build
    base = target_of(checkout).build_base
    used = UsedBase(base=base, architecture="amd64", used=base.image)
    made = slsa(
        target_of(checkout),
        inventory(checkout),
        Inputs(
            key="sha256:" + "ef" * 32,
            commit="0123456789" * 4,
            lock=lock.wheels,
            build_stage=parse_lock("").wheels,
            bases={"BUILD_IMAGE": used},
            sdists={"serve-npu"},
            builder=lock.build.wheels,
        ),
        Builder(),
    )
    read_slsa(made)
    result = {
        (each["name"], each["annotations"]["usedIn"]): each["annotations"].get("builtFrom")
        for each in made["buildDefinition"]["resolvedDependencies"]
        if "usedIn" in each.get("annotations", {})
    }
    assert result["serve-npu", "image"] == "sdist"
    assert result["torch", "image"] is None
    builder = {name for name, used_in in result if used_in == "builder of wheels"}
    assert builder == {"pip", "setuptools", "wheel"}
