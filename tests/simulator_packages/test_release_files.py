# SPDX-License-Identifier: Apache-2.0
"""The files that name a release, operators of another one, and the vendor's other actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ARCH, KERNELS, NNAL, TOOLKIT, Machine, Packed
from .test_install import install_all, read_settings

USAGE, TOOLKIT_MISSING, NOT_INSTALLED = 2, 5, 7


def test_kernels_before_8_5_have_a_version_info_only(machine: Machine, t39: Packed) -> None:
    install_all(machine, t39)
    home = machine.ascend / "ascend-toolkit/latest"
    info = read_settings(home / "opp_kernel/version.info")
    assert info["version_dir"] == "8.0.T39"
    assert info["Version"] == "0.0.0.0.0"
    assert info["required_package_runtime_version"] == '">=8.0"'
    assert not list(machine.ascend.rglob("ascend_kernels_install.info"))
    assert read_settings(home / "runtime/version.info")["version_dir"] == "8.0.T39"


def test_parts_of_the_new_layout_have_version_and_scene(machine: Machine, cann91: Packed) -> None:
    install_all(machine, cann91)
    home = machine.ascend / "cann"
    for part in ("runtime", "compiler", "share/info/runtime", "opp", "share/info/ops-nn"):
        info = read_settings(home / part / "version.info")
        assert (info["Version"], info["version_dir"]) == ("9.1.1", "cann")
        assert re.fullmatch(r"\d{8}_\d{9}", info["timestamp"])
    assert read_settings(home / "share/info/runtime/scene.info") == {
        "os": "linux",
        "os_version": "simulated",
        "arch": ARCH,
    }
    info = read_settings(home / f"{ARCH}-linux/ascend_ops_install.info")
    assert info["path"] == str(machine.ascend / "cann-9.1.1")
    assert "Version=9.1.1\n" in (machine.ascend / "nnal/atb/latest/version.info").read_text()


@pytest.mark.parametrize(("for_all", "mode"), [(True, 0o444), (False, 0o440)])
def test_others_get_what_the_group_may(
    machine: Machine, cann91: Packed, for_all: bool, mode: int
) -> None:
    options = ["--quiet", "--install", f"--install-path={machine.ascend}"]
    options += ["--install-for-all"] if for_all else []
    assert machine.run(cann91.file(TOOLKIT), *options).returncode == 0
    info = machine.ascend / "cann/share/info/runtime/version.info"
    assert info.stat().st_mode & 0o777 == mode


@pytest.fixture
def mixed(pack: Callable[..., Packed]) -> Packed:
    return pack("9.0.0", "cann", ARCH, "910b", "9.1.0")


def test_operators_of_another_version_go_into_the_toolkits_folder(
    machine: Machine, mixed: Packed
) -> None:
    install_all(machine, mixed)
    home = machine.ascend / "cann-9.0.0"
    linux = home / f"{ARCH}-linux"
    assert read_settings(linux / "ascend_toolkit_install.info")["version"] == "9.0.0"
    assert read_settings(linux / "ascend_ops_install.info")["version"] == "9.1.0"
    assert read_settings(home / "opp/version.info")["Version"] == "9.1.0"
    assert read_settings(home / "opp/version.info")["required_package_runtime_version"] == '">=9.0"'
    assert not (machine.ascend / "cann-9.1.0").exists()


def test_operators_need_the_toolkit_that_they_are_for(
    machine: Machine, mixed: Packed, cann91: Packed
) -> None:
    machine.must_install(cann91.file(TOOLKIT))
    result = machine.install(mixed.file(KERNELS))
    assert result.returncode == TOOLKIT_MISSING
    assert "CANN toolkit 9.1.1 is installed, this package is for 9.0.0" in result.stderr


@pytest.mark.parametrize("layout", ["t39", "cann91"])
def test_what_is_uninstalled_leaves_nothing(
    request: pytest.FixtureRequest, machine: Machine, layout: str
) -> None:
    packed: Packed = request.getfixturevalue(layout)
    machine.must_install(packed.file(TOOLKIT))
    alone = machine.state()
    install_all(machine, packed)
    path = f"--install-path={machine.ascend}"
    for component in (NNAL, KERNELS):
        assert machine.run(packed.file(component), "--uninstall", path).returncode == 0
    assert machine.state() == alone
    result = machine.run(packed.file(TOOLKIT), "--uninstall", path)
    assert "is no longer installed" in result.stdout
    assert [*machine.state()] == ["usr/Ascend"]
    assert not machine.record.exists()
    again = machine.run(packed.file(TOOLKIT), "--uninstall", path)
    assert again.returncode == NOT_INSTALLED
    assert f"is not installed in {machine.ascend}" in again.stderr


def test_files_of_others_stay_where_a_package_was(machine: Machine, cann91: Packed) -> None:
    machine.must_install(cann91.file(TOOLKIT))
    mine = machine.ascend / "cann-9.1.1/mine.txt"
    mine.write_text("mine")
    machine.run(cann91.file(TOOLKIT), "--uninstall", f"--install-path={machine.ascend}")
    assert mine.read_text() == "mine"


def test_a_link_to_another_version_is_kept(machine: Machine, t39: Packed, rc3: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    machine.must_install(rc3.file(TOOLKIT))
    machine.run(t39.file(TOOLKIT), "--uninstall", f"--install-path={machine.ascend}")
    assert str((machine.ascend / "ascend-toolkit/latest").readlink()) == "8.0.RC3"
    assert not (machine.ascend / "ascend-toolkit/8.0.T39").exists()


def test_only_what_is_installed_is_upgraded(machine: Machine, t39: Packed, rc3: Packed) -> None:
    options = ("--quiet", "--upgrade", f"--install-path={machine.ascend}")
    result = machine.run(rc3.file(TOOLKIT), *options)
    assert result.returncode == NOT_INSTALLED
    assert machine.state() == {}
    machine.must_install(t39.file(TOOLKIT))
    assert machine.run(rc3.file(TOOLKIT), *options).returncode == 0
    assert str((machine.ascend / "ascend-toolkit/latest").readlink()) == "8.0.RC3"


@pytest.mark.parametrize(
    ("component", "option", "code"),
    [
        (TOOLKIT, "--devel", 0),
        (TOOLKIT, "--full", 0),
        (NNAL, "--devel", USAGE),
        (NNAL, "--full", USAGE),
        (KERNELS, "--full", USAGE),
    ],
)
def test_actions_are_those_of_the_package(
    machine: Machine, cann91: Packed, component: str, option: str, code: int
) -> None:
    path = f"--install-path={machine.ascend}"
    options = ("-q", option, path, "--chip=Ascend910B3", "--nox11", "--force")
    assert machine.run(cann91.file(component), *options).returncode == code


def test_a_package_says_what_it_is_and_has(
    machine: Machine, cann91: Packed, tmp_path: Path
) -> None:
    info = machine.run(cann91.file(KERNELS), "--info")
    assert f"Ascend-cann-910b-ops 9.1.1 linux-{ARCH}" in info.stdout
    assert "Installed on: CANN toolkit 9.1.1" in info.stdout
    listed = machine.run(cann91.file(KERNELS), "--list").stdout
    assert "cann-9.1.1/opp/version.info" in listed
    out = tmp_path / "out"
    out.mkdir()
    tar = machine.run(cann91.file(KERNELS), "--tar", "xf", "-C", str(out))
    assert tar.returncode == 0, tar.stderr
    assert (out / "cann-9.1.1/opp/version.info").is_file()
    assert machine.state() == {}
