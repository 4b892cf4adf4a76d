# SPDX-License-Identifier: Apache-2.0
"""The software bills of materials of targets, of images, and of published images.

They are SPDX 2.3 (spdx.github.io/spdx-spec/v2.3).
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packageurl import PackageURL

from cannery import __version__
from cannery.common import console
from cannery.common.clock import now
from cannery.common.errors import (
    EngineError,
    FileError,
    MatrixError,
    Problem,
    UsageError,
    file_error,
)
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.references import parse_reference
from cannery.engine.images import local_images
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project, select
from cannery.publish.image_contents import TARGET, local_names, not_found
from cannery.publish.image_inventory import image_inventory
from cannery.publish.inventory import Inventory, Origin, Package, expression
from cannery.publish.provenance import SPDX
from cannery.publish.scan.advisory_download import read_json
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, manifest_contents
from cannery.registry.records import latest, read_records

_IMAGE = "SPDXRef-image"
_NOT_SAID = "NOASSERTION"
_UNSAID = {
    "supplier": _NOT_SAID,
    "downloadLocation": _NOT_SAID,
    "filesAnalyzed": False,
    "licenseConcluded": _NOT_SAID,
    "copyrightText": _NOT_SAID,
}
"""Fields that every package must have and that an image does not tell."""

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
    for kind, each in _all(inventory):
        spdx_id = _unused(f"SPDXRef-{kind}-{_plain(each.name)}", names)
        packages.append(_package(each, spdx_id, package_url(each, inventory), licenses))
    held = [package["SPDXID"] for package in packages[1:]]
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
            *(_relation(_IMAGE, "CONTAINS", each) for each in held),
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


def _all(inventory: Inventory) -> Iterable[tuple[str, Package]]:
    for kind, packages in (
        ("vendor", inventory.vendor),
        ("wheel", inventory.wheels),
        ("deb", inventory.debian),
    ):
        for package in packages:
            yield kind, package


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
        **_UNSAID,
        "licenseDeclared": _NOT_SAID,
        "checksums": [{"algorithm": algorithm.upper(), "checksumValue": value}],
        "externalRefs": [_purl(PackageURL("oci", None, name, digest, more).to_string())],
    }


def _package(each: Package, spdx_id: str, purl: str, licenses: _Licenses) -> dict[str, Any]:
    found: dict[str, Any] = {
        "SPDXID": spdx_id,
        "name": each.name,
        **_UNSAID,
        "licenseDeclared": licenses.name(each.license),
        "externalRefs": [_purl(purl)],
    }
    if each.version:
        found["versionInfo"] = each.version
    if each.file:
        found["packageFileName"] = each.file
    if each.sha256:
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": each.sha256}]
    if each.source is Origin.SIMULATOR:
        found["comment"] = _STAND_IN
    elif each.place:
        found["sourceInfo"] = each.place
    return found


class _Licenses:
    """The licences in a document, with the texts of those that are not in SPDX's list."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def name(self, words: str) -> str:
        """The licence of a package that declares ``words``, as an SPDX expression."""
        if not words:
            return _NOT_SAID
        if found := expression(words):
            for reference in _LICENSE_REF.findall(found):
                self._texts.setdefault(reference, f"Named, without its text, by: {words}")
            return found
        reference = "LicenseRef-" + hashlib.sha256(words.encode()).hexdigest()[:16]
        self._texts[reference] = words
        return reference

    def extracted(self) -> list[Mapping[str, str]]:
        return [
            {"licenseId": name, "name": _first_line(text), "extractedText": text}
            for name, text in sorted(self._texts.items())
        ]


def _first_line(text: str) -> str:
    return text.splitlines()[0][:100]


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", lambda found: f"-{ord(found[0]):x}-", name)


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


_PREDICATE = "in-toto.io/predicate-type"
_NO_IMAGE = "sha256:" + "0" * 64
"""What stands for the digest in the bill of a target whose image is not here."""

_LOCK_ONLY = "its image is not on this machine, so only the packages in its lock were examined"


@dataclass(frozen=True, kw_only=True)
class NamedBill:
    """The SBOM ``document`` of what the user calls ``name``; ``notes`` say what it lacks."""

    name: str
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def bills(project: Project, names: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of each of ``names``: targets, patterns, local images, published images, SBOM files.

    ``ca`` is a file of certificates to trust.

    Raises:
        UsageError: there is nothing of a name.
        EngineError: the engine or the registry does not answer.
        MatrixError, FileError: matrix.yaml, a lock or an SBOM is wrong, or cannot be read.
    """
    found: list[NamedBill] = []
    problems: list[Problem] = []
    for name in names:
        try:
            found += _bills_of(project, name, ca)
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(problems)
    return found


def published_bills(project: Project, patterns: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of the newest published image of each target that has one.

    Raises: as ``bills``.
    """
    records = read_records(project.releases)
    found = []
    for target in select(project.matrix(), patterns):
        record = latest(records, target.id)
        if record is None:
            console.say(f"{target.id} is not published")
            continue
        reference = f"{record.registry}/{record.repository}@{record.digest}"
        found += [
            NamedBill(name=target.id, document=document, notes=(f"image {reference}",))
            for document in _attested(reference, ca)
        ]
    return found


def _bills_of(project: Project, name: str, ca: Path | None) -> Iterator[NamedBill]:
    targets = project.matrix().targets
    if name.endswith(".json"):
        yield NamedBill(name=name, document=_of_file(Path(name)))
    elif chosen := fnmatch.filter(targets, name):
        yield from (_of_target(project, targets[each]) for each in chosen)
    elif "/" in name:
        for document in _attested(name, ca):
            yield NamedBill(name=name, document=document)
    else:
        yield _of_image(project, name)


def _of_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}.")
    try:
        return read_json(path.read_bytes(), str(path))
    except OSError as error:
        raise file_error("read", path, error) from error


def _of_target(project: Project, target: Target) -> NamedBill:
    local: Mapping[str, Any] = {}
    with suppress(EngineError):
        # Without an engine there are no images.
        local = local_images(local_names(target.id))
    if local:
        reference, image = next(iter(local.items()))
        return NamedBill(
            name=target.id,
            document=_document(reference, image.id, target),
            notes=(f"image {reference}",),
        )
    inventory = Inventory(wheels=_locked(project, target), debian=(), vendor=())
    document = spdx(target, inventory, image_digest=_NO_IMAGE, created=now())
    return NamedBill(name=target.id, document=document, notes=(_LOCK_ONLY,))


def _of_image(project: Project, name: str) -> NamedBill:
    local = local_images(local_names(name))
    if name not in local:
        raise UsageError(not_found(project, name))
    target = project.matrix().targets.get(local[name].labels.get(TARGET, ""))
    if target is None:
        fix = "Make its SBOM with another program, such as syft, and scan that file."
        what = f"{name} is not an image of a target in matrix.yaml."
        raise UsageError(Problem(what=what, fix=fix))
    return NamedBill(name=name, document=_document(name, local[name].id, target))


def _document(reference: str, image_id: str, target: Target) -> dict[str, Any]:
    console.say(f"reading the packages of {reference}")
    inventory = image_inventory(reference, target.platform, target)
    return spdx(target, inventory, image_digest=image_id, created=now())


def _locked(project: Project, target: Target) -> tuple[Package, ...]:
    path = project.lock(target)
    try:
        lock = parse_lock(read_text(path), str(path.relative_to(project.root)))
    except FileNotFoundError as error:
        fix = f"Run: python build.py lock --target {target.id}"
        raise MatrixError(Problem(what=f"there is no lock of {target.id}.", fix=fix)) from error
    return tuple(
        Package(name=each.name, version=each.version, source=Origin.INDEX) for each in lock.wheels
    )


def _attested(name: str, ca: Path | None) -> list[Any]:
    """The SPDX documents that are attested of the image ``name``.

    Raises:
        UsageError: there is no such image, or it has none.
        EngineError: the registry does not answer.
        FileError: a document is not JSON.
    """
    place = parse_reference(name)
    if not place.version:
        fix = "Add the tag or the digest of an image."
        raise UsageError(Problem(what=f"{name} has neither a tag nor a digest.", fix=fix))
    repository = Repository(place.registry, place.repository, ca=ca)
    document = repository.manifest(place.version)
    if document is None:
        fix = "Check the reference; 'docker login HOST' stores a login."
        raise UsageError(Problem(what=f"{name} does not exist.", fix=fix))
    found = []
    try:
        for entry in manifest_contents(document).manifests:
            inner = repository.manifest(entry.digest) if entry.platform == ATTESTED else None
            for blob in manifest_contents(inner).blobs if inner else ():
                if blob.annotations.get(_PREDICATE) == SPDX:
                    content = repository.read_blob(blob, b"".join)
                    found.append(read_json(content, f"{name}: {blob.digest}"))
    except ValueError as error:
        raise FileError(f"{name}: {error}.") from error
    if not found:
        fix = "'build.py push' adds one. Make it with another program, and scan that file."
        raise UsageError(Problem(what=f"{name} has no SBOM.", fix=fix))
    return found
