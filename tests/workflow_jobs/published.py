# SPDX-License-Identifier: Apache-2.0
"""Small images in the registry with what a push leaves of them, and an advisory about one."""

from __future__ import annotations

import io
import json
import zipfile

import requests

from cannery.matrix.project import Project
from cannery.publish.inventory import Inventory, Origin, Package
from cannery.publish.provenance import SPDX
from cannery.publish.sbom import spdx
from cannery.registry.records import path_of, to_text
from tests.publish import small
from tests.publish.servers import PASSWORD, USER
from tests.unit.publications import record
from tests.unit.scans import advisory
from tests.workflow_jobs.place import Place

TARGET = "py311-torch271-cann910-310p"
"""It has no simulated device, so that no engine has an image of it, and its lock is examined."""

LOCK = f"images/{TARGET}/requirements.lock"
FIXED = "urllib3==2.6.0"
_OLD = "urllib3==2.5.0"
_OLD_HASH = "e6b01673c0fa6a13e374b50871808eb3bf7046c4b125b216f6bf1cc604cff0dc"
ADVISORY = "CANNERY-TEST-1"
_SEVERITY = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"


def _repository(place: Place) -> small.Place:
    return small.Place(host=place.registry.host, repository="ascend", login=(USER, PASSWORD))


def tags(place: Place) -> list[str]:
    """The tags of the registry's images."""
    address = f"http://{place.registry.host}/v2/ascend/tags/list"
    said = requests.get(address, auth=(USER, PASSWORD), timeout=30)
    said.raise_for_status()
    return sorted(said.json()["tags"])


def published(place: Place, package: str = FIXED) -> None:
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
        image_digest=image["digest"],
        created=made.pushed,
    )
    digest = small.put_index(repository, image, {SPDX: bill}, made.tag)
    made = record(
        target=TARGET, tag=made.tag, tags=made.tags, registry=repository.host, digest=digest
    )
    path = path_of(place.workspace / "releases", made)
    path.parent.mkdir(parents=True)
    path.write_text(to_text(made), encoding="utf-8")
    _advise(place)


def vulnerable(place: Place) -> None:
    """Publish an image of TARGET that has a vulnerability, as its lock has."""
    published(place, _OLD)
    path = place.workspace / LOCK
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    [first] = [number for number, line in enumerate(lines) if line.startswith("urllib3==")]
    lines[first : first + 3] = [
        f"{_OLD} \\\n",
        f"    --hash=sha256:{_OLD_HASH}\n",
        "    # file: urllib3-2.5.0-py3-none-any.whl\n",
    ]
    path.write_text("".join(lines), encoding="utf-8")


def _advise(place: Place) -> None:
    """Let the server of advisories tell of the versions of the package before FIXED."""
    name, _, version = FIXED.partition("==")
    told = advisory(ADVISORY, name, severity=[{"type": "CVSS_V3", "score": _SEVERITY}])
    told["affected"][0]["ranges"][0]["events"].append({"fixed": version})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(f"{ADVISORY}.json", json.dumps(told))
    place.service.advisories["/PyPI/all.zip"] = stream.getvalue()
