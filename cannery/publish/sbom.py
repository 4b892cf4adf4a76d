# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of an image, as SPDX 2.3 (spdx.github.io/spdx-spec/v2.3)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from packageurl import PackageURL

from cannery import __version__
from cannery.common.model import Target
from cannery.publish.inventory import Inventory, Origin, Package, expression

_IMAGE = "SPDXRef-image"
_NO_ASSERTION = "NOASSERTION"
_UNKNOWN = {
    "supplier": _NO_ASSERTION,
    "downloadLocation": _NO_ASSERTION,
    "filesAnalyzed": False,
    "licenseConcluded": _NO_ASSERTION,
    "copyrightText": _NO_ASSERTION,
}
"""Required fields of a package that an image does not have."""

_LICENSE_REF = re.compile(r"\bLicenseRef-[A-Za-z0-9.-]+")
_STAND_IN = (
    "A stand-in made by cannery's software device. It contains no vendor software and drives no "
    "NPU."
)


def spdx(
    target: Target, inventory: Inventory, *, image_digest: str, created: str, reference: str = ""
) -> dict[str, Any]:
    """The SPDX document of an image of ``target``; equal arguments give equal documents.

    ``image_digest`` is that of the manifest for the target's platform, ``created`` a time as in
    ``2026-11-21T12:00:00Z``, and ``reference`` the image's repository with its registry.
    """
    licenses = _Licenses()
    packages = [_image(target, inventory, image_digest, reference)]
    names = {_IMAGE}
    for kind, group in (
        ("vendor", inventory.vendor),
        ("wheel", inventory.wheels),
        ("deb", inventory.debian),
    ):
        for each in group:
            plain = re.sub(r"[^A-Za-z0-9.-]", lambda match: f"-{ord(match[0]):x}-", each.name)
            spdx_id = _unused(f"SPDXRef-{kind}-{plain}", names)
            packages.append(_package(each, spdx_id, package_url(each, inventory), licenses))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": target.id,
        "documentNamespace": f"urn:cannery:sbom:{target.id}:{image_digest}",
        "creationInfo": {"created": created, "creators": [f"Tool: cannery-{__version__}"]},
        "packages": packages,
        "relationships": [
            _relation("SPDXRef-DOCUMENT", "DESCRIBES", _IMAGE),
            *(_relation(_IMAGE, "CONTAINS", package["SPDXID"]) for package in packages[1:]),
        ],
        "hasExtractedLicensingInfos": licenses.extracted(),
    }


def package_url(package: Package, inventory: Inventory) -> str:
    """The package URL of a package; one of an index or a distribution only if it is from there."""
    match package.source:
        case Origin.DEBIAN:
            more = {"arch": package.architecture, "distro": inventory.distribution}
            if package.upstream:
                more["upstream"] = package.upstream
            system = inventory.distribution.partition("-")[0] or "debian"
            url = PackageURL("deb", system, package.name, package.version, more)
        case Origin.RPM:
            more = {"arch": package.architecture, "distro": inventory.distribution}
            system = inventory.distribution.partition("-")[0].lower()
            url = PackageURL("rpm", system or None, package.name, package.version, more)
        case Origin.INDEX:
            url = PackageURL("pypi", None, package.name, package.version)
        case Origin.BUILT:
            # The index has the sdist, and not the local version that the build has added.
            url = PackageURL("pypi", None, package.name, package.version.partition("+")[0])
        case Origin.SIMULATOR:
            url = PackageURL("generic", "cannery-simulator", package.name, package.version)
        case _:
            more = {"file_name": package.file}
            if package.sha256:
                more["checksum"] = f"sha256:{package.sha256}"
            url = PackageURL("generic", None, package.name, package.version, more)
    return url.to_string()


def _image(target: Target, inventory: Inventory, digest: str, reference: str) -> dict[str, Any]:
    algorithm, _, value = digest.partition(":")
    more = {"arch": target.docker_arch, "repository_url": reference}
    name = reference.rpartition("/")[2] or target.id
    summary = target.summary
    if inventory.simulated:
        summary += ". Simulated: it holds stand-ins for CANN and apex"
    return {
        "SPDXID": _IMAGE,
        "name": target.id,
        "versionInfo": digest,
        "primaryPackagePurpose": "CONTAINER",
        "summary": summary,
        **_UNKNOWN,
        "licenseDeclared": _NO_ASSERTION,
        "checksums": [{"algorithm": algorithm.upper(), "checksumValue": value}],
        "externalRefs": [_purl(PackageURL("oci", None, name, digest, more).to_string())],
    }


def _package(package: Package, spdx_id: str, purl: str, licenses: _Licenses) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "SPDXID": spdx_id,
        "name": package.name,
        **_UNKNOWN,
        "licenseDeclared": licenses.name(package.license),
        "externalRefs": [_purl(purl)],
    }
    if package.version:
        entry["versionInfo"] = package.version
    if package.file:
        entry["packageFileName"] = package.file
    if package.sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": package.sha256}]
    if package.source is Origin.SIMULATOR:
        entry["comment"] = _STAND_IN
    elif package.place:
        entry["sourceInfo"] = package.place
    return entry


class _Licenses:
    """The licences in a document, with the texts of those that are not in SPDX's list."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def name(self, words: str) -> str:
        """The licence of a package that declares ``words``, as an SPDX expression."""
        if not words:
            return _NO_ASSERTION
        if found := expression(words):
            for reference in _LICENSE_REF.findall(found):
                self._texts.setdefault(reference, f"Named, without its text, by: {words}")
            return found
        reference = "LicenseRef-" + hashlib.sha256(words.encode()).hexdigest()[:16]
        self._texts[reference] = words
        return reference

    def extracted(self) -> list[Mapping[str, str]]:
        return [
            {"licenseId": name, "name": text.splitlines()[0][:100], "extractedText": text}
            for name, text in sorted(self._texts.items())
        ]


def _unused(name: str, names: set[str]) -> str:
    """``name``, with a number if it is in ``names`` already; it is added to them."""
    free, number = name, 1
    while free in names:
        number += 1
        free = f"{name}-{number}"
    names.add(free)
    return free


def _purl(text: str) -> dict[str, str]:
    return {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": text,
    }


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
