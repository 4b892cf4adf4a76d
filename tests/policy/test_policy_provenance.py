# SPDX-License-Identifier: Apache-2.0
"""What the real locks let an image's provenance say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packageurl import PackageURL

from cannery.image.lock import parse_lock
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.publish.inventory import RECORD, Inventory, Origin, Package, vendor_packages, wheels
from cannery.publish.provenance import Builder, Inputs, Source, UsedBase, slsa


@pytest.fixture(scope="session")
def inventory(target: Target, folder: Path) -> Inventory:
    """What an image of the target holds, if its record is right; the engine's tests look."""
    record = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    packages = [Package(name=name, version=version) for name, version in record["wheels"].items()]
    return Inventory(
        wheels=wheels(packages, [], target, record["wheels"], simulated=False),
        debian=(),
        vendor=vendor_packages(target, record["components"], {}, simulated=False),
    )


def test_each_wheel_and_each_vendor_file_is_a_dependency(
    project: Project, target: Target, inventory: Inventory
) -> None:
    lock = parse_lock(project.lock(target).read_text(encoding="utf-8")).wheels
    build_stage = parse_lock(project.build_lock.read_text(encoding="utf-8")).wheels
    used = UsedBase(base=target.base, architecture=target.docker_arch, used=target.base.image)
    made = slsa(
        target,
        inventory,
        Inputs(
            key="sha256:" + "0" * 64,
            source=Source(commit="0" * 40),
            lock=lock,
            build_stage=build_stage,
            sdists={each.package for each in target.built_wheels.values()},
            bases={"BASE_IMAGE": used},
        ),
        Builder(),
    )
    found = made["buildDefinition"]["resolvedDependencies"]
    urls = {
        (url.name, url.version): each
        for each in found
        if "uri" in each and (url := PackageURL.from_string(each["uri"])).type == "pypi"
        if each["annotations"]["usedIn"] == "image"
    }
    assert inventory.wheels
    for wheel in inventory.wheels:
        if wheel.source is not Origin.VENDOR:
            is_built = wheel.name in {each.package for each in target.built_wheels.values()}
            assert wheel.source is (Origin.BUILT if is_built else Origin.INDEX), wheel
            entry = urls[wheel.name, wheel.version.partition("+")[0]]
            assert ("builtFrom" in entry["annotations"]) == is_built
            assert entry.get("digest") or entry["annotations"]["sha256AnyOf"]
    assert {each["name"] for each in found} >= {file.name for file in target.artifacts.values()}
    pinned = [each for each in found if each["name"] == "BASE_IMAGE"]
    assert pinned[0]["digest"]["sha256"] == target.base.image.partition("@sha256:")[2]


def test_every_vendor_file_has_a_version(inventory: Inventory) -> None:
    assert {each.name for each in inventory.vendor if not each.version} == set()


def test_the_record_is_where_the_contents_are_read(folder: Path) -> None:
    dockerfile = (folder / "Dockerfile").read_text(encoding="utf-8")
    place, _, name = RECORD.rpartition("/")
    assert f"/layer{place} /tmp/constraints.txt /tmp/{name}" in dockerfile
