# SPDX-License-Identifier: Apache-2.0
"""The wheel around the compiled device: its cards are there, and its libraries fit its tag."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.dynamic import DynamicSection

from tests.command.conftest import Python, unpack
from tools import archive

from .test_libraries import read

MACHINE = platform.machine()
ANYWHERE = {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"}
"""What manylinux lets a wheel expect of a machine, beside the loader."""
COUNT = """
import ctypes
library, count = ctypes.CDLL("libascendcl.so"), ctypes.c_uint32()
print(library.aclrtGetDeviceCount(ctypes.byref(count)), count.value)
"""


def needed(path: Path) -> set[str]:
    section = read(path).get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    tags: Iterator[Any] = section.iter_tags("DT_NEEDED")
    return {tag.needed for tag in tags}


@pytest.fixture
def python(built: Path, tmp_path: Path) -> Python:
    unpack(archive.wheel(built, MACHINE), tmp_path / "site")
    return Python(tmp_path / "site", tmp_path / "home")


def test_the_cards_are_there(python: Python) -> None:
    options = ("run", "--no-torch-npu", "--cards", "3", "--chip", "a3", "--")
    done = python.call(*options, sys.executable, "-c", COUNT)
    assert (done.returncode, done.stdout) == (0, "0 3\n"), done.stderr
    assert "cannery: simulated Ascend device" in done.stderr
    shown = python.call(*options, "npu-smi", "info")
    assert "Phy-ID" in shown.stdout
    assert "the NPUs below are simulated" in shown.stderr


def test_libraries_need_common_system_libraries_only(built: Path) -> None:
    files = [*built.rglob("*.so"), built / "driver/bin/npu-smi"]
    names = {name for path in files if path.is_file() for name in needed(path)}
    assert "libc.so.6" in names
    own = {path.name for path in files}
    assert {name for name in names - own if not name.startswith("ld-linux-")} <= ANYWHERE
