# SPDX-License-Identifier: Apache-2.0
"""The files that name a release, and operators of another one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from .conftest import ARCH, KERNELS, TOOLKIT, Machine, Packed
from .test_install import LINUX, read_settings


def test_every_info_file_names_its_version(installed: Callable[[str], Machine]) -> None:
    machine = installed("t39")
    place = machine.ascend / "ascend-toolkit/8.0.T39" / LINUX
    info = read_settings(place / "ascend_toolkit_install.info")
    assert info.pop("innerversion").endswith("simulated")
    assert info == {
        "package_name": "Ascend-cann-toolkit",
        "version": "8.0.T39",
        "arch": ARCH,
        "os": "linux",
        "path": str(place),
    }


def test_kernels_before_8_5_have_a_version_info_only(installed: Callable[[str], Machine]) -> None:
    machine = installed("t39")
    home = machine.ascend / "ascend-toolkit/latest"
    info = read_settings(home / "opp_kernel/version.info")
    assert info["version_dir"] == "8.0.T39"
    assert info["Version"] == "0.0.0.0.0"
    assert info["required_package_runtime_version"] == '">=8.0"'
    assert not list(machine.ascend.rglob("ascend_kernels_install.info"))
    assert read_settings(home / "runtime/version.info")["version_dir"] == "8.0.T39"


def test_parts_of_the_new_layout_have_version_and_scene(
    installed: Callable[[str], Machine],
) -> None:
    machine = installed("cann91")
    home = machine.ascend / "cann"
    for part in ("compiler", "share/info/runtime", "opp", "share/info/ops_nn"):
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


@pytest.mark.parametrize(("for_all", "mode"), [(True, 0o444), (False, 0o440)])
def test_install_for_all_lets_others_read(
    machine: Machine, cann91: Packed, for_all: bool, mode: int
) -> None:
    options = ["--quiet", "--install", f"--install-path={machine.ascend}"]
    options += ["--install-for-all"] if for_all else []
    assert machine.run(cann91.file(TOOLKIT), *options).returncode == 0
    info = machine.ascend / "cann/share/info/runtime/version.info"
    assert info.stat().st_mode & 0o777 == mode


def test_operators_of_another_version_go_into_the_toolkits_folder(
    machine: Machine, cann91: Packed, pack: Callable[..., Packed]
) -> None:
    mixed = pack("9.0.0", "cann", ARCH, "910b", "9.1.0")
    machine.must_install(mixed.file(TOOLKIT))
    machine.must_install(mixed.file(KERNELS))
    home = machine.ascend / "cann-9.0.0"
    assert read_settings(home / LINUX / "ascend_toolkit_install.info")["version"] == "9.0.0"
    assert read_settings(home / LINUX / "ascend_ops_install.info")["version"] == "9.1.0"
    assert read_settings(home / "opp/version.info")["Version"] == "9.1.0"
    assert read_settings(home / "opp/version.info")["required_package_runtime_version"] == '">=9.0"'
    assert not (machine.ascend / "cann-9.1.0").exists()
    machine.must_install(cann91.file(TOOLKIT))
    result = machine.install(pack("9.2.0", "cann").file(KERNELS))
    assert result.returncode == 1
    assert "CANN toolkit 9.0.0 9.1.1 is installed, this package is for 9.2.0" in result.stdout
