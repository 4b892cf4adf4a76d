# SPDX-License-Identifier: Apache-2.0
"""What the probe of the image tests takes for wrong, and what good wheels and hosts bring."""

from __future__ import annotations

import ast
import os
import re
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).parents[2] / "image" / "probes" / "facts.py"
CONSTANTS = {"ASCEND", "TEXT", "ELF", "MACHINES", "RIGHTS"}
AARCH64, X86_64, I386 = 183, 62, 3


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, the second in the path of modules, before Python's own."""
    folders = [tmp_path / "first", tmp_path / "site"]
    for each in folders:
        each.mkdir()
    library = Path(sysconfig.get_path("stdlib"))
    path = [*folders, library, library / "lib-dynload"]
    monkeypatch.setattr(sys, "path", [str(each) for each in path])
    return folders[1]


def probe(top: Path, machine: str = "aarch64") -> dict[str, Any]:
    """The probe's functions, which look at ``top`` in place of a container's root."""
    tree = ast.parse(PROBE.read_text(encoding="utf-8"))

    def is_wanted(node: ast.stmt) -> bool:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id in CONSTANTS
        return isinstance(node, ast.Import | ast.FunctionDef)

    tree.body = [each for each in tree.body if is_wanted(each)]
    found: dict[str, Any] = {"RECORD": {"machine": machine}, "NOT_OURS": ()}
    exec(compile(tree, str(PROBE), "exec"), found)
    found["ASCEND"] = str(top / "Ascend")
    found["ENTRIES"] = found["entries"](str(top))
    found["FILES"] = found["files"](found["ENTRIES"])
    return found


def elf(path: Path, machine: int, text: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF" + bytes(14) + struct.pack("<H", machine) + bytes(44) + text)
    return path


def install(site: Path, name: str, tags: list[str], *files: Path, version: str = "1") -> None:
    """A package as an installer leaves it."""
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = [f"{os.path.relpath(each, site)},," for each in files]
    (folder / "RECORD").write_text("\n".join(lines) + "\n")
    (folder / "WHEEL").write_text("".join(f"Tag: py3-none-{tag}\n" for tag in tags))
    described = {"Metadata-Version": "2.1", "Name": name, "Version": version, "Summary": "x"}
    text = "".join(f"{key}: {value}\n" for key, value in described.items())
    (folder / "METADATA").write_text(text)


def wrong(site: Path) -> list[str]:
    found = probe(site)["elf_machines"](str(site))["wrong"]
    return [Path(each).name for each in found]


def test_helpers_for_other_machines_in_a_wheel_for_any(site: Path) -> None:
    """As debugpy's, which looks into processes of other machines."""
    files = [elf(site / "debugpy" / f"attach_{name}.so", X86_64) for name in ("amd64", "linux")]
    install(site, "debugpy", ["any"], *files)
    assert wrong(site) == []


def test_helpers_beside_libraries_of_the_wheel_s_own_machine(site: Path) -> None:
    own = elf(site / "spore" / "core.so", AARCH64)
    install(site, "spore", ["manylinux_2_17_aarch64"], own, elf(site / "spore" / "x.so", X86_64))
    assert wrong(site) == []


@pytest.mark.parametrize("tag", ["any", "manylinux_2_17_aarch64"])
def test_a_module_for_another_machine_cannot_be_imported(site: Path, tag: str) -> None:
    module = elf(site / "spore" / "_core.cpython-39-x86_64-linux-gnu.so", X86_64, b"PyInit__core\0")
    install(site, "spore", [tag], module, elf(site / "spore" / "core.so", AARCH64))
    assert wrong(site) == [module.name]


def test_a_wheel_for_another_machine(site: Path) -> None:
    file = elf(site / "spore" / "core.so", X86_64)
    install(site, "spore", ["manylinux2014_x86_64"], file, elf(site / "spore" / "a", AARCH64))
    assert wrong(site) == ["core.so"]


def test_a_wheel_with_the_wrong_files(site: Path) -> None:
    file = elf(site / "spore" / "core.so", X86_64)
    install(site, "spore", ["manylinux_2_17_aarch64"], file)
    assert wrong(site) == ["core.so"]


def test_files_of_no_wheel(site: Path) -> None:
    elf(site / "stray.so", X86_64)
    elf(site / "kernel.o", 0x1029)
    assert wrong(site) == ["stray.so"]


def with_run_path(path: Path, machine: int, folders: str) -> Path:
    """A library with DT_RUNPATH, as the linker writes it: one segment, and its dynamic part."""
    text = b"\0" + folders.encode() + b"\0"
    dynamic = struct.pack("<6Q", 5, 176 + 48, 29, 1, 0, 0)
    size = 176 + len(dynamic) + len(text)
    content = b"\x7fELF\x02\x01\x01" + bytes(9)
    content += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    content += struct.pack("<II6Q", 1, 5, 0, 0, 0, size, size, 4096)
    content += struct.pack("<II6Q", 2, 6, 176, 176, 176, len(dynamic), len(dynamic), 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content + dynamic + text)
    return path


DEVICE = (
    "x86_64-linux/devlib/device/libruntime.so",
    "x86_64-linux/devlib/linux/aarch64/libascendcl.so",
    "lib64/device/lib64/libdrvdevdrv.so",
    "opp/built-in/op_impl/aicpu/kernel/libmath_aicpu_kernels.so",
    "opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/aarch64/liboptiling.so",
    "opp/Ascend910B/aicpu/op_master_device/lib/libopmaster.so",
    "opp/built-in/op_impl/aicpu_kernel/lib/Ascend910B/libcpu_kernels.so",
    "toolkit/toolchain/hcc/bin/aarch64-target-linux-gnu-gcc",
    "tools/x86_64-linux/minios/aarch64/libgraph.so",
)
"""Where CANN for x86_64 has programs for aarch64: of runtime 9.1.0 (RuntimeSo.xml), ops-math 9.1.0
(cmake/symbol.cmake), and the lists of files of 8.1.RC1."""


@pytest.fixture
def cann(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CANN for x86_64 with all that it has for the device, and its search paths."""
    top = site / "Ascend" / "cann"
    for each in DEVICE:
        elf(top / each, AARCH64)
    elf(top / "lib64" / "libascendcl.so", X86_64)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{top}/lib64:{top}/lib64/plugin/opskernel")
    monkeypatch.setenv("PYTHONPATH", f"{top}/python/site-packages:{top}/opp/built-in/op_impl")
    monkeypatch.setenv("PATH", f"{top}/bin:{os.environ['PATH']}")
    return top


def loaded_wrong(cann: Path) -> list[str]:
    site = cann.parents[1]
    found = probe(site, "x86_64")["elf_machines"](str(site / "packages"))["wrong"]
    return [str(Path(each).relative_to(cann)) for each in found]


def test_libraries_of_cann_for_the_device_are_right(cann: Path) -> None:
    assert loaded_wrong(cann) == []


@pytest.mark.parametrize(
    "path",
    [
        "lib64/libhccl.so",
        "lib64/plugin/opskernel/libaicore.so",
        "bin/atc",
        "opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/x86_64/liboptiling.so",
    ],
)
def test_libraries_that_would_be_loaded_are_wrong(cann: Path, path: str) -> None:
    elf(cann / path, AARCH64)
    assert loaded_wrong(cann) == [path]


def test_a_module_of_cann_for_another_machine_is_wrong(cann: Path) -> None:
    module = "python/site-packages/acl.so"
    elf(cann / module, AARCH64, b"PyInit_acl\0")
    assert loaded_wrong(cann) == [module]


def test_a_link_to_a_library_for_the_device_is_followed(cann: Path) -> None:
    (cann / "lib64" / "libruntime.so").symlink_to(f"../{DEVICE[0]}")
    assert loaded_wrong(cann) == [DEVICE[0]]


@pytest.mark.parametrize("folders", ["$ORIGIN/../private", "/x:${ORIGIN}/../lib64/../private"])
def test_run_paths_are_followed(cann: Path, folders: str) -> None:
    with_run_path(cann / "lib64" / "libge.so", X86_64, folders)
    elf(cann / "private" / "libinner.so", AARCH64)
    assert loaded_wrong(cann) == ["private/libinner.so"]


def test_of_two_packages_the_imported_one_is_reported(site: Path) -> None:
    """Of two with one name Python imports the first in its path."""
    install(site, "numpy", ["any"], version="1.26.4")
    install(site.parent / "first", "NumPy", ["any"], version="2.0")
    assert probe(site)["distributions"]()["numpy"]["version"] == "2.0"


@pytest.fixture
def program() -> Iterator[Path]:
    """A program outside of /tmp, where anybody may have rights."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder) / "usr" / "bin" / "program"
        path.parent.mkdir(parents=True)
        path.write_text("x")
        path.chmod(0o755)
        yield path


LABELS = {
    "security.selinux": b"system_u:object_r:container_file_t:s0\0",
    "security.ima": b"\x04\x04" + bytes(32),
    "user.origin": b"x",
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_the_host_are_no_rights(program: Path, name: str) -> None:
    try:
        os.setxattr(program, name, LABELS[name])
    except OSError as error:
        pytest.skip(f"this kernel or file system has no {name}: {error}")
    assert probe(program.parents[2])["rights"]() == []


def test_capabilities_are_rights(program: Path) -> None:
    try:
        os.setxattr(program, "security.capability", bytes.fromhex("0100000200040000" + "00" * 12))
    except PermissionError as error:
        pytest.skip(f"needs root: {error}")
    assert probe(program.parents[2])["rights"]() == [str(program)]


def test_the_rights_of_an_access_list(program: Path) -> None:
    """What lets one more user write is in an attribute, too."""
    entries = [(1, 7, -1), (2, 7, 1234), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
    text = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, rights, number & 0xFFFFFFFF) for tag, rights, number in entries
    )
    try:
        os.setxattr(program, "system.posix_acl_access", text)
    except OSError as error:
        pytest.skip(f"this file system has no access lists: {error}")
    assert str(program) in " ".join(probe(program.parents[2])["rights"]())


@pytest.mark.parametrize(
    "record",
    [
        "Toolkit_InstallPath=/usr/local/Ascend/ascend-toolkit\n",
        "Toolkit_InstallPath=/usr/local/Ascend/ascend-toolkit/latest\n",
        "version=1.0\nInstall_Path=/usr/local/Ascend/cann-9.1.0\n",
    ],
    ids=["8.0.RC2", "8.1.RC1", "9.1.0"],
)
def test_the_record_of_each_generation_names_the_toolkit(record: str) -> None:
    tree = ast.parse((PROBE.parents[1] / "toolkit/test_toolkit.py").read_text(encoding="utf-8"))
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    tree.body = [each for each in functions if each.name == "test_installer_record"]
    for each in functions:
        each.decorator_list = []
    found: dict[str, Any] = {"re": re, "Facts": dict}
    exec(compile(tree, "test_toolkit.py", "exec"), found)
    found["test_installer_record"]({"install_record": record})
    with pytest.raises(AssertionError):
        elsewhere = record.replace("/usr/local", "/root")
        found["test_installer_record"]({"install_record": elsewhere})
