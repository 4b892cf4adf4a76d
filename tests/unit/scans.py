# SPDX-License-Identifier: Apache-2.0
"""SBOMs and advisories for tests of scans."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cannery.publish.scan.advisories import Database
from cannery.publish.scan.advisory_download import read_advisories
from cannery.publish.scan.components import Component, read_bill
from cannery.publish.scan.findings import Vulnerability, find

OSV = Path(__file__).parent / "scan" / "osv"
"""A few records of public advisories; see README.md there."""

TORCH = "pkg:pypi/torch@2.3.1"
TORNADO = "pkg:pypi/tornado@6.2"
LIBC = "pkg:deb/debian/libc6@2.31-13%2Bdeb11u5?arch=arm64&distro=debian-11&upstream=glibc"
TAR = "pkg:deb/debian/tar@1.34%2Bdfsg-1?arch=arm64&distro=debian-11"


def spdx(*urls: Any) -> dict[str, Any]:
    """An SBOM with packages of these package URLs."""
    references = [[{"referenceType": "purl", "referenceLocator": url}] for url in urls]
    packages = [{"name": "a package", "externalRefs": each} for each in references]
    return {"spdxVersion": "SPDX-2.3", "packages": packages}


def component(url: str) -> Component:
    """The one component of a package URL."""
    [found] = read_bill(spdx(url), "sbom.json").components
    return found


def database(components: Iterable[Component], *sources: Path | str) -> Database:
    """The advisories of ``sources``, or those of OSV, about ``components``."""
    found = Database({(each.ecosystem, each.name) for each in components})
    read_advisories([str(each) for each in sources or (OSV,)], found, (), None)
    return found


def findings(*urls: str) -> list[Vulnerability]:
    """What the advisories of OSV say of packages."""
    components = read_bill(spdx(*urls), "sbom.json").components
    return find(components, database(components))


def advisory(name: str = "CVE-2026-1", package: str = "torch", **more: Any) -> dict[str, Any]:
    """A made-up record about all versions of a package of PyPI."""
    events = [{"introduced": "0"}]
    affected = {
        "package": {"ecosystem": "PyPI", "name": package},
        "ranges": [{"type": "ECOSYSTEM", "events": events}],
    }
    return {"id": name, "affected": [affected], **more}
