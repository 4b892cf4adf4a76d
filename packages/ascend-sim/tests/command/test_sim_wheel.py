# SPDX-License-Identifier: Apache-2.0
"""The file of the wheel: its form, its names, and that it can be made again."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import os
import shutil
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from ascend_sim.packages.packer.errors import PackError
from tools import archive
from tools import wheel as command

from .conftest import MACHINE

INFO = f"ascend_sim-{archive.version()}.dist-info"
ELF_OF_ANOTHER = b"\x7fELF" + bytes(14) + (40).to_bytes(2, "little")


@pytest.fixture
def packed(wheel: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(wheel))


def test_the_same_files_give_the_same_bytes(
    device: Path, facts: dict[str, Any], wheel: bytes, tmp_path: Path
) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(device, copy, symlinks=True)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert archive.wheel(copy, MACHINE) == wheel


def test_record_names_every_file(packed: zipfile.ZipFile) -> None:
    rows = [*csv.reader(packed.read(f"{INFO}/RECORD").decode().splitlines())]
    assert [row[0] for row in rows] == packed.namelist()
    assert rows.pop() == [f"{INFO}/RECORD", "", ""]
    for name, digest, size in rows:
        content = packed.read(name)
        hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        assert (digest, int(size)) == (f"sha256={hashed.decode()}", len(content))


@pytest.mark.parametrize("machine", archive.MACHINES)
def test_the_tags_are_those_of_the_name(machine: str, device: Path, facts: dict[str, Any]) -> None:
    name, version, _, tags = parse_wheel_filename(archive.file_name(machine))
    assert (name, version) == ("ascend-sim", Version(archive.version()))
    made = zipfile.ZipFile(io.BytesIO(archive.wheel(device, machine)))
    fields = message_from_bytes(made.read(f"{INFO}/WHEEL"))
    assert {*fields.get_all("Tag", [])} == {str(tag) for tag in tags}
    assert {tag.platform for tag in tags} == {
        f"manylinux2014_{machine}",
        f"manylinux_2_17_{machine}",
    }
    assert fields["Root-Is-Purelib"] == "false"


def test_the_metadata(packed: zipfile.ZipFile) -> None:
    fields = message_from_bytes(packed.read(f"{INFO}/METADATA"))
    assert (fields["Name"], fields["Version"]) == ("ascend-sim", archive.version())
    assert fields["Requires-Python"] == ">=3.9"
    assert "Requires-Dist" not in fields
    readme = (archive.FOLDER / "README.md").read_text(encoding="utf-8")
    assert fields.get_payload() == readme
    assert f"{INFO}/licenses/{fields['License-File']}" in packed.namelist()


def test_the_wheel_has_all_required_files_and_no_more(packed: zipfile.ZipFile) -> None:
    names = {name.removeprefix("ascend_sim/") for name in packed.namelist()}
    assert {"command/program.py", "packages/layouts/cann/layout.json", "facts.json"} <= names
    assert "device/driver/bin/npu-smi" in names
    assert "packages/toolkit/te/__init__.py" in names
    assert not {name for name in names if "installer" in name or "__pycache__" in name}
    programs = {each.filename for each in packed.infolist() if each.external_attr >> 16 & 0o111}
    assert programs == {"ascend_sim/device/driver/bin/npu-smi"}


def test_the_oldest_python_can_read_it(packed: zipfile.ZipFile) -> None:
    oldest = tuple(int(part) for part in archive.PYTHON.split("."))
    sources = [name for name in packed.namelist() if name.endswith(".py")]
    assert len(sources) > 15
    for name in sources:
        ast.parse(packed.read(name), name, feature_version=(oldest[0], oldest[1]))


def test_a_device_of_another_machine_is_refused(
    device: Path, facts: dict[str, Any], tmp_path: Path
) -> None:
    copy = tmp_path / "device"
    shutil.copytree(device, copy, symlinks=True)
    (copy / "nnal/cxx_abi_0/libatb.so").write_bytes(ELF_OF_ANOTHER)
    with pytest.raises(PackError, match="ELF machine 40"):
        archive.wheel(copy, MACHINE)


def test_half_a_device_is_refused(device: Path, facts: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "device"
    shutil.copytree(device, copy, symlinks=True)
    (copy / "driver/bin/npu-smi").unlink()
    with pytest.raises(PackError, match="has no driver/bin/npu-smi: compile it"):
        archive.wheel(copy, MACHINE)


def test_the_facts_about_releases(facts: dict[str, Any]) -> None:
    releases = {each["version"]: each for each in facts["releases"]}
    assert releases["8.3.RC1"]["layout"] == "ascend-toolkit"
    assert releases["9.1.0"] == {
        "version": "9.1.0",
        "layout": "cann",
        "driver": "26.0.RC1",
        "toolkit": f"Ascend-cann-toolkit_9.1.0_linux-{MACHINE}.run",
        "nnal": f"Ascend-cann-nnal_9.1.0_linux-{MACHINE}.run",
        "kernels": {
            "910b": f"Ascend-cann-910b-ops_9.1.0_linux-{MACHINE}.run",
            "a3": f"Ascend-cann-A3-ops_9.1.0_linux-{MACHINE}.run",
            "310p": f"Ascend-cann-310p-ops_9.1.0_linux-{MACHINE}.run",
            "910": f"Ascend-cann-910-ops_9.1.0_linux-{MACHINE}.run",
            "950": f"Ascend-cann-950-ops_9.1.0_linux-{MACHINE}.run",
        },
        "lacks": [],
        "variables": releases["9.1.1"]["variables"],
    }
    assert releases["9.1.0"]["variables"]["ATB_STREAM_SYNC_EVERY_KERNEL_ENABLE"] == "0"
    assert "libascendcl MsprofGetHashId" in releases["8.3.RC1"]["lacks"]
    assert releases["8.5.1"]["driver"] == releases["8.5.0"]["driver"]
    of_torch_npu = facts["cann_of_torch_npu"]
    assert of_torch_npu["2.7.1"] == "8.3.RC1"
    assert of_torch_npu["2.10.0.post6"] == "9.1.0"
    assert {*of_torch_npu.values()} <= {*releases}
    assert facts["newest"] in releases


def test_the_wheels_are_written(device: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "dist"
    given = [word for name in archive.MACHINES for word in ("--device", f"{name}={device}")]
    assert command.main(["--out", str(out), *given]) == 0
    assert {path.name for path in out.iterdir()} == {*map(archive.file_name, archive.MACHINES)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("aarch46=.", "Did you mean 'aarch64'?"),
        (f"{MACHINE}=/nonexistent", "'/nonexistent' is not what build.sh makes"),
    ],
)
def test_an_invalid_device_is_refused(
    given: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--out", str(tmp_path / "dist"), "--device", given]) == 2
    assert said in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_an_unwritable_out_folder_is_reported(
    device: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--machine", MACHINE, "--device", f"{MACHINE}={device}"]
    assert command.main(["--out", "/dev/null/dist", *given]) == 9
    assert "Not a directory" in capsys.readouterr().err
