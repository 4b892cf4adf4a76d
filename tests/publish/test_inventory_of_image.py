# SPDX-License-Identifier: Apache-2.0
"""What is read out of the real image, beside what the image itself says when it is run."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import docker
import pytest

from cannery.common.model import Target
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine.containers import LABEL_TEST
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project
from cannery.publish.attestations import spdx
from cannery.publish.inventory import Inventory, Origin, image_inventory
from tests.unit.bills import read_spdx

PROJECT = Project(root=Path(__file__).parents[2])
MAIN = "py39-torch231-cann8t39"


@pytest.fixture(scope="module")
def target() -> Target:
    return PROJECT.matrix().targets[MAIN]


@pytest.fixture(scope="module")
def image(target: Target) -> str:
    name = image_name(target.id, simulate=True)
    if not engine.image_id(name):
        pytest.fail(f"{name} is not here; 'nox -s image' builds it")
    return name


@pytest.fixture(scope="module")
def inventory(image: str, target: Target) -> Inventory:
    return image_inventory(image, target.platform, target)


def message(image: str, *command: str) -> str:
    argv = ["docker", "run", "--rm", "--platform", "linux/arm64", image, *command]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_the_wheels_equal_those_of_pip_list(image: str, inventory: Inventory) -> None:
    listed = json.loads(message(image, "python3", "-m", "pip", "list", "--format", "json"))
    result = {each.name: each.version for each in inventory.wheels}
    assert {each["name"].lower().replace("_", "-"): each["version"] for each in listed} == result
    assert len(result) > 40


def test_the_packages_equal_those_of_dpkg_query(image: str, inventory: Inventory) -> None:
    form = "${Package} ${Version} ${Architecture}\\n"
    lines = message(image, "dpkg-query", "--show", "--showformat", form).splitlines()
    result = [f"{each.name} {each.version} {each.architecture}" for each in inventory.debian]
    assert sorted(lines) == sorted(result)
    assert len(result) > 100


def test_every_package_has_its_file_or_comes_with_the_base(
    image: str, inventory: Inventory
) -> None:
    files = {each.name: each.sha256 for each in inventory.wheels if each.file}
    lock = parse_lock(PROJECT.lock(PROJECT.matrix().targets[MAIN]).read_text(encoding="utf-8"))
    assert files == {wheel.name: wheel.hashes[0] for wheel in lock.wheels}
    of_base = {each.name for each in inventory.debian if each.place == "the base image"}
    downloaded = {each.name for each in inventory.debian if len(each.sha256) == 64}
    assert of_base | downloaded == {each.name for each in inventory.debian}
    assert not of_base & downloaded
    assert "libc6" in of_base and "g++" in downloaded
    listed = message(image, "cat", "/usr/local/share/cannery/debs/os.txt").splitlines()
    assert len(listed) == len(downloaded)


def test_every_wheel_has_a_known_source(inventory: Inventory, target: Target) -> None:
    sources = {each.name: each.source for each in inventory.wheels}
    assert {name for name, source in sources.items() if source is Origin.UNKNOWN} == set()
    assert sources["apex"] is Origin.SIMULATOR
    assert sources["torch"] is Origin.INDEX
    assert {each.name for each in inventory.vendor} == {*target.artifacts}
    assert inventory.simulated


def test_its_bill_is_valid(inventory: Inventory, target: Target) -> None:
    bill = spdx(
        target, inventory, image_digest="sha256:" + "0" * 64, created="2026-11-21T12:00:00Z"
    )
    document = read_spdx(bill)
    assert len(document.packages) == 1 + sum(map(len, inventory.versions.values()))
    licences = {each["name"]: each["licenseDeclared"] for each in bill["packages"]}
    assert licences["requests"] == "Apache-2.0"
    assert licences["torch"] == "BSD-3-Clause"


def not_started() -> set[str]:
    """The ids of the containers that were made and not started."""
    made = docker.from_env().containers.list(all=True, filters={"label": LABEL_TEST})
    return {str(each.id) for each in made if each.status == "created"}


def test_no_container_is_left(inventory: Inventory) -> None:
    """One that another test has just made is gone or started soon."""
    left, end = not_started(), time.monotonic() + 30
    while left and time.monotonic() < end:
        time.sleep(0.2)
        left &= not_started()
    assert not left
