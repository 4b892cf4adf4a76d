# SPDX-License-Identifier: Apache-2.0
"""SBOMs of targets and of local or published images, and the scanners that read them."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import EngineError, FileError, Problem, UsageError
from cannery.common.files import MOST_JSON, now, read_bytes, read_json
from cannery.common.model import Target
from cannery.common.process import run
from cannery.common.references import parse_reference
from cannery.engine.images import local_images
from cannery.lock.lock_file import read_lock
from cannery.matrix.project import Project, select
from cannery.publish.attestations import PREDICATE, SPDX, spdx
from cannery.publish.difference import TARGET, local_names, not_found
from cannery.publish.inventory import Inventory, Origin, Package, image_inventory
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, manifest_contents
from cannery.registry.records import latest, read_records
from cannery.registry.transfer import closure

_NO_IMAGE = "sha256:" + "0" * 64
"""The digest in the bill of a target without a local image."""

_MOST_SBOM = 1 << 28
"""The most bytes of an attested SBOM."""


@dataclass(frozen=True, kw_only=True)
class NamedBill:
    """The SBOM ``document`` of what the user calls ``name``; ``notes`` say what it lacks."""

    name: str
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def bills(project: Project, names: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of each of ``names``: targets, patterns, local images, published images, SBOM files.

    ``ca`` is a file of certificates to trust.
    """
    documents: list[NamedBill] = []
    problems: list[Problem] = []
    targets = project.matrix().targets
    for name in names:
        try:
            if name.endswith(".json"):
                try:
                    document = read_json(read_bytes(Path(name), MOST_JSON), name)
                except FileNotFoundError as error:
                    raise UsageError(f"there is no file {name}.") from error
                documents.append(NamedBill(name=name, document=document))
            elif matches := fnmatch.filter(targets, name):
                documents += [_of_target(project, targets[match]) for match in matches]
            elif "/" in name:
                documents += [NamedBill(name=name, document=bill) for bill in _attested(name, ca)]
            else:
                documents.append(_of_image(project, name))
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(problems)
    return documents


def published_bills(project: Project, patterns: Sequence[str], ca: Path | None) -> list[NamedBill]:
    """The bill of the newest published image of each target that has one."""
    records = read_records(project.releases)
    documents: list[NamedBill] = []
    for target in select(project.matrix(), patterns):
        record = latest(records, target.id)
        if record is None:
            console.say(f"{target.id} is not published")
            continue
        documents += [
            NamedBill(name=target.id, document=document, notes=(f"image {record.by_digest}",))
            for document in _attested(record.by_digest, ca)
        ]
    return documents


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
    wheels = tuple(
        Package(name=wheel.name, version=wheel.version, source=Origin.INDEX)
        for wheel in read_lock(project, target).wheels
    )
    inventory = Inventory(wheels=wheels, debian=(), vendor=())
    document = spdx(target, inventory, image_digest=_NO_IMAGE, created=now())
    note = "its image is not on this machine, so the SBOM has only the packages in its lock"
    return NamedBill(name=target.id, document=document, notes=(note,))


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


def _attested(name: str, ca: Path | None) -> list[Any]:
    """The SPDX documents that are attested of the image ``name``."""
    place = parse_reference(name)
    if not place.version:
        fix = "Add the tag or the digest of an image."
        raise UsageError(Problem(what=f"{name} has neither a tag nor a digest.", fix=fix))
    repository = Repository(place.registry, place.repository, ca=ca)
    document = repository.manifest(place.version)
    if document is None:
        fix = "Check the reference; 'docker login HOST' stores a login."
        raise UsageError(Problem(what=f"{name} does not exist.", fix=fix))
    documents = []
    try:
        entries = manifest_contents(document).manifests
        attesting = {entry.digest for entry in entries if entry.platform == ATTESTED}
        for inner in closure(repository, document.digest):
            blobs = manifest_contents(inner).blobs if inner.digest in attesting else ()
            for blob in blobs:
                if blob.annotations.get(PREDICATE) == SPDX:
                    content = repository.read_small(blob, _MOST_SBOM)
                    documents.append(read_json(content, f"{name}: {blob.digest}"))
    except ValueError as error:
        raise FileError(f"{name}: {error}.") from error
    if not documents:
        fix = "'build.py push' adds one. Make it with another program, and scan that file."
        raise UsageError(Problem(what=f"{name} has no SBOM.", fix=fix))
    return documents


SEVERITIES = ("critical", "high", "medium", "low")
SCANNERS = {"grype": 2, "trivy": 14, "osv-scanner": 1}
"""Scanners with their exit code for vulnerabilities: trivy's is given to it."""


def find_scanner(name: str) -> str:
    """The scanner ``name``, or without a name the first one that is installed."""
    if scanner := next(filter(shutil.which, [name] if name else SCANNERS), ""):
        return scanner
    what = f"{name} is not installed." if name else "no vulnerability scanner is installed."
    fix = "Put grype, trivy or osv-scanner on PATH: docs/security.md says where to get them."
    raise EngineError(Problem(what=what, fix=fix))


def scan(
    scanner: str, bill: NamedBill, vex: Mapping[str, Any], fail_on: str, *, fixable: bool
) -> tuple[bool, str]:
    """Whether the scanner finds vulnerabilities as severe as ``fail_on``, and its output."""
    sbom: Any = bill.document
    if isinstance(sbom, dict) and isinstance(sbom.get("predicate"), dict):
        sbom = sbom["predicate"]  # of an attestation
    if not isinstance(sbom, dict) or not {"spdxVersion", "bomFormat"} & sbom.keys():
        fix = "Name an SBOM as JSON, of SPDX 2 or CycloneDX."
        raise FileError(Problem(what=f"{bill.name} is not an SBOM.", fix=fix))
    with tempfile.TemporaryDirectory(prefix="cannery-scan-") as temporary:
        # osv-scanner knows the format by the name.
        path = Path(temporary, "bom.cdx.json" if "bomFormat" in sbom else "bom.spdx.json")
        exceptions = Path(temporary, "exceptions.openvex.json")
        path.write_text(json.dumps(sbom), encoding="utf-8")
        exceptions.write_text(json.dumps(vex), encoding="utf-8")
        options = _options(scanner, path, fail_on, fixable=fixable)
        if vex["statements"]:
            options += ["--vex", str(exceptions)]
        # Not in the user's folder, where a .trivyignore or .grype.yaml would hide results.
        code, output = run([scanner, *options], cwd=path.parent)
    if code not in (0, SCANNERS[scanner]):
        raise EngineError(f"{scanner} failed (exit code {code}):\n{output.strip()[-2000:]}")
    return bool(code) and fail_on != "never", output


def _options(scanner: str, path: Path, fail_on: str, *, fixable: bool) -> list[str]:
    limit = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    if scanner == "grype":
        options = [f"sbom:{path}", "--quiet", *(["--fail-on", fail_on] if limit else [])]
        return options + (["--only-fixed"] if fixable else [])
    if scanner == "trivy":
        options = ["sbom", str(path), "--quiet", "--exit-code", str(SCANNERS[scanner])]
        options += ["--severity", ",".join(limit).upper()] if limit else []
        # Without the system, trivy leaves out its packages; only trivy's own SBOMs name it.
        match = re.search(r"[?&]distro=([a-z]+)-([0-9.]+)", path.read_text(encoding="utf-8"))
        options += ["--distro", f"{match[1]}/{match[2]}"] if match else []
        return options + (["--ignore-unfixed"] if fixable else [])
    return ["scan", "source", "--lockfile", str(path)]
