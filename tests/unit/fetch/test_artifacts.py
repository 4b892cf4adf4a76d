# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import gzip
import hashlib
import io
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError, FileError
from cannery.common.model import Target
from cannery.fetch.artifacts import check_artifacts, machine_of
from cannery.matrix.schema import parse_matrix
from tests.fetch.run_files import run_file as shell_archive
from tests.unit.applications import TEXT
from tests.unit.cann_packages import with_packages
from tests.unit.matrices import DIGEST, Checkout

AARCH64, X86_64, AICORE = 183, 62, 0x1029


def elf(machine: int) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, machine) + bytes(44)


def tar_gz(*contents: bytes) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for number, content in enumerate(contents):
            member = tarfile.TarInfo(f"file{number}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def run_file(*contents: bytes) -> bytes:
    return shell_archive(tar_gz(*contents))


def wheel(*contents: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"file{number}", content)
    return target.getvalue()


Pack = Callable[..., bytes]
PACKS = pytest.mark.parametrize("pack", [run_file, tar_gz, wheel])


@pytest.fixture
def full(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


@pytest.fixture
def folder(tmp_path: Path, full: Target) -> Path:
    """Everything that the target ``full`` needs, as it should be."""
    path = tmp_path / "artifacts"
    path.mkdir()
    for component, file in full.artifacts.items():
        pack = wheel if component == "apex" else run_file
        (path / file.name).write_bytes(pack(b"text", elf(AARCH64)))
    return path


def refusal(target: Target, folder: Path, *, simulated: bool = False) -> list[str]:
    with pytest.raises(ArtifactError) as caught:
        check_artifacts(target, folder, target.artifacts, simulated=simulated)
    return [str(problem) for problem in caught.value.problems]


def test_good_files_are_named_by_their_hashes(full: Target, folder: Path) -> None:
    assert check_artifacts(full, folder, full.artifacts) == {
        component: hashlib.sha256((folder / file.name).read_bytes()).hexdigest()
        for component, file in full.artifacts.items()
    }


def test_all_missing_files_are_listed_at_once(full: Target, tmp_path: Path) -> None:
    *missing, advice = refusal(full, tmp_path / "nowhere")
    assert missing == [
        f"{tmp_path}/nowhere/{file.name} is missing. Get it from: {file.origin}."
        for file in full.artifacts.values()
    ]
    assert f"Put the files into {tmp_path}/nowhere" in advice
    assert "--artifacts" in advice
    assert advice.endswith("add --simulate.")


def test_an_interim_release_is_said_to_be_one(checkout: Checkout, tmp_path: Path) -> None:
    *_, advice = refusal(checkout.matrix.targets["bare"], tmp_path)
    assert "8.0.T39 is an interim build and was never published" in advice
    assert "nearest public release is 8.0.RC3." in advice


def test_the_file_for_the_other_machine_is_noticed(full: Target, folder: Path) -> None:
    name = full.toolkit_file.name
    (folder / name).rename(folder / name.replace("aarch64", "x86_64"))
    missing, _ = refusal(full, folder)
    assert "(The file for x86_64 is there, but full needs aarch64.)" in missing


def test_an_empty_file(full: Target, folder: Path) -> None:
    (folder / full.toolkit_file.name).write_bytes(b"")
    empty, _ = refusal(full, folder)
    assert (
        empty == f"{folder}/{full.toolkit_file.name} is empty. The download failed. Get it again."
    )


def test_a_folder_in_the_place_of_a_file_is_a_missing_file(full: Target, folder: Path) -> None:
    name = full.kernels_file.name
    (folder / name).unlink()
    (folder / name).mkdir()
    missing, _ = refusal(full, folder)
    assert missing == f"{folder}/{name} is missing. Get it from: the vendor."


def stand_in_of(component: str) -> bytes:
    """As the simulator makes it, by what it is known."""
    if component != "apex":
        return b"#!/bin/sh\n# SIMULATED by cannery: no vendor software.\n" + tar_gz(elf(AARCH64))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("apex/SIMULATED", "This apex is a software stand-in.")
    return target.getvalue()


@pytest.mark.parametrize("component", ["toolkit", "kernels", "nnal", "apex"])
def test_a_stand_in_is_no_vendor_file(full: Target, folder: Path, component: str) -> None:
    path = folder / full.artifacts[component].name
    path.write_bytes(stand_in_of(component))
    wrong, _ = refusal(full, folder)
    assert wrong == (
        f"{path} is a stand-in made by the simulator, so the image would be simulated. "
        "Put Huawei's file there, or build the image with --simulate."
    )
    check_artifacts(full, folder, full.artifacts, simulated=True)


def test_programs_for_the_other_machine(full: Target, folder: Path) -> None:
    """The name says aarch64 and the content x86_64."""
    path = folder / full.toolkit_file.name
    path.write_bytes(run_file(b"text", elf(X86_64)))
    wrong, _ = refusal(full, folder)
    what = f"{path} contains programs for x86_64; full needs aarch64."
    assert wrong == f"{what} Get the file for aarch64."


def test_a_page_that_was_saved_as_a_package_is_refused(full: Target, folder: Path) -> None:
    path = folder / full.toolkit_file.name
    path.write_text("<Error><Code>AccessDenied</Code></Error>", encoding="utf-8")
    wrong, _ = refusal(full, folder)
    what = f"{path} is not the package: it is an XML error page of 40 bytes: AccessDenied, "
    assert wrong == f"{what}and not a package of the vendor's. Get it again."


def test_another_hash_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    bare = checkout.matrix.targets["bare"]
    for file in bare.artifacts.values():
        (tmp_path / file.name).write_bytes(run_file(elf(AARCH64)))
    for simulated in (False, True):
        wrong, _ = refusal(bare, tmp_path, simulated=simulated)
        assert f"; {DIGEST} was published. The file is damaged" in wrong


def test_an_archive_is_opened_only_if_it_has_the_published_hash(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cannery.fetch.artifacts.machine_of", lambda *_: pytest.fail("opened"))
    bare = checkout.matrix.targets["bare"]
    pinned = {kind: file for kind, file in bare.artifacts.items() if file.sha256}
    for file in pinned.values():
        (tmp_path / file.name).write_bytes(run_file(elf(AARCH64)))
    with pytest.raises(ArtifactError, match=f"; {DIGEST} was published"):
        check_artifacts(bare, tmp_path, pinned)


def test_a_header_that_unpacks_to_gigabytes_is_not_read(tmp_path: Path) -> None:
    """Its size is limited, however little it takes in the archive."""
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 32
    path = tmp_path / "package.run"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(64):
            packed.write(bytes(1 << 20))
    tracemalloc.start()
    assert machine_of(path) == ""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_an_unreadable_file_is_an_error_of_its_own(
    full: Target, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(hashlib, "file_digest", fail)
    with pytest.raises(FileError, match=f"cannot read {folder}/.*: input/output error"):
        check_artifacts(full, folder, full.artifacts)


@PACKS
@pytest.mark.parametrize(
    ("contents", "machine"),
    [
        ([elf(AARCH64)], "aarch64"),
        ([b"#!/bin/sh\n", b"", elf(X86_64)], "x86_64"),
        ([elf(AICORE), elf(AARCH64)], "aarch64"),
        ([b"text", b"\x7fELF"], ""),
        ([], ""),
    ],
)
def test_the_machine_of_an_archive(
    tmp_path: Path, pack: Pack, contents: list[bytes], machine: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(*contents))
    assert machine_of(path) == machine


def damaged(content: bytes) -> bytes:
    middle = len(content) // 3
    return content[:middle] + b"\xff" * 40 + content[middle + 40 :]


NOISE = bytes((i * 7919 + (i >> 3)) % 251 for i in range(4000))
NO_ARCHIVES = {
    "text": b"just text\n",
    "script without payload": shell_archive(b""),
    "truncated gzip": tar_gz(NOISE)[:-50],
    "damaged gzip": damaged(tar_gz(NOISE)),
    "damaged wheel": damaged(wheel(NOISE)),
}


@pytest.mark.parametrize("content", NO_ARCHIVES.values(), ids=NO_ARCHIVES)
def test_damaged_archives_have_no_machine(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert machine_of(path) == ""


def test_a_package_with_the_toolkit_and_more_is_not_taken_for_it(
    full: Target, folder: Path
) -> None:
    other = "Ascend-cann_9.1.0_linux-aarch64.run"
    (folder / other).touch()
    toolkit = replace(full.toolkit_file, name="Ascend-cann-toolkit_9.1.0_linux-aarch64.run")
    with pytest.raises(ArtifactError) as caught:
        check_artifacts(full, folder, {"toolkit": toolkit})
    hint = f"({other} is there. It is not used: it may install a driver, too.)"
    assert hint in str(caught.value)


def test_a_name_in_other_case_is_offered(full: Target, folder: Path) -> None:
    name = full.kernels_file.name
    (folder / name).rename(folder / name.upper())
    missing, _ = refusal(full, folder)
    assert f"(There is {name.upper()}, whose name differs only in upper and lower case.)" in missing


def test_simulation_is_advised_only_where_possible(tmp_path: Path) -> None:
    targets = parse_matrix(TEXT, "matrix.yaml").targets
    *_, advice = refusal(targets["served"], tmp_path)
    assert "add --simulate" not in advice
    assert advice.endswith(
        " A simulated image (--simulate) needs 3 of them too: "
        "serve_npu-1.2-cp39-none-linux_aarch64.whl, serve-lib-1.2.tar.gz, serve-extra-7.tar.gz."
    )
    for file in targets["served"].real_artifacts.values():
        (tmp_path / file.name).write_bytes(b"x")
    *_, advice = refusal(targets["served"], tmp_path)
    assert advice.endswith("add --simulate.")


def test_a_simulated_build_is_not_advised_to_simulate(checkout: Checkout, tmp_path: Path) -> None:
    *_, advice = refusal(checkout.matrix.targets["bare"], tmp_path, simulated=True)
    assert "--simulate" not in advice


def test_no_simulation_is_advised_for_a_chip_without_a_software_device(
    full: Target, tmp_path: Path
) -> None:
    kernels = {"310b": full.kernels_file}
    target = replace(full, chip="310b", cann=with_packages(full.cann, kernels=kernels))
    *_, advice = refusal(target, tmp_path)
    assert "--simulate" not in advice
