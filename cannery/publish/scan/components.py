# SPDX-License-Identifier: Apache-2.0
"""The packages in a software bill of materials, under the names that advisories use."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packageurl import PackageURL
from packaging.utils import canonicalize_name

from cannery.common.errors import FileError, Problem

PYPI = "PyPI"
_DISTRIBUTIONS = {"debian": "Debian", "ubuntu": "Ubuntu"}
_CODENAMES = {
    "bullseye": "debian-11",
    "bookworm": "debian-12",
    "trixie": "debian-13",
    "jammy": "ubuntu-22.04",
    "noble": "ubuntu-24.04",
}
_RELEASE = re.compile(r"[a-z]+-([0-9]+)(\.[0-9]+)?")


@dataclass(frozen=True, kw_only=True, order=True)
class Component:
    """A package that advisories can be about.

    ``ecosystem`` is as in ``PyPI`` or ``Debian:12``. A package of a distribution has the name and
    the version of its source, because advisories have those; ``packages`` are the binary packages
    in the image that were made of it.
    """

    ecosystem: str
    name: str
    version: str
    packages: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The name, with those of other packages that were made of it."""
        others = [each for each in self.packages if each != self.name]
        return f"{self.name} ({', '.join(others)})" if others else self.name


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What a bill of materials has.

    ``left_out`` maps the kind of the packages that no advisory can be matched with, such as rpm, to
    their number.
    """

    components: tuple[Component, ...]
    left_out: Mapping[str, int]


def read_bill(document: Any, name: str) -> Bill:
    """The packages in ``document``, an SBOM of SPDX 2 or CycloneDX as JSON; ``name`` is its file.

    Raises:
        FileError: it is not one, with every package URL in it that is not valid.
    """
    if isinstance(document, dict) and isinstance(document.get("predicate"), dict):
        document = document["predicate"]  # an attestation has it there
    if not isinstance(document, dict) or not {"spdxVersion", "bomFormat"} & document.keys():
        fix = "Name an SBOM as JSON, of SPDX 2 or CycloneDX."
        raise FileError(Problem(what=f"{name} is not a software bill of materials.", fix=fix))
    texts = [*(_of_spdx(document) if "spdxVersion" in document else _of_cyclonedx(document))]
    problems: list[Problem] = []
    urls = []
    for number, text in enumerate(texts, 1):
        try:
            urls.append(PackageURL.from_string(text))
        except (ValueError, TypeError):
            what = f"{name}: package URL {number} of {len(texts)}, {text!r}, is not valid."
            problems.append(Problem(what=what))
    if problems:
        raise FileError(problems)
    return _bill(urls)


def _of_spdx(document: Mapping[str, Any]) -> Iterator[Any]:
    for package in _mappings(document.get("packages")):
        for each in _mappings(package.get("externalRefs")):
            if each.get("referenceType") == "purl":
                yield each.get("referenceLocator")


def _of_cyclonedx(document: Mapping[str, Any]) -> Iterator[Any]:
    waiting = [*_mappings(document.get("components"))]
    while waiting:
        component = waiting.pop(0)
        waiting += _mappings(component.get("components"))
        if "purl" in component:
            yield component["purl"]


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in (value if isinstance(value, list) else []) if isinstance(each, dict))


def _bill(urls: Iterable[PackageURL]) -> Bill:
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    left_out: Counter[str] = Counter()
    for url in urls:
        ecosystem = _ecosystem(url)
        if not ecosystem or not url.version:
            # The image itself is in its bill, too.
            left_out.update([url.type] if url.type != "oci" else [])
        elif ecosystem == PYPI:
            found[ecosystem, canonicalize_name(url.name), url.version].add(url.name)
        else:
            found[ecosystem, *_source(url)].add(url.name)
    components = (
        Component(ecosystem=ecosystem, name=name, version=version, packages=tuple(sorted(packages)))
        for (ecosystem, name, version), packages in found.items()
    )
    return Bill(components=tuple(sorted(components)), left_out=left_out)


def _ecosystem(url: PackageURL) -> str:
    """As in ``Component``; empty for a package that advisories cannot be matched with."""
    if url.type == "pypi":
        return PYPI
    system = _DISTRIBUTIONS.get(url.namespace or "") if url.type == "deb" else None
    distribution = str(_qualifiers(url).get("distro", ""))
    match = _RELEASE.fullmatch(_CODENAMES.get(distribution, distribution))
    if not system or not match:
        return ""
    # A release of Debian is a whole number, and one of Ubuntu is not.
    return f"{system}:{match[1]}" + (match[2] or "" if system == "Ubuntu" else "")


def _source(url: PackageURL) -> tuple[str, str]:
    """Name and version of the source package; without word of one, those of the package."""
    source, _, version = str(_qualifiers(url).get("upstream", "")).partition("@")
    epoch = _qualifiers(url).get("epoch")
    own = f"{epoch}:{url.version}" if epoch else str(url.version)
    return source or url.name, version or own


def _qualifiers(url: PackageURL) -> Mapping[str, Any]:
    return url.qualifiers if isinstance(url.qualifiers, dict) else {}
