# SPDX-License-Identifier: Apache-2.0
"""Checks the files that are in no registry, before anything is built from them."""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from cannery.common.archives import read_tar
from cannery.common.bases import File
from cannery.common.errors import ArtifactError, Problem, file_error, some_of
from cannery.common.files import open_file, sha256_of
from cannery.common.model import SIMULATED_CHIPS, Target
from cannery.fetch.needs import Lacks, missing_files
from cannery.fetch.run_file import wrong_header

_MACHINES = {183: "aarch64", 62: "x86_64"}
"""e_machine of an ELF header (elf.h)."""

_HEAD = 20
"""How many bytes of an ELF file are read; they have its machine."""

_LOOK_AT = 2000
"""How many members of an archive are searched for an ELF file."""

_STAND_IN = b"SIMULATED by cannery"
"""What the simulator writes into the head of each shell archive that it makes."""

_STAND_IN_MEMBER = "apex/SIMULATED"
"""What the simulator puts into the wheel that it makes."""

_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors of the standard library for archives that are truncated, altered or encrypted."""


def check_artifacts(
    target: Target,
    folder: Path,
    files: Mapping[str, File],
    *,
    simulated: bool = False,
    hash_of: Callable[[Path], str] = sha256_of,
) -> dict[str, str]:
    """Component name to the sha256 of its file in ``folder``, for all of ``files``.

    ``simulated`` says that the image is to be a simulated one; without it no stand-in may be among
    the files. ``hash_of`` computes the sha256 of a file.

    Raises:
        ArtifactError: with every file that is missing, empty, altered, a stand-in, or for another
            architecture.
        FileError: a file cannot be read.
    """
    problems: list[Problem] = []
    hashes: dict[str, str] = {}
    for component, file in files.items():
        path = folder / file.name
        try:
            problem = _refused(target, path, file, simulated=simulated)
            if problem is None:
                hashes[component] = hash_of(path)
                if file.hashes and hashes[component] not in file.hashes:
                    what = f"{path} has sha256 {hashes[component]}; {file.published} was published."
                    fix = "The file is damaged or not the original. Get it again."
                    problem = Problem(what=what, fix=fix)
                else:
                    problem = _of_other_machine(target, path)
        except OSError as error:
            raise file_error("read", path, error) from error
        if problem:
            problems.append(problem)
    if problems:
        raise ArtifactError([*problems, advice(target, folder, simulated=simulated)])
    return hashes


def _refused(target: Target, path: Path, file: File, *, simulated: bool) -> Problem | None:
    """The problem of ``path``, but for its hash and its contents."""
    if not path.is_file():
        other = {"aarch64": "x86_64", "x86_64": "aarch64"}[target.machine]
        others = path.parent.iterdir() if path.parent.is_dir() else ()
        alike = sorted(each.name for each in others if each.name.lower() == path.name.lower())
        combined = file.name.replace("-toolkit_", "_")
        hint = ""
        if combined != file.name and (path.parent / combined).is_file():
            hint = f" ({combined} is there. It is not used: it may install a driver, too.)"
        elif (path.parent / file.name.replace(target.machine, other)).is_file():
            hint = f" (The file for {other} is there, but {target.id} needs {target.machine}.)"
        elif alike and alike != [path.name]:
            hint = f" (There is {alike[0]}, whose name differs only in upper and lower case.)"
        fix = f"Get it from: {file.origin}."
        if file.is_downloadable:
            fix += " 'build.py fetch' downloads it."
        kind = Problem if hint else Lacks
        return kind(what=f"{path} is missing.{hint}", fix=fix)
    if path.stat().st_size == 0:
        return Problem(what=f"{path} is empty.", fix="The download failed. Get it again.")
    if is_stand_in(path):
        if simulated:
            return None
        return Problem(
            what=f"{path} is a stand-in made by the simulator, so the image would be simulated.",
            fix="Put Huawei's file there, or build the image with --simulate.",
        )
    if not file.hashes and file.name.endswith(".run") and (why := wrong_header(path, file.name)):
        return Problem(what=f"{path} is not the package: {why}.", fix="Get it again.")
    return None


def _of_other_machine(target: Target, path: Path) -> Problem | None:
    machine = machine_of(path, target.machine)
    if not machine or machine == target.machine:
        return None
    what = f"{path} contains programs for {machine}; {target.id} needs {target.machine}."
    return Problem(what=what, fix=f"Get the file for {target.machine}.")


def is_stand_in(path: Path) -> bool:
    """Whether the simulator has made the package or wheel ``path``."""
    with open_file(path) as stream:
        if _STAND_IN in stream.read(1 << 16):
            return True
        try:
            with zipfile.ZipFile(stream) as archive:
                return _STAND_IN_MEMBER in archive.namelist()
        except _DAMAGED:
            return False


def advice(target: Target, folder: Path, *, simulated: bool) -> Problem:
    """What can be done where ``target`` lacks files."""
    fix = f"Put the files into {folder} (or name another folder with --artifacts)."
    if target.cann.interim:
        fix += (
            f" CANN {target.cann.version} is an interim build and was never published; the nearest"
            f" public release is {target.cann.nearest_public}."
        )
    if not simulated and target.chip in SIMULATED_CHIPS:
        if missing := [*missing_files(target, folder, simulate=True)]:
            count = len(missing)
            fix += f" A simulated image (--simulate) needs {count} of them too: "
            fix += f"{some_of(missing, count)}."
        else:
            fix += " To try the image without these files, on the software device, add --simulate."
    return Problem(what=f"{target.id} cannot be built.", fix=fix)


def machine_of(path: Path, expected: str = "") -> str:
    """The architecture of the ELF files in ``path``; empty if it has none.

    A package may contain programs for several architectures, for example for the CPUs of a device.
    The result is ``expected`` if any program is for it, else the architecture of the first one.
    ``path`` may be a wheel, a tar archive, or a self-extracting shell archive that ends in one.
    """
    first = ""
    with open_file(path) as stream, suppress(*_DAMAGED):
        for head in _heads(stream):
            if head[:4] == b"\x7fELF" and len(head) == _HEAD:
                # Other machines are the NPU's, whose programs are in the packages, too.
                machine = _MACHINES.get(struct.unpack_from("<H", head, 18)[0], "")
                if machine and machine == expected:
                    return machine
                first = first or machine
        return first
    return ""


def _heads(stream: IO[bytes]) -> Iterator[bytes]:
    """The first bytes of the files in an archive."""
    if zipfile.is_zipfile(stream):
        with zipfile.ZipFile(stream) as archive:
            for name in archive.namelist()[:_LOOK_AT]:
                with archive.open(name) as member:
                    yield member.read(_HEAD)
        return
    stream.seek(0)
    head = stream.read(1 << 20)
    starts = [head.find(magic) for magic in (b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9")]
    # The compressed payload of a shell archive.
    is_script = head.startswith(b"#!")
    stream.seek(min((start for start in starts if is_script and start > 0), default=0))
    with read_tar(stream, "r|*") as archive:
        for _, info in zip(range(_LOOK_AT), archive, strict=False):
            if info.isfile() and (content := archive.extractfile(info)):
                yield content.read(_HEAD)
