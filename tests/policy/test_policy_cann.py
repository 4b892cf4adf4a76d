# SPDX-License-Identifier: Apache-2.0
"""The CANN releases of matrix.yaml are as their makers have them; what goes together is allowed.

Each case is one that a source of compat.yaml states, or the nearest one that it excludes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem
from cannery.common.model import CannRelease, Target
from cannery.compat import judge as judge_target
from cannery.compat.facts import Compat
from cannery.compat.files import file_row, name_in
from cannery.compat.finding import Finding, Verdict
from cannery.engine.preflight import judge_driver
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[2])
RELEASES = PROJECT.matrix().cann
COMPAT = PROJECT.compat()
STOCK = PROJECT.matrix().targets["py311-torch290-cann910-910b"]
MACHINES = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda each: each.version)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_package_has_the_vendor_s_name(release: CannRelease, machine: str) -> None:
    judged = CannVersion.parse(release.nearest_public or release.version)
    packages = release.packages[machine]
    named = {("kernels", chip): file for chip, file in packages.kernels.items()}
    named[("toolkit", "")] = packages.toolkit
    if packages.nnal:
        named[("nnal", "")] = packages.nnal
    for (component, chip), file in named.items():
        row = file_row(COMPAT, component, judged, chip)
        assert row, (component, chip)
        assert file.name == name_in(row, release.version, chip, machine)


ON_TOOLKIT = [
    # hicann/release-management 9.1.0/release-notes.md
    ("kernels", "9.1.0", "9.0.0", True),
    ("kernels", "9.1.0", "8.5.2", True),
    ("kernels", "9.1.0", "8.5.1", False),
    ("kernels", "9.0.0", "9.1.0", True),
    ("kernels", "8.5.2", "9.1.0", True),
    # 9.1.1/release-notes.md: 9.1.x, 9.0.x and 8.5.2
    ("kernels", "9.1.1", "9.1.0", True),
    ("kernels", "9.1.1", "9.0.1", True),
    ("kernels", "9.1.1", "8.5.2", True),
    ("kernels", "9.1.1", "8.5.0", False),
    ("kernels", "8.5.2", "9.1.1", True),
    # 9.0.1/release-notes.md
    ("kernels", "9.0.1", "9.0.0", True),
    ("kernels", "9.0.1", "8.5.2", True),
    ("kernels", "9.0.1", "9.1.0", False),
    # ascend_deployer 7.3.0 looks for a toolkit of the same version
    ("kernels", "8.5.1", "8.5.2", False),
    ("kernels", "8.3.RC1", "8.3.RC2", False),
    # Ascend/pytorch#99
    ("nnal", "9.1.0", "9.1.0", True),
    ("nnal", "9.0.0", "9.1.0", False),
    ("nnal", "9.1.1", "9.1.0", False),
]


def made(toolkit: str, kernels: str = "", nnal: str = "", chip: str = "910b") -> Target:
    own = {
        f"{name}_release": RELEASES[version] if version and version != toolkit else None
        for name, version in (("kernels", kernels), ("nnal", nnal))
    }
    return replace(STOCK, cann=RELEASES[toolkit], chip=chip, **own)  # type: ignore[arg-type]


def of(component: str, target: Target, compat: Compat = COMPAT) -> list[Finding]:
    found = [each for each in judge_target(target, compat) if each.component == component]
    return [each for each in found if each.verdict in (Verdict.FORBIDDEN, Verdict.UNKNOWN)]


@pytest.mark.parametrize(("component", "version", "toolkit", "goes"), ON_TOOLKIT)
def test_components_must_fit_a_toolkit(
    component: str, version: str, toolkit: str, goes: bool
) -> None:
    found = of(component, made(toolkit, **{component: version}))
    assert not found if goes else [each.verdict for each in found] == [Verdict.FORBIDDEN], found


def test_the_nearest_working_version_is_named() -> None:
    [found] = of("kernels", made("9.1.0", kernels="9.0.1"))
    assert found.text == (
        "kernels 9.0.1 cannot be installed on toolkit 9.1.0, only on 8.5.2, 9.0.0, 9.0.1."
    )
    assert found.fix == "Write kernels: 9.1.0. On this toolkit also go 8.5.2, 9.0.0, 9.1.1."
    [found] = of("nnal", made("9.1.0", nnal="9.0.0"))
    assert found.fix == "Write nnal: 9.1.0."


DRIVERS = [
    # 9.1.1/release-notes.md: 9.1.x not with 25.0.x, and with 25.2.x to 26.1.1
    ("9.1.1", "25.0.5", False),
    ("9.1.1", "25.2.0", True),
    ("9.1.1", "26.1.1", True),
    ("9.1.0", "25.0.5", False),
    ("9.1.0", "25.2.3", True),
    # and 8.5.2 and 9.0.x with 25.0.x
    ("9.0.0", "25.0.1", True),
    ("9.0.1", "25.0.1", True),
    ("8.5.2", "25.0.1", True),
    ("9.0.1", "24.1.rc3", False),
    ("8.5.2", "24.1.0", False),
    # CANN 8.5.0 release notes: 25.0.x to 25.5.x
    ("8.5.0", "25.0.1", True),
    ("8.5.0", "24.1.0", False),
    # ascend_deployer 7.3.0
    ("8.3.RC1", "25.3.rc1", True),
    ("8.3.RC1", "25.2.0", False),
]


@pytest.mark.parametrize(("version", "driver", "accepted"), DRIVERS)
def test_the_host_s_driver(version: str, driver: str, accepted: bool) -> None:
    assert isinstance(judge_driver(driver, made(version), COMPAT), Problem) != accepted


@pytest.mark.parametrize(
    ("version", "ends"), [("8.3.RC2", False), ("8.5.0", True), ("9.1.1", True)]
)
def test_removals_in_later_releases_are_reported(version: str, ends: bool) -> None:
    texts = [each.text for each in judge_target(made(version), COMPAT)]
    assert any("2026-12-30 will not have libascendcl.so" in text for text in texts) == ends
    assert any("below ascend-toolkit/latest" in text for text in texts) == ends
