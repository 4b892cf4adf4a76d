# SPDX-License-Identifier: Apache-2.0
"""What ``nox -s package-names`` finds in a package list, which apt reads."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.matrix.project import Project
from tests.package_names import ROOT, bases, listed, lists_of, names_of

PACKAGES = """\
Package: libcurl4t64
Version: 8.14.1-2
Architecture: arm64
Provides: libcurl4 (= 8.14.1-2)
Depends: libc6
Filename: ./libcurl4t64.deb
Size: 1
SHA256: 0000000000000000000000000000000000000000000000000000000000000000
"""


def test_a_name_that_is_only_provided_or_required_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "Packages").write_text(PACKAGES, encoding="utf-8")
    lines = [f"deb [trusted=yes] file:{tmp_path} ./"]
    assert listed(lines, "arm64", ["libcurl4", "libcurl4t64", "libc6"]) == {"libcurl4t64"}
    assert listed(lines, "arm64", ["libcurl4"]) == set()


def test_a_list_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        listed([f"deb [trusted=yes] file:{tmp_path}/none ./"], "arm64", ["g++"])


def test_names_are_those_of_the_base_and_of_applications() -> None:
    targets = Project(root=ROOT).matrix().targets.values()
    known = bases()
    names = names_of(known["debian-13"], targets)
    assert (names["libcurl4t64"], names["g++"]) == ("curl", "compiler")
    assert "libcurl4" not in names
    applications = [each for each in targets if each.application and each.application.packages]
    assert applications
    for target in applications:
        assert target.application
        wanted = target.base.distribution.packages_for(*target.application.packages)
        assert {*wanted} <= names_of(target.base, targets).keys()


def test_lists_of_another_distribution_are_those_of_its_mirrors() -> None:
    noble = bases()["ubuntu-24.04"]
    assert lists_of(noble, []) == {}
    mirror = ("ubuntu", "amd64", "http://mirror.example.com/ubuntu")
    line = "deb [trusted=yes] http://mirror.example.com/ubuntu noble main universe"
    assert lists_of(noble, [mirror, ("mint", "arm64", "http://example.com")]) == {"amd64": [line]}
    openeuler = replace(noble, distribution=bases()["openeuler-24.03"].distribution)
    assert lists_of(openeuler, [mirror]) == {}
