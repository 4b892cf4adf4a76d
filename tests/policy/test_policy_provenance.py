# SPDX-License-Identifier: Apache-2.0
"""What the real locks let an image's provenance say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packageurl import PackageURL

from cannery.common.model import Target
from cannery.lock.debs import DEBS
from cannery.lock.lock_file import Lock, parse_lock
from cannery.matrix.project import Project
from cannery.publish.attestations import Builder, Inputs, UsedBase, slsa
from cannery.publish.inventory import (
    Inventory,
    Origin,
    Package,
    vendor_packages,
    wheels,
)
from tests.policy.conftest import PROJECT
from tests.unit.described import described_folder


def lock_of(target: Target) -> Lock:
    return parse_lock(PROJECT.lock(target).read_text(encoding="utf-8"))


@pytest.fixture
def inventory(target: Target, folder: Path) -> Inventory:
    """What an image of the target holds, if its record is right; the engine's tests look."""
    record = json.loads(described_folder(folder)["target.json"])
    packages = [Package(name=name, version=version) for name, version in record["wheels"].items()]
    return Inventory(
        wheels=wheels(packages, [], target, lock_of(target), simulated=False),
        debian=(),
        vendor=vendor_packages(target, record["components"], {}, simulated=False),
    )


def test_each_wheel_and_each_vendor_file_is_a_dependency(
    project: Project, target: Target, inventory: Inventory
) -> None:
    lock = lock_of(target).wheels
    build_stage = parse_lock(project.build_lock.read_text(encoding="utf-8")).wheels
    identity = target.base.image if target.base.is_pinned else "sha256:" + "1" * 64
    used = UsedBase(base=target.base, architecture=target.docker_arch, used=identity)
    building = UsedBase(base=target.build_base, architecture="amd64", used=target.build_base.image)
    made = slsa(
        target,
        inventory,
        Inputs(
            key="sha256:" + "0" * 64,
            commit="0" * 40,
            lock=lock,
            build_stage=build_stage,
            sdists={each.package for each in target.built_wheels.values()},
            bases={"BASE_IMAGE": used, "BUILD_IMAGE": building},
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
            assert entry["digest"] == {"sha256": wheel.sha256}
            assert entry["annotations"]["file"] == wheel.file
    built = [each for each in found if each.get("annotations", {}).get("usedIn") == "build stage"]
    assert len(built) == len(build_stage)
    assert all(each["digest"] for each in built)
    assert {each["name"] for each in found} >= {file.name for file in target.artifacts.values()}
    pinned = [each for each in found if each["name"] == "BASE_IMAGE"]
    assert pinned[0]["digest"]["sha256"] == identity.partition("sha256:")[2]


def test_every_layer_with_debian_packages_has_a_list_of_its_own(
    project: Project, folder: Path
) -> None:
    dockerfile = (folder / "Dockerfile").read_text(encoding="utf-8")
    stages = re.findall(
        r"^FROM \S+ AS (\S+)\n(?:(?:#|ARG) .+\n)*RUN (?:[^\n]+\n +)*?install-packages (.+)",
        dockerfile,
        re.MULTILINE,
    )
    rpms = re.findall(r"^ +bash /tmp/install-rpms (\S+) ", dockerfile, re.MULTILINE)
    assert "os" in {stage.removesuffix("-installed") for stage, _ in stages} | {*rpms}
    for stage, words in stages:
        assert words.split()[2] == stage.removesuffix("-packages").removesuffix("-installed")
    program = (project.build_context / "install-packages").read_text(encoding="utf-8")
    assert f"debs=/rootfs{DEBS}\n" in program
