# SPDX-License-Identifier: Apache-2.0
"""The packages of an image, by what its files say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cannery.lock.debs import debs_of
from cannery.lock.lock_file import parse_lock
from cannery.publish.inventory import (
    Origin,
    Package,
    debian_packages,
    declared,
    distribution,
    expression,
    vendor_packages,
    wheel,
    wheels,
)
from tests.unit.cann_packages import with_packages
from tests.unit.matrices import DIGEST, Checkout, lock_for

EMPTY = parse_lock("")

# As sha256sum writes the files that apt downloaded; apt writes a colon as %3a.
DEBS = f"""\
{"a" * 64}  half_1%3a2.0-1_all.deb
{"b" * 64}  libc6_2.31-13+deb11u11_amd64.deb
{"c" * 64}  other_1.0_arm64.deb
"""

STATUS = """\
Package: libc6
Status: install ok installed
Architecture: arm64
Multi-Arch: same
Version: 2.31-13+deb11u11
Depends: libgcc-s1, libcrypt1
Description: GNU C Library: Shared libraries
 Version: 9 of a line that belongs to the description
 .
 Package: none

Package: gone
Status: deinstall ok config-files
Architecture: arm64
Version: 1.0

Package: half
Status: install ok half-configured
Architecture: all
Version: 1:2.0-1
"""


def test_installed_packages_of_dpkg() -> None:
    result = debian_packages(STATUS)
    assert [(p.name, p.version, p.architecture) for p in result] == [
        ("half", "1:2.0-1", "all"),
        ("libc6", "2.31-13+deb11u11", "arm64"),
    ]
    # Without lists of files, the place of a package is unknown.
    assert {(p.source, p.file, p.place) for p in result} == {(Origin.DEBIAN, "", "")}


@pytest.mark.parametrize(
    ("source", "upstream"),
    [
        ("", ""),
        ("Source: glibc\n", "glibc"),
        ("Source: gcc-defaults (1.190)\n", "gcc-defaults@1.190"),
    ],
)
def test_the_source_of_a_debian_package_is_named_if_it_differs(source: str, upstream: str) -> None:
    # A paragraph that another program than dpkg has written has no Status.
    [result] = debian_packages(f"Package: x\n{source}Version: 1\nArchitecture: all\n")
    assert (result.version, result.upstream) == ("1", upstream)


def test_the_file_of_a_debian_package_comes_from_its_layer() -> None:
    half, libc6 = debian_packages(STATUS, debs_of(DEBS))
    assert (half.file, half.sha256, half.place) == ("half_2.0-1_all.deb", "a" * 64, "")
    # One for another architecture is none of the image.
    assert (libc6.file, libc6.sha256, libc6.place) == ("", "", "the base image")


NAMES = st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,12}", fullmatch=True)
VERSIONS = st.from_regex(r"([0-9]:)?[0-9][A-Za-z0-9.+~-]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, VERSIONS, max_size=8), st.text(max_size=30))
@example({"name": "1"}, "\u2028Version: 9")
@example({"name": "1"}, "\x85")
@example({"name": "1"}, " ")
def test_every_paragraph_is_a_package(packages: dict[str, str], more: str) -> None:
    # Any character but a line feed may be in a line; a blank line would end the paragraph.
    lines = (line if line.strip(" \t\r") else "." for line in more.split("\n"))
    description = "".join(f" {line}\n" for line in lines)
    text = "\n".join(
        f"Package: {name}\nStatus: install ok installed\nArchitecture: all\n"
        f"Description: x\n{description}Version: {version}\n"
        for name, version in packages.items()
    )
    result = debian_packages(text)
    assert {p.name: p.version for p in result} == packages


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('PRETTY_NAME="Debian GNU/Linux 11"\nVERSION_ID="11"\nID=debian\n', "debian-11"),
        ("ID=debian\n", "debian"),
        ("", ""),
        ("no line of this kind", ""),
    ],
)
def test_the_distribution_comes_from_os_release(text: str, result: str) -> None:
    assert distribution(text) == result


def test_a_wheel_has_its_metadata() -> None:
    metadata = (
        b"Metadata-Version: 2.1\nName: Typing_Extensions\nVersion: 4.12.2\n"
        b"Classifier: License :: OSI Approved :: MIT License\n\nName: of the text\n"
    )
    assert wheel("typing_extensions-4.12.2.dist-info", metadata) == Package(
        name="typing-extensions", version="4.12.2", license="MIT"
    )


@pytest.mark.parametrize("metadata", [b"", b"\xff\xfe", b"no header"])
def test_a_wheel_without_metadata_has_the_name_of_its_folder(metadata: bytes) -> None:
    result = wheel("torch_npu-2.1.0.post6.dist-info", metadata)
    assert (result.name, result.version, result.license) == ("torch-npu", "2.1.0.post6", "")


@given(st.binary(), st.text())
def test_any_metadata_is_read(metadata: bytes, folder: str) -> None:
    wheel(f"{folder}.dist-info", metadata)


def test_a_wheel_has_its_source_from_the_lock(checkout: Checkout) -> None:
    target = checkout.target()
    result = wheels(
        [
            Package(name="torch", version="2.3.1"),
            Package(name="numpy", version="2.0.0"),  # which the lock does not have
            Package(name="apex", version="0.1"),
            Package(name="stray", version="1"),
        ],
        [Package(name="te", version="0.4.0")],
        target,
        parse_lock(lock_for(target)),
        simulated=False,
    )
    assert {each.name: each.source for each in result} == {
        "apex": Origin.VENDOR,
        "numpy": Origin.UNKNOWN,
        "stray": Origin.UNKNOWN,
        "te": Origin.CANN,
        "torch": Origin.INDEX,
    }
    assert [each.name for each in result] == sorted(each.name for each in result)
    # Only of what is installed as it is locked the file is known.
    assert {each.name: (each.file, each.sha256) for each in result if each.file} == {
        "torch": ("torch-2.3.1-py3-none-any.whl", DIGEST)
    }


def test_the_simulator_s_wheel_is_not_the_vendor_s(checkout: Checkout) -> None:
    apex = [Package(name="apex", version="0.1+ascend")]
    for simulated, source in ((True, Origin.SIMULATOR), (False, Origin.VENDOR)):
        [result] = wheels(apex, [], checkout.target(), EMPTY, simulated=simulated)
        assert result.source is source


def test_vendor_files_have_names_versions_and_published_hashes(checkout: Checkout) -> None:
    target = checkout.target("bare")
    result = vendor_packages(target, target.components, {"toolkit": "f" * 64}, simulated=False)
    assert [(each.name, each.version, each.sha256) for each in result] == [
        ("kernels", "8.0.T39", ""),
        ("python", "3.8.18", DIGEST),
        ("toolkit", "8.0.T39", "f" * 64),
    ]
    assert {each.file for each in result} == {file.name for file in target.artifacts.values()}
    assert {each.source for each in result} == {Origin.VENDOR}


def test_cann_from_an_image_has_no_files_and_the_image_as_its_place(checkout: Checkout) -> None:
    image = f"quay.example/ascend/cann@sha256:{DIGEST}"
    target = checkout.target("bare", vendor_image=image)
    result = {p.name: p for p in vendor_packages(target, target.components, {}, simulated=False)}
    for name in ("toolkit", "kernels"):
        assert (result[name].file, result[name].sha256) == ("", "")
        assert result[name].place == f"the image {image}"
        assert result[name].version == "8.0.T39"
    assert result["python"].file == "cpython-3.8.18-aarch64.tar.gz"


def test_a_stand_in_does_not_have_the_vendor_s_hash(checkout: Checkout) -> None:
    target = checkout.target("bare")
    published = replace(target.toolkit_file, sha256="a" * 64)
    target = checkout.target("bare", cann=with_packages(target.cann, toolkit=published))
    result = {p.name: p for p in vendor_packages(target, target.components, {}, simulated=True)}
    assert result["toolkit"].sha256 == ""
    assert result["toolkit"].source is Origin.SIMULATOR
    assert result["python"].sha256 == DIGEST  # which has no stand-in
    assert result["python"].source is Origin.VENDOR


OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("MIT", "MIT"),
        ("mit", "MIT"),
        ("bsd-3-clause", "BSD-3-Clause"),
        ("Apache-2.0 and MIT", "Apache-2.0 AND MIT"),
        ("Apache License,  Version 2.0", "Apache-2.0"),
        ("BSD", ""),
        ("BSD License", ""),
        ("Apache-2.0 OR", ""),
        ("Copyright (c) 2005 somebody\n\nRedistribution", ""),
        ("", ""),
    ],
)
def test_only_certain_words_become_an_expression(words: str, meant: str) -> None:
    assert expression(words) == meant


@pytest.mark.parametrize(
    ("own", "words", "classifiers", "result"),
    [
        ("MIT AND BSD-3-Clause", "something else", [OSI + "Apache"], "BSD-3-Clause AND MIT"),
        ("", "MIT", [OSI + "Apache Software License"], "MIT"),
        ("", "Copyright (c) 2020", [OSI + "MIT License"], "MIT"),
        ("", "", [OSI + "BSD License"], "BSD License"),
        ("", "BSD", [OSI + "BSD License"], "BSD"),
        ("", "UNKNOWN", [], ""),
        ("", "", ["Programming Language :: Python"], ""),
        ("", "", [], ""),
    ],
)
def test_the_most_certain_field_wins(
    own: str, words: str, classifiers: list[str], result: str
) -> None:
    if " AND " in result:
        assert {*declared(own, words, classifiers).split(" AND ")} == {*result.split(" AND ")}
    else:
        assert declared(own, words, classifiers) == result
