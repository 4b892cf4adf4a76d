# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from packageurl import PackageURL

from cannery.matrix.project import Project
from cannery.publish.attestations import package_url, spdx
from cannery.publish.inventory import _WORDS, Inventory, Origin, Package
from tests.unit.bills import ANY_CONTENTS, CONTENTS, CREATED, IMAGE, read_spdx
from tests.unit.examples import times
from tests.unit.matrices import CHECKOUT, Checkout

TARGET = next(iter(Project(root=CHECKOUT).matrix().targets.values()))

FILE = "cd" * 32


@pytest.fixture
def bill(checkout: Checkout) -> dict[str, Any]:
    return spdx(checkout.target(), CONTENTS, image_digest=IMAGE, created=CREATED)


def package(bill: dict[str, Any], spdx_id: str) -> dict[str, Any]:
    [result] = [each for each in bill["packages"] if each["SPDXID"] == spdx_id]
    return dict(result)


def test_it_is_valid_and_says_everything(bill: dict[str, Any]) -> None:
    document = read_spdx(bill)
    assert document.creation_info.spdx_version == "SPDX-2.3"
    names = [each.name for each in document.packages]
    assert names == ["full", "python", "toolkit", "apex", "numpy", "te", "torch", "g++", "libc6"]
    kinds = [each.relationship_type.name for each in document.relationships]
    assert kinds == ["DESCRIBES", *["CONTAINS"] * 8]


def test_the_document_is_named_by_the_digest_of_the_image(checkout: Checkout) -> None:
    target = checkout.target()
    one = spdx(target, CONTENTS, image_digest=IMAGE, created=CREATED)
    assert one == spdx(target, CONTENTS, image_digest=IMAGE, created=CREATED)
    other = spdx(target, CONTENTS, image_digest="sha256:" + "0" * 64, created=CREATED)
    assert one["documentNamespace"] != other["documentNamespace"]
    assert IMAGE in one["documentNamespace"]


def test_a_vendor_file_has_its_hash(bill: dict[str, Any]) -> None:
    python = package(bill, "SPDXRef-vendor-python")
    assert python["checksums"] == [{"algorithm": "SHA256", "checksumValue": FILE}]
    assert python["packageFileName"] == "cpython-3.8.18.tar.gz"
    assert python["sourceInfo"] == "its makers"
    assert "checksum=" in python["externalRefs"][0]["referenceLocator"]


def test_a_debian_package_names_its_source() -> None:
    package = Package(name="g++", source=Origin.DEBIAN, upstream="gcc-defaults@1.190")
    url = PackageURL.from_string(package_url(package, CONTENTS))
    assert isinstance(url.qualifiers, dict)
    assert url.qualifiers["upstream"] == "gcc-defaults@1.190"


def test_a_debian_package_has_its_file_or_comes_with_the_base(bill: dict[str, Any]) -> None:
    gpp = package(bill, "SPDXRef-deb-g-2b--2b-")
    assert gpp["packageFileName"] == "g++_10.2.1-1_arm64.deb"
    assert gpp["checksums"] == [{"algorithm": "SHA256", "checksumValue": "ef" * 32}]
    libc6 = package(bill, "SPDXRef-deb-libc6")
    assert "checksums" not in libc6
    assert libc6["sourceInfo"] == "the base image"


def test_a_stand_in_says_so(bill: dict[str, Any]) -> None:
    toolkit = package(bill, "SPDXRef-vendor-toolkit")
    assert "stand-in" in toolkit["comment"]
    assert "checksums" not in toolkit
    assert "Simulated" in package(bill, "SPDXRef-image")["summary"]


def test_licences_are_expressions_or_references(bill: dict[str, Any]) -> None:
    licences = {each["name"]: each["licenseDeclared"] for each in bill["packages"]}
    assert licences["apex"] == "Apache-2.0"
    assert licences["te"] == "NOASSERTION"
    assert licences["torch"] == "LicenseRef-Own"
    texts = {x["licenseId"]: x["extractedText"] for x in bill["hasExtractedLicensingInfos"]}
    assert texts[licences["numpy"]] == "BSD License\nText"
    assert {*texts} == {licences["numpy"], "LicenseRef-Own"}


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("torch", "pkg:pypi/torch@2.3.1"),
        ("apex", "pkg:generic/apex@0.1%2Bascend"),
        ("te", "pkg:generic/te@0.4.0"),
        ("libc6", "pkg:deb/debian/libc6@2.31-13%2Bdeb11u11?arch=arm64&distro=debian-11"),
        ("g++", "pkg:deb/debian/g%2B%2B@4:10.2.1-1?arch=arm64&distro=debian-11"),
        (
            "python",
            f"pkg:generic/python@3.8.18?checksum=sha256:{FILE}&file_name=cpython-3.8.18.tar.gz",
        ),
        ("toolkit", "pkg:generic/cannery-simulator/toolkit@8.0.T39"),
    ],
)
def test_a_package_has_the_url_of_where_it_came_from(name: str, url: str) -> None:
    every = (*CONTENTS.wheels, *CONTENTS.debian, *CONTENTS.vendor)
    [result] = [each for each in every if each.name == name]
    made = package_url(result, CONTENTS)
    assert PackageURL.from_string(made) == PackageURL.from_string(url)


@times(0.5)
@given(ANY_CONTENTS)
def test_it_is_valid_whatever_is_in_the_image(inventory: Inventory) -> None:
    bill = spdx(TARGET, inventory, image_digest=IMAGE, created=CREATED)
    document = read_spdx(bill)
    held = [*inventory.vendor, *inventory.wheels, *inventory.debian]
    assert [each.name for each in document.packages[1:]] == [each.name for each in held]
    ids = {each.spdx_id for each in document.packages}
    assert len(ids) == len(document.packages)
    assert {r.related_spdx_element_id for r in document.relationships} == ids


def test_every_recognized_licence_is_an_spdx_licence(checkout: Checkout) -> None:
    packages = tuple(Package(name=words, license=words) for words in _WORDS)
    inventory = Inventory(wheels=packages, debian=(), vendor=())
    bill = spdx(checkout.target(), inventory, image_digest=IMAGE, created=CREATED)
    assert not bill["hasExtractedLicensingInfos"]
    read_spdx(bill)


def test_two_of_one_name_are_two(checkout: Checkout) -> None:
    wheels = (Package(name="six", version="1"), Package(name="six", version="2"))
    inventory = Inventory(wheels=wheels, debian=(), vendor=())
    bill = spdx(checkout.target(), inventory, image_digest=IMAGE, created=CREATED)
    assert [each["SPDXID"] for each in bill["packages"]] == [
        "SPDXRef-image",
        "SPDXRef-wheel-six",
        "SPDXRef-wheel-six-2",
    ]
    read_spdx(bill)
