# SPDX-License-Identifier: Apache-2.0
"""What the real locks let an image's provenance say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packageurl import PackageURL

from cannery.contents import RECORD, Contents, Origin, Package, vendor_packages, wheels
from cannery.model import Target
from cannery.project import Project
from cannery.provenance import Builder, Source, UsedBase, slsa
from cannery.wheels import parse_lock


@pytest.fixture(scope="session")
def contents(target: Target, folder: Path) -> Contents:
    """What an image of the target holds, if its record is right; the engine's tests look."""
    record = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    packages = [Package(name=name, version=version) for name, version in record["wheels"].items()]
    return Contents(
        wheels=wheels(packages, [], target, record["wheels"], simulated=False),
        debian=(),
        vendor=vendor_packages(target, record["components"], {}, simulated=False),
    )


def test_each_wheel_and_each_vendor_file_is_a_dependency(
    project: Project, target: Target, contents: Contents
) -> None:
    lock = parse_lock(project.lock(target).read_text(encoding="utf-8"))
    tools = parse_lock(project.tools_lock.read_text(encoding="utf-8"))
    used = UsedBase(base=target.base, architecture=target.docker_arch, used=target.base.image)
    made = slsa(
        target,
        contents,
        key="sha256:" + "0" * 64,
        source=Source(commit="0" * 40),
        lock=lock,
        tools=tools,
        bases={"BASE_IMAGE": used},
        builder=Builder(),
    )
    found = made["buildDefinition"]["resolvedDependencies"]
    urls = {
        (url.name, url.version): each
        for each in found
        if "uri" in each and (url := PackageURL.from_string(each["uri"])).type == "pypi"
        if each["annotations"]["usedIn"] == "image"
    }
    assert contents.wheels
    for wheel in contents.wheels:
        if wheel.source is not Origin.VENDOR:
            assert wheel.source is Origin.INDEX, wheel
            entry = urls[wheel.name, wheel.version]
            assert entry.get("digest") or entry["annotations"]["sha256AnyOf"]
    assert {each["name"] for each in found} >= {file.name for file in target.artifacts.values()}
    pinned = [each for each in found if each["name"] == "BASE_IMAGE"]
    assert pinned[0]["digest"]["sha256"] == target.base.image.partition("@sha256:")[2]


def test_every_vendor_file_has_a_version(contents: Contents) -> None:
    assert {each.name for each in contents.vendor if not each.version} == set()


def test_the_record_is_where_the_contents_are_read(folder: Path) -> None:
    dockerfile = (folder / "Dockerfile").read_text(encoding="utf-8")
    place, _, name = RECORD.rpartition("/")
    assert f"/layer{place} /tmp/constraints.txt /tmp/{name}" in dockerfile
