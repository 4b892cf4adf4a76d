# SPDX-License-Identifier: Apache-2.0
"""What the built files export and need."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from .hosts import DEVICE

LIBRARIES = {
    "toolkit/lib64/libascendcl.so": "libascendcl.so",
    "toolkit/devlib/libascend_hal.so": "libascend_hal.so",
    "driver/lib64/driver/libascend_hal.so": "libascend_hal.so",
    "nnal/cxx_abi_0/libatb.so": "libatb.so",
    "nnal/cxx_abi_1/libatb.so": "libatb.so",
}
VENDOR_PREFIXES = (
    "acl",
    "Hccl",
    "Msprof",
    "mspti",
    "rt",
    "drv",
    "hal",
    "_ZN2ge",
    "_ZNK2ge",
    "_ZN3atb",
    "_ZNK3atb",
)
# Functions of CANN's libmmpa.so, libascendalog.so and libascend_dump.so.
MINDSPORES = {
    *("mmGetTid", "_Z13CheckLogLevelii", "_Z9DlogFlushv"),
    "_ZN3Adx14AdxDumpProcess23MessageCallbackRegisterEPFiPKNS_9DumpChunkEiE",
    "_ZN3Adx14AdxDumpProcess25MessageCallbackUnRegisterEv",
}
BUILDER = "libhcom_opskernel_builder"
OLDEST_GLIBC = (2, 17)


def read(path: Path) -> ELFFile:
    return ELFFile(io.BytesIO(path.read_bytes()))


def exports(path: Path) -> set[str]:
    table = read(path).get_section_by_name(".dynsym")
    assert isinstance(table, SymbolTableSection)
    return {str(s.name) for s in table.iter_symbols() if s.name and s["st_shndx"] != "SHN_UNDEF"}


@pytest.mark.parametrize("file", LIBRARIES)
def test_only_the_vendor_s_interface_is_exported(built: Path, file: str) -> None:
    names = exports(built / file)
    assert names
    own = {name for name in names if not name.startswith(VENDOR_PREFIXES)}
    # By this alone the simulated CANN tells its driver from a real one.
    driver = {f"npusim_driver_{name}" for name in ("protocol", "host", "users", "chip")}
    expected = {
        "driver/lib64/driver/libascend_hal.so": driver,
        "toolkit/devlib/libascend_hal.so": {"npusim_driver_protocol"},
        "toolkit/lib64/libascendcl.so": {"snprintf_s", "vsnprintf_s", "strcpy_s"} | MINDSPORES,
    }
    assert own == expected.get(file, set())


@pytest.mark.parametrize("file", LIBRARIES)
def test_the_soname_is_the_vendor_s(built: Path, file: str) -> None:
    section = read(built / file).get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    tags: Iterator[Any] = section.iter_tags("DT_SONAME")
    assert [tag.soname for tag in tags] == [LIBRARIES[file]]


def test_every_symbol_needed_by_the_wheels_is_exported(built: Path) -> None:
    files = {"libascendcl": "toolkit/lib64/libascendcl.so", "libatb": "nnal/cxx_abi_1/libatb.so"}
    files[BUILDER] = f"toolkit/lib64/{BUILDER}.so"
    found = {library: exports(built / file) for library, file in files.items()}
    lines = (DEVICE / "symbols.txt").read_text().splitlines()
    needed = [line.split() for line in lines if not line.startswith("#")]
    assert len(needed) > 150
    assert [row for row in needed if row[1] not in found[row[0]]] == []


def test_every_operator_has_both_of_its_functions(built: Path) -> None:
    names = {n for n in exports(built / "toolkit/lib64/libascendcl.so") if n.startswith("aclnn")}
    plans = {name for name in names if name.endswith("GetWorkspaceSize")}
    assert len(plans) > 400
    sizes = {"aclnnNpuFormatCastCalculateSizeAndFormat"}
    sizes |= {name for name in names if name.endswith("GetMaxWorkspaceSize")}
    assert names - plans - sizes == {name.removesuffix("GetWorkspaceSize") for name in plans}


@pytest.mark.parametrize(
    "file",
    [
        "toolkit/lib64/libascendcl.so",
        "driver/lib64/driver/libascend_hal.so",
        "nnal/cxx_abi_0/libatb.so",
        "nnal/cxx_abi_1/libatb.so",
        "driver/bin/npu-smi",
    ],
)
def test_an_old_glibc_is_enough(built: Path, file: str) -> None:
    section = read(built / file).get_section_by_name(".gnu.version_r")
    assert isinstance(section, GNUVerNeedSection)
    versions = {str(entry.name) for _, entries in section.iter_versions() for entry in entries}
    glibc = {v.removeprefix("GLIBC_") for v in versions if v.startswith("GLIBC_")}
    assert glibc
    assert all(tuple(map(int, version.split("."))) <= OLDEST_GLIBC for version in glibc)


def test_the_other_names_lead_to_the_one_library(built: Path) -> None:
    folder = built / "toolkit" / "lib64"
    links = {path.name for path in folder.iterdir() if path.is_symlink()}
    assert {"libhccl.so", "libopapi.so", "libacl_op_compiler.so"} <= links
    # What torchair's libraries need.
    assert {"libge_runner.so", "libgraph.so", "libfmk_parser.so", "libascend_protobuf.so"} <= links
    assert all(str(Path(folder / name).readlink()) == "libascendcl.so" for name in links)
