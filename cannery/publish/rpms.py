# SPDX-License-Identifier: Apache-2.0
"""The packages of an image whose base has rpm, from the lists that its layers have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cannery.publish.inventory import BASE_IMAGE, Origin, Package

RPMS = "/usr/local/share/cannery/rpms"
"""The folder in an image with ``INSTALLED`` and, for each layer with packages, ``sha256sum`` of the
files that dnf downloaded."""

INSTALLED = f"{RPMS}/installed.txt"
"""All packages after the last layer with packages: name, version, architecture and licence."""

_FIELDS = 4


def rpm_files(lists: Iterable[str]) -> dict[str, str]:
    """File to its sha256, from the lists of the layers. Other lines are left out."""
    found = {}
    for text in lists:
        for line in text.splitlines():
            sha256, _, file = line.partition("  ")
            if file.endswith(".rpm"):
                found[file] = sha256
    return found


def rpm_packages(installed: str, files: Mapping[str, str]) -> tuple[Package, ...]:
    """The packages in the text of ``INSTALLED``; those without one of ``files`` are the base's."""
    found = set()
    for line in installed.splitlines():
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            continue
        name, version, architecture, license_ = fields
        file = f"{name}-{version.rpartition(':')[2]}.{architecture}.rpm"
        found.add(
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
    return tuple(sorted(found))
