# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from cannery.common.errors import FileError
from cannery.publish.scan.components import read_bill
from tests.unit.scans import LIBC, TORCH, component, spdx


@pytest.mark.parametrize(
    ("url", "ecosystem", "name", "version"),
    [
        ("pkg:pypi/Jinja2@3.1.6", "PyPI", "jinja2", "3.1.6"),
        ("pkg:pypi/ruamel.yaml@0.18", "PyPI", "ruamel-yaml", "0.18"),
        (LIBC, "Debian:11", "glibc", "2.31-13+deb11u5"),
        (
            "pkg:deb/debian/g%2B%2B@4:10.2.1-1?distro=debian-11&upstream=gcc-defaults@1.190",
            *("Debian:11", "gcc-defaults", "1.190"),
        ),
        (
            "pkg:deb/debian/login@4.13-1?distro=debian-12.5&epoch=1",
            "Debian:12",
            "login",
            "1:4.13-1",
        ),
        ("pkg:deb/debian/tar@1.34?distro=bookworm", "Debian:12", "tar", "1.34"),
        ("pkg:deb/ubuntu/tar@1.34?distro=ubuntu-22.04", "Ubuntu:22.04", "tar", "1.34"),
    ],
)
def test_names_are_those_of_advisories(url: str, ecosystem: str, name: str, version: str) -> None:
    found = component(url)
    assert (found.ecosystem, found.name, found.version) == (ecosystem, name, version)


def test_binary_packages_of_one_source_are_one_component() -> None:
    bill = read_bill(spdx(LIBC, LIBC.replace("libc6", "libc-bin")), "sbom.json")
    [found] = bill.components
    assert found.shown == "glibc (libc-bin, libc6)"


def test_packages_that_no_advisory_can_be_about_are_counted() -> None:
    urls = [
        *("pkg:generic/toolkit@8.0", "pkg:rpm/openeuler/bash@5", "pkg:rpm/openeuler/zlib@1"),
        *("pkg:deb/debian/tar@1.34", "pkg:pypi/torch", "pkg:oci/image@sha256:ab"),
    ]
    bill = read_bill(spdx(*urls), "sbom.json")
    assert bill.components == ()
    assert dict(bill.left_out) == {"generic": 1, "rpm": 2, "deb": 1, "pypi": 1}


def test_cyclonedx_has_components_in_components() -> None:
    inner = {"purl": LIBC}
    document = {"bomFormat": "CycloneDX", "components": [{"purl": TORCH, "components": [inner]}]}
    names = [each.name for each in read_bill(document, "bom.json").components]
    assert names == ["glibc", "torch"]


def test_an_attestation_contains_its_document() -> None:
    found = read_bill({"_type": "statement", "predicate": spdx(TORCH)}, "sbom.json")
    assert [each.name for each in found.components] == ["torch"]


@pytest.mark.parametrize("document", [[], {}, None, "text", {"packages": []}, {"predicate": {}}])
def test_other_documents_are_refused(document: Any) -> None:
    with pytest.raises(FileError, match=r"^sbom.json is not a software bill of materials\. Name"):
        read_bill(document, "sbom.json")


@pytest.mark.parametrize(
    "packages", [None, {}, "x", [1, {"externalRefs": {}}, {"externalRefs": [1]}]]
)
def test_a_bill_without_packages_has_none(packages: Any) -> None:
    assert read_bill({"spdxVersion": "SPDX-2.3", "packages": packages}, "x").components == ()


def test_all_wrong_package_urls_are_named() -> None:
    with pytest.raises(FileError) as caught:
        read_bill(spdx("pypi/torch", TORCH, 7, "pkg:"), "sbom.json")
    assert [each.what for each in caught.value.problems] == [
        "sbom.json: package URL 1 of 4, 'pypi/torch', is not valid.",
        "sbom.json: package URL 3 of 4, 7, is not valid.",
        "sbom.json: package URL 4 of 4, 'pkg:', is not valid.",
    ]
