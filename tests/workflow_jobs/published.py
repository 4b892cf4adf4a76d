# SPDX-License-Identifier: Apache-2.0
"""Small images in the registry with what a push leaves of them."""

from __future__ import annotations

import requests

from cannery.matrix.project import Project
from cannery.publish.attestations import SPDX, spdx
from cannery.publish.inventory import Inventory, Origin, Package
from cannery.registry.client import Repository
from cannery.registry.http import Login
from cannery.registry.records import path_of, to_text
from tests.publish import small
from tests.publish.servers import PASSWORD, USER
from tests.unit.publications import record
from tests.workflow_jobs.place import Place

TARGET = "py311-torch271-cann910-310p"
"""It has no simulated device, so that no engine has an image of it."""

_FIXED, _OLD = "urllib3==2.6.0", "urllib3==2.5.0"


def _repository(place: Place) -> Repository:
    repository = Repository(place.registry.host, "ascend")
    repository._http.auth.login = Login(username=USER, password=PASSWORD)
    return repository


def tags(place: Place) -> list[str]:
    """The tags of the registry's images."""
    address = f"http://{place.registry.host}/v2/ascend/tags/list"
    said = requests.get(address, auth=(USER, PASSWORD), timeout=30)
    said.raise_for_status()
    return sorted(said.json()["tags"])


def published(place: Place, package: str = _FIXED) -> None:
    """Publish an image of TARGET that has ``package``, with its SBOM and its record."""
    target = Project(root=place.workspace).matrix().targets[TARGET]
    repository = _repository(place)
    image = small.put_image(repository, package)
    name, _, version = package.partition("==")
    wheels = (Package(name=name, version=version, source=Origin.INDEX),)
    made = record(target=TARGET, tag=f"{TARGET}-0123456789ab", tags=(TARGET,))
    bill = spdx(
        target,
        Inventory(wheels=wheels, debian=(), vendor=()),
        image_digest=image.digest,
        created=made.pushed,
    )
    digest = small.put_index(repository, image, {SPDX: bill}, made.tag)
    made = record(
        target=TARGET, tag=made.tag, tags=made.tags, registry=repository.host, digest=digest
    )
    path = path_of(place.workspace / "releases", made)
    path.parent.mkdir(parents=True)
    path.write_text(to_text(made), encoding="utf-8")


def vulnerable(place: Place) -> None:
    """Publish an image of TARGET that has a vulnerability."""
    published(place, _OLD)
