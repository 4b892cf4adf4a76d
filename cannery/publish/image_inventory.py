# SPDX-License-Identifier: Apache-2.0
"""Lists the packages in an image, without running it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cannery.common.errors import EngineError, MatrixError, Problem
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.engine import containers
from cannery.engine.containers import stand_ins_in
from cannery.engine.images import ImageFiles
from cannery.image.vendor_image import LABEL
from cannery.lock.debs import DEBS, debs_of
from cannery.lock.lock_file import parse_lock
from cannery.publish.inventory import (
    BASE_IMAGE,
    LOCK,
    RECORD,
    Inventory,
    Origin,
    Package,
    debian_packages,
    distribution,
    vendor_packages,
    wheel,
    wheels,
)

_DPKG = "/var/lib/dpkg"
_OS_RELEASE = "/usr/lib/os-release"


def image_inventory(
    image: str, platform: str, target: Target, hashes: Mapping[str, str] | None = None
) -> Inventory:
    """The packages in the local image ``image`` of ``target``.

    ``hashes`` maps components to the sha256 of the vendor's files that it was built from, if they
    are known. The image is not run, so this needs no emulation.
    """
    with containers.unstarted(image, platform) as container:
        reader = ImageFiles(container)
        record = _record(reader, image, target)
        config = container.attrs["Config"]
        vendor_image = str((config.get("Labels") or {}).get(LABEL, ""))
        target = replace(target, vendor_image=vendor_image)
        simulated = bool(stand_ins_in(container, target))
        site_packages = record["site_packages"]
        pairs = (pair.partition("=")[::2] for pair in config.get("Env") or [])
        path = next((value for name, value in pairs if name == "PYTHONPATH"), "")
        # PYTHONPATH has the folders of CANN's Python packages.
        of_cann = {*filter(None, path.split(":"))} - {site_packages}
        try:
            lock = parse_lock(reader.text(LOCK))
        except MatrixError as error:
            raise EngineError(f"the lock {LOCK} in {image} is invalid.") from error
        return Inventory(
            wheels=wheels(
                _wheels(reader, site_packages),
                (package for place in of_cann for package in _wheels(reader, place)),
                target,
                lock,
                simulated=simulated,
            ),
            debian=_rpms(reader) or _debian(reader),
            vendor=vendor_packages(target, record["components"], hashes or {}, simulated=simulated),
            distribution=distribution(reader.text(_OS_RELEASE)),
            simulated=simulated,
            vendor_image=vendor_image,
            components=record["components"],
        )


def _record(reader: ImageFiles, image: str, target: Target) -> dict[str, Any]:
    text = reader.text(RECORD)
    fix = f"Build it again: python build.py --target {target.id}"
    try:
        record: dict[str, Any] = parse_json(text)
        if record["id"] != target.id:
            what = f"{image} is an image of {record['id']}, not of {target.id}."
            raise EngineError(Problem(what=what, fix=fix))
        return {key: record[key] for key in ("site_packages", "components")}
    except (ValueError, KeyError, TypeError) as error:
        what = f"the record {RECORD} in {image} is missing or invalid."
        raise EngineError(Problem(what=what, fix=fix)) from error


def _wheels(reader: ImageFiles, place: str) -> Iterator[Package]:
    def is_metadata(path: str) -> bool:
        folder, _, name = path.partition("/")
        return folder.endswith(".dist-info") and name == "METADATA"

    # With the dot the engine follows a link in place of the folder.
    for path, content in reader.files(f"{place}/.", is_metadata):
        yield wheel(posixpath.dirname(path), content)


def _rpms(reader: ImageFiles) -> tuple[Package, ...]:
    """The packages of a base with rpm; none on another one."""
    lists = dict(reader.files(f"{RPMS}/.", lambda path: path.endswith(".txt")))
    texts = {name: content.decode(errors="replace") for name, content in lists.items()}
    return rpm_packages(texts.get("installed.txt", ""), rpm_files(texts.values()))


def _debian(reader: ImageFiles) -> tuple[Package, ...]:
    texts = [reader.text(f"{_DPKG}/status")]
    separate = reader.files(f"{_DPKG}/status.d/.", lambda path: not path.endswith(".md5sums"))
    texts += [content.decode("utf-8", errors="replace") for _, content in separate]
    lists = reader.files(f"{DEBS}/.", lambda path: path.endswith(".txt"))
    debs = [deb for _, content in lists for deb in debs_of(content.decode(errors="replace"))]
    return debian_packages("\n\n".join(texts), debs)


RPMS = "/usr/local/share/cannery/rpms"
"""The folder in an image with ``INSTALLED`` and, for each layer with packages, ``sha256sum`` of the
files that dnf downloaded."""

INSTALLED = f"{RPMS}/installed.txt"
"""All packages after the last layer with packages: name, version, architecture and licence."""

_FIELDS = 4


def rpm_files(lists: Iterable[str]) -> dict[str, str]:
    """File to its sha256, from the lists of the layers. Other lines are left out."""
    lines = (line.partition("  ") for text in lists for line in text.splitlines())
    return {file: sha256 for sha256, _, file in lines if file.endswith(".rpm")}


def rpm_packages(installed: str, files: Mapping[str, str]) -> tuple[Package, ...]:
    """The packages in the text of ``INSTALLED``; those without one of ``files`` are the base's."""
    packages = set()
    for line in installed.splitlines():
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            continue
        name, version, architecture, license_ = fields
        file = f"{name}-{version.rpartition(':')[2]}.{architecture}.rpm"
        packages.add(
            Package(
                name=name,
                version=version,
                license=license_,
                architecture=architecture,
                source=Origin.RPM,
                file=file if file in files else "",
                sha256=files.get(file, ""),
                place="" if file in files else BASE_IMAGE,
            )
        )
    return tuple(sorted(packages))
