# SPDX-License-Identifier: Apache-2.0
"""Statements in a real registry, as buildx, which is not ours, reads them; and the documented way
of comparing them with the lock."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.model import Target
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project
from cannery.publish.attestations import SLSA, SPDX, Builder, Inputs, UsedBase, slsa, spdx
from cannery.publish.inventory import Inventory, Origin, Package, vendor_packages, wheels
from cannery.registry.client import Repository
from tests.engine.engines import registry
from tests.unit.described import described_folder

from .small import put_image, put_index

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "security.md"
MAIN = "py39-torch231-cann8t39"


@dataclass(frozen=True, kw_only=True)
class Published:
    """An image with both statements; ``reference`` has its digest."""

    place: Repository
    reference: str
    target: Target
    inventory: Inventory
    bill: dict[str, Any]
    predicate: dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with registry(tmp_path_factory.mktemp("statements")) as host:
        yield Repository(host, "ascend/images")


def publish(place: Repository, inventory: Inventory, tag: str) -> Published:
    project = Project(root=ROOT)
    target = project.matrix().targets[MAIN]
    image = put_image(place, "hello")
    bill = spdx(
        target,
        inventory,
        image_digest=image.digest,
        created="2026-11-21T12:00:00Z",
        reference=str(place),
    )
    used = UsedBase(base=target.base, architecture=target.docker_arch, used=target.base.image)
    predicate = slsa(
        target,
        inventory,
        Inputs(
            key="sha256:" + "0" * 64,
            commit="0" * 40,
            lock=parse_lock(project.lock(target).read_text(encoding="utf-8")).wheels,
            build_stage=parse_lock(project.build_lock.read_text(encoding="utf-8")).wheels,
            bases={"BASE_IMAGE": used, "BUILD_IMAGE": used},
        ),
        Builder(engine="29.1"),
    )
    digest = put_index(place, image, {SPDX: bill, SLSA: predicate}, tag)
    return Published(
        place=place,
        reference=place.at(digest),
        target=target,
        inventory=inventory,
        bill=bill,
        predicate=predicate,
    )


@pytest.fixture(scope="module")
def locked() -> Inventory:
    """What an image of the target holds, by its record."""
    target = Project(root=ROOT).matrix().targets[MAIN]
    record = json.loads(described_folder(ROOT / "images" / MAIN)["target.json"])
    result = [Package(name=name, version=version) for name, version in record["wheels"].items()]
    lock = parse_lock(Project(root=ROOT).lock(target).read_text(encoding="utf-8"))
    result.append(Package(name="apex", version="0.1+ascend", license="Apache-2.0"))
    return Inventory(
        wheels=wheels(result, [], target, lock, simulated=True),
        debian=(
            Package(name="libc6", version="2.31-13", architecture="arm64", source=Origin.DEBIAN),
        ),
        vendor=vendor_packages(target, record["components"], {}, simulated=True),
        distribution="debian-11",
        simulated=True,
    )


@pytest.fixture(scope="module")
def published(place: Repository, locked: Inventory) -> Published:
    return publish(place, locked, "right")


def inspected(reference: str, template: str) -> Any:
    argv = ["docker", "buildx", "imagetools", "inspect", reference, "--format", template]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_buildx_shows_the_bill_and_the_provenance(published: Published) -> None:
    assert inspected(published.reference, "{{json .SBOM}}") == {"SPDX": published.bill}
    assert inspected(published.reference, "{{json .Provenance}}") == {"SLSA": published.predicate}


def commands() -> list[str]:
    """The commands of the document, each as it would be pasted."""
    blocks = re.findall(r"(?:^    .*\n)+", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


def run_as_documented(command: str, reference: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env={**os.environ, "IMAGE": reference, "TARGET": MAIN},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_documented_commands_show_both(published: Published) -> None:
    shown = [each for each in commands() if "{{json ." in each]
    assert len(shown) == 2
    for command, document in zip(shown, (published.bill, published.predicate), strict=True):
        done = run_as_documented(command, published.reference)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == document


def test_the_documented_comparison_finds_unlocked_packages(
    place: Repository, locked: Inventory, published: Published
) -> None:
    [compare] = [each for each in commands() if "diff - " in each]
    done = run_as_documented(compare, published.reference)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    others = tuple(
        replace(each, version="9.9") if each.name == "numpy" else each for each in locked.wheels
    )
    wrong = publish(place, replace(locked, wheels=others), "wrong")
    done = run_as_documented(compare, wrong.reference)
    assert done.returncode == 1
    assert "< numpy==9.9" in done.stdout and "> numpy==1.26.4" in done.stdout
