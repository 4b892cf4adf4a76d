# SPDX-License-Identifier: Apache-2.0
"""Installs torch and torch_npu beside ascend-sim, and runs checks with them on this machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ascend_sim.command.errors import UsageError
from conformance.releases.cuda_libraries import stand_ins
from conformance.usage.processes import CARDS, reason

FOLDER = Path(__file__).parents[2]
_BESIDE = (
    *("numpy<2; python_version<'3.13'", "numpy; python_version>='3.13'"),
    # 2.1.0rc1, which has no wheel for 3.11, needs an old one.
    *("protobuf<3.21; python_version<'3.11'", "protobuf; python_version>='3.11'"),
    *("pyyaml", "setuptools", "typing_extensions", "filelock"),
    *("sympy", "networkx", "jinja2", "fsspec"),
    "importlib_metadata; python_version<'3.10'",
)
"""What torch and torch_npu import, without triton and NVIDIA's packages."""

Results = dict[str, str]


@dataclass(frozen=True)
class Program:
    """Checks that print their results as JSON; all must end in ``hang`` seconds."""

    module: str
    names: tuple[str, ...]
    hang: int
    arguments: tuple[str, ...] = ()


def interpreter(python: str) -> Path | None:
    """A Python of that version on this machine."""
    command = [sys.executable, "-m", "uv", "python", "find", "--no-project", "--system"]
    command += ["--no-python-downloads", python]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


@dataclass(frozen=True)
class Torch:
    """A torch for one Python, in folders of its own; ``sim`` has ascend-sim."""

    python: Path
    folder: Path
    sim: Path

    def install(self, name: str, *requirements: str, alone: bool) -> Path:
        """Put packages into a folder; ``alone``: without what they depend on.

        Raises:
            UsageError: the index lacks one, or cannot be reached.
        """
        target = self.folder / name
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-cache"]
        command += ["--python", str(self.python), "--target", str(target), *requirements]
        command += ["--prerelease=allow", *(["--no-deps"] if alone else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UsageError(f"{', '.join(requirements)}: {done.stderr.strip()[-500:]}")
        return target

    def checked(self, program: Program, release: str) -> Results:
        """Each check of the program with ``pass`` or why not.

        Raises:
            UsageError: the release cannot be installed.
        """
        npu = self.install("torch_npu", f"torch_npu=={release}", alone=True)
        # torch_npu looks beside torch for its files (GetAclConfigJsonPath in NpuSysCtrl.cpp).
        beside = self.folder / "torch" / "torch_npu"
        beside.symlink_to(npu / "torch_npu")
        try:
            return self._ran(program, npu)
        finally:
            beside.unlink()
            for name in ("torch_npu", "host"):
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def _ran(self, program: Program, npu: Path) -> Results:
        """Start the program on a simulated host."""
        options = ["--cards", str(CARDS), "--folder", str(self.folder / "host")]
        command = ["-m", "ascend_sim.command", "run", *options, "--"]
        try:
            done = subprocess.run(
                [
                    str(self.python),
                    *command,
                    str(self.python),
                    "-m",
                    program.module,
                    *program.arguments,
                ],
                cwd=self.folder,
                env=self._environment(npu),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=program.hang,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return dict.fromkeys(program.names, f"no end in {program.hang} seconds")
        return results(program, done.stdout, done.returncode)

    def _environment(self, npu: Path) -> dict[str, str]:
        folders = [npu, self.folder / "torch", self.folder / "beside", self.sim, FOLDER]
        settings = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return settings | {
            "HOME": str(self.folder),
            "LD_LIBRARY_PATH": str(self.folder / "cuda"),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": ":".join(str(folder) for folder in folders),
        }


@contextmanager
def torch(version: str, python: Path, sim: Path, folder: Path) -> Iterator[Torch]:
    """That torch, installed into ``folder`` until the block ends.

    Raises:
        UsageError: the index lacks it for this Python, or cannot be reached.
    """
    made = Torch(python, folder, sim)
    try:
        installed = made.install("torch", f"torch=={version}", alone=True)
        made.install("beside", *_BESIDE, alone=False)
        stand_ins(installed / "torch", folder / "cuda")
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def results(program: Program, said: str, code: int) -> Results:
    """What it said, in the order of its checks; a check that did not end has the reason."""
    lines = [line.partition("check: ") for line in said.splitlines()]
    found: Results = dict(json.loads(text) for before, mark, text in lines if mark and not before)
    missing = f"ended with {code}: {reason(said)}"
    return {name: found.get(name, missing) for name in program.names}


def unpacked(wheel: bytes, folder: Path) -> Path:
    """The folder with what is in ascend-sim's wheel."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
        for member in packed.infolist():
            packed.extract(member, folder)
            (folder / member.filename).chmod(member.external_attr >> 16)
    return folder


def digest(device: Path) -> str:
    """What tells this compiled device from any other."""
    whole = hashlib.sha256()
    for path in sorted(path for path in device.rglob("*") if path.is_file()):
        whole.update(f"{path.relative_to(device)}\0".encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]
