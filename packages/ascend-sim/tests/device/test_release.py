# SPDX-License-Identifier: Apache-2.0
"""The release of CANN that the device tells."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from .hosts import Host

CANN, DRIVER = "0", "7"
INVALID_FILE, INVALID_PARAMETER = 100003, 100000
UNKNOWN = ["", ["", "", "", ""]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / f"{platform.machine()}-linux"
    folder.mkdir()
    text = "package_name=Ascend-cann-toolkit\nversion=8.3.RC1\ninnerversion=V100\n"
    (folder / "ascend_toolkit_install.info").write_text(text)
    return tmp_path


def test_the_release_is_the_toolkits(host: Host, home: Path) -> None:
    found = host.ask("release", CANN, ASCEND_HOME_PATH=str(home))
    assert found == [0, "8.3.RC1", ["8", "3", "RC1", ""]]


def test_the_drivers_release_is_unknown(host: Host, home: Path) -> None:
    assert host.ask("release", DRIVER, ASCEND_HOME_PATH=str(home)) == [INVALID_FILE, *UNKNOWN]


def test_without_a_toolkit_the_release_is_unknown(host: Host, tmp_path: Path) -> None:
    assert host.ask("release", CANN, ASCEND_HOME_PATH=None) == [INVALID_FILE, *UNKNOWN]
    assert host.ask("release", CANN, ASCEND_HOME_PATH=str(tmp_path)) == [INVALID_FILE, *UNKNOWN]


def test_an_unknown_package_is_an_error(host: Host, home: Path) -> None:
    found = host.ask("release", "8", ASCEND_HOME_PATH=str(home))
    assert found == [INVALID_PARAMETER, *UNKNOWN]


def test_functions_of_newer_releases_exist_for_torch_npu(host: Host) -> None:
    assert host.ask("set_stream_attribute") == 0
