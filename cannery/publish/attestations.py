# SPDX-License-Identifier: Apache-2.0
"""The statements about an image: its SBOM as SPDX 2.3, and its provenance as a SLSA 1.0 predicate.

Sources: spdx.github.io/spdx-spec/v2.3 and slsa.dev/spec/v1.0/provenance. docs/security.md explains
each field of the provenance, and what it does not prove. Statements are stored in the index of the
image as BuildKit stores its own, in the form of
docs.docker.com/build/metadata/attestations/attestation-storage, so that its readers can read them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from packageurl import PackageURL

from cannery import __version__
from cannery.common.bases import Base
from cannery.common.model import MACHINE_OF, Target
from cannery.image.content_key import source_uri
from cannery.lock.lock_file import LockedWheel
from cannery.publish.inventory import Inventory, Origin, Package, expression
from cannery.registry.oci import ATTESTED, CONFIG, MANIFEST, Descriptor, Document, document

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
    extracted: dict[str, str] = {}
    packages = [_image(target, inventory, image_digest, reference)]
    names = {_IMAGE}
    for kind, group in (
        ("vendor", inventory.vendor),
        ("wheel", inventory.wheels),
        ("deb", inventory.debian),
    ):
        for package in group:
            plain = re.sub(r"[^A-Za-z0-9.-]", lambda match: f"-{ord(match[0]):x}-", package.name)
            name = f"SPDXRef-{kind}-{plain}"
            candidates = chain([name], (f"{name}-{number}" for number in count(2)))
            spdx_id = next(candidate for candidate in candidates if candidate not in names)
            names.add(spdx_id)
            entry = {
                "SPDXID": spdx_id,
                "name": package.name,
                **_UNKNOWN,
                "licenseDeclared": _license(package.license, extracted),
                "externalRefs": [_purl(package_url(package, inventory))],
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
            packages.append(entry)
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
        "hasExtractedLicensingInfos": [
            {"licenseId": name, "name": text.splitlines()[0][:100], "extractedText": text}
            for name, text in sorted(extracted.items())
        ],
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


def _license(words: str, extracted: dict[str, str]) -> str:
    """The licence of a package that declares ``words``, as an SPDX expression.

    ``extracted`` gets the texts of those that are not in SPDX's list.
    """
    if not words:
        return _NO_ASSERTION
    if declared := expression(words):
        for reference in _LICENSE_REF.findall(declared):
            extracted.setdefault(reference, f"Named, without its text, by: {words}")
        return declared
    reference = "LicenseRef-" + hashlib.sha256(words.encode()).hexdigest()[:16]
    extracted[reference] = words
    return reference


def _purl(text: str) -> dict[str, str]:
    return {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": text,
    }


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


BUILD_TYPE = "urn:cannery:build:v1"
"""The name of the build type, which docs/security.md describes."""

LOCAL_BUILDER = "urn:cannery:builder:local"
"""The builder of an image that was not built by a CI job."""

_PINNED = re.compile(
    r"(?P<repository>[^@\s]+?)(?::(?P<tag>[^:/@]+))?@sha256:(?P<digest>[0-9a-f]{64})"
)


@dataclass(frozen=True, kw_only=True)
class UsedBase:
    """A base image of a build. ``used`` is its pinned reference, or the id of a stand-in."""

    base: Base
    architecture: str
    used: str
    bootstrapped: bool = True


@dataclass(frozen=True, kw_only=True)
class Builder:
    """The builder: ``id`` is a URI. Versions and times may be empty if they are unknown.

    ``invocation`` is the URL of the run; ``finished`` is a time as in ``2026-11-21T12:00:00Z``.
    """

    id: str = LOCAL_BUILDER
    engine: str = ""
    buildx: str = ""
    invocation: str = ""
    finished: str = ""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything that an image was built from, besides the files that its inventory names.

    ``key`` is its content key, ``lock`` the target's wheels and ``build_stage`` the wheels of the
    programs that built it. ``sdists`` are the names of those of ``lock`` that were built from
    sdists, and ``builder`` the wheels that built them. ``bases`` maps build arguments to the images
    that they named. ``commit`` and ``repository``, a git URL, may be empty. ``changed`` says that
    the image differs from the commit, so that the other dependencies may not be its own.
    """

    key: str
    commit: str
    lock: Iterable[LockedWheel]
    build_stage: Iterable[LockedWheel]
    bases: Mapping[str, UsedBase]
    repository: str = ""
    changed: bool = False
    sdists: Collection[str] = ()
    builder: Iterable[LockedWheel] = ()


def slsa(target: Target, inventory: Inventory, inputs: Inputs, builder: Builder) -> dict[str, Any]:
    """The SLSA predicate for an image of ``target`` that holds ``inventory``."""
    building = inputs.bases["BUILD_IMAGE"].architecture
    pinned = _PINNED.fullmatch(inventory.vendor_image)
    dependencies = [
        *_commit(inputs),
        *(_base(name, base) for name, base in sorted(inputs.bases.items())),
        *([_pinned("CANN", pinned, target.platform)] if pinned else []),
        *_vendor_files(inventory),
        *(
            _wheel(wheel, "image", target.docker_arch, is_built=wheel.name in inputs.sdists)
            for wheel in inputs.lock
        ),
        *(_wheel(wheel, "builder of wheels", target.docker_arch) for wheel in inputs.builder),
        *(_wheel(wheel, "build stage", building) for wheel in inputs.build_stage),
        *_debian(inventory),
    ]
    internal = {
        "simulated": inventory.simulated,
        "key": inputs.key,
        **_known({"engine": builder.engine, "buildx": builder.buildx}),
    }
    metadata = {
        "invocationId": builder.invocation,
        "finishedOn": builder.finished,
    }
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {
                "target": target.id,
                "platform": target.platform,
                "simulate": inventory.simulated,
            },
            "internalParameters": internal,
            "resolvedDependencies": dependencies,
        },
        "runDetails": {
            "builder": {"id": builder.id, "version": {"cannery": __version__}},
            "metadata": _known(metadata),
        },
    }


def _known(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _commit(inputs: Inputs) -> Iterable[dict[str, Any]]:
    if not inputs.commit:
        return
    entry: dict[str, Any] = {"name": "source", "digest": {"gitCommit": inputs.commit}}
    if inputs.repository:
        entry["uri"] = f"git+{source_uri(inputs.repository)}@{inputs.commit}"
    if inputs.changed:
        entry["annotations"] = {"changed": True}
    yield entry


def _pinned(name: str, pinned: re.Match[str], platform: str) -> dict[str, Any]:
    namespace, _, image = pinned["repository"].rpartition("/")
    more = {"platform": platform, "digest": f"sha256:{pinned['digest']}"}
    uri = PackageURL("docker", namespace or None, image, pinned["tag"], more).to_string()
    return {"name": name, "uri": uri, "digest": {"sha256": pinned["digest"]}}


def _base(name: str, used_base: UsedBase) -> dict[str, Any]:
    platform = f"linux/{used_base.architecture}"
    if pinned := _PINNED.fullmatch(used_base.used):
        return _pinned(name, pinned, platform)
    algorithm, _, value = used_base.used.partition(":")
    annotations = {"platform": platform, "image": used_base.base.image}
    if used_base.bootstrapped:
        annotations = {
            "bootstrapped": f"Debian {used_base.base.suite}",
            "platform": platform,
            "insteadOf": used_base.base.image,
        }
    # The id of an image on the building machine: it can be compared, and not pulled.
    return {"name": name, "digest": {algorithm: value}, "annotations": annotations}


def _vendor_files(inventory: Inventory) -> Iterable[dict[str, Any]]:
    for package in inventory.vendor:
        if not package.file:
            continue
        stand_in = package.source is Origin.SIMULATOR
        annotations: dict[str, Any] = {"standIn": True} if stand_in else {"place": package.place}
        if not package.sha256:
            annotations["sha256"] = "not known"
        entry = {
            "name": package.file,
            "uri": package_url(package, inventory),
            "annotations": annotations,
        }
        yield entry | ({"digest": {"sha256": package.sha256}} if package.sha256 else {})


def _wheel(
    wheel: LockedWheel, used_in: str, architecture: str, *, is_built: bool = False
) -> dict[str, Any]:
    annotations = {"usedIn": used_in} | ({"builtFrom": "sdist"} if is_built else {})
    entry: dict[str, Any] = {
        "name": wheel.name,
        "uri": PackageURL("pypi", None, wheel.name, wheel.version).to_string(),
        "annotations": annotations,
    }
    if file := wheel.file_for(MACHINE_OF[architecture]):
        annotations["file"] = file.name
        entry["digest"] = {"sha256": file.sha256}
    else:
        annotations["sha256"] = "not known"
    return entry


def _debian(inventory: Inventory) -> Iterable[dict[str, Any]]:
    for package in inventory.debian:
        entry: dict[str, Any] = {"name": package.name, "uri": package_url(package, inventory)}
        if package.sha256:
            entry["annotations"] = {"file": package.file}
            entry["digest"] = {"sha256": package.sha256}
        elif package.place:
            entry["annotations"] = {"place": package.place}
        yield entry


SPDX = "https://spdx.dev/Document"
SLSA = "https://slsa.dev/provenance/v1"

STATEMENT = "application/vnd.in-toto+json"

_TYPE = "https://in-toto.io/Statement/v0.1"
"""The version that BuildKit writes, so every reader of its attestations knows it."""

PREDICATE = "in-toto.io/predicate-type"
"""The annotation of a layer with the type of the predicate in it."""

_PLATFORM = {"architecture": "unknown", "os": "unknown"}


def encoded(document: Mapping[str, Any]) -> bytes:
    """``document`` as JSON; equal documents give equal bytes."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def subject_name(repository: str, tag: str, platform: str) -> str:
    """The name of an image in a statement, as BuildKit writes it.

    ``repository`` includes the registry.
    """
    namespace, _, name = repository.rpartition("/")
    url = PackageURL("docker", namespace or None, name, tag, {"platform": platform})
    return url.to_string()


def attestation_manifest(
    name: str, subject_digest: str, predicates: Mapping[str, Mapping[str, Any]]
) -> tuple[Document, tuple[Document, ...]]:
    """The manifest that attests ``predicates``, by their types, of the image ``name``.

    ``subject_digest`` is that of its manifest. The blobs have to be stored before the manifest.
    """
    algorithm, _, value = subject_digest.partition(":")
    blobs, layers = [], []
    for kind, predicate in predicates.items():
        statement = {
            "_type": _TYPE,
            "subject": [{"name": name, "digest": {algorithm: value}}],
            "predicateType": kind,
            "predicate": dict(predicate),
        }
        blob = Document(media_type=STATEMENT, content=encoded(statement))
        blobs.append(blob)
        annotations = {"containerd.io/uncompressed": blob.digest, PREDICATE: kind}
        layers.append(blob.descriptor(**annotations))
    rootfs = {"type": "layers", "diff_ids": [layer.digest for layer in layers]}
    content = encoded({**_PLATFORM, "config": {}, "rootfs": rootfs})
    config = Document(media_type=CONFIG, content=content)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor().to_json(),
        "layers": [layer.to_json() for layer in layers],
    }
    return document(manifest), (*blobs, config)


def index_entry(subject_digest: str, manifest: Document) -> Descriptor:
    """The entry in an index for the attestation ``manifest`` of ``subject_digest``."""
    annotations = {
        "vnd.docker.reference.digest": subject_digest,
        "vnd.docker.reference.type": "attestation-manifest",
    }
    return manifest.descriptor(ATTESTED, **annotations)
