# SPDX-License-Identifier: Apache-2.0
"""Compiles the device and writes the wheel ascend-sim, for each machine that is asked for.

python -m tools.wheel --out dist
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ascend_sim.command.errors import SimError, UsageError, did_you_mean
from ascend_sim.packages.packer.errors import PackError
from tools import archive


class BuildError(SimError):
    """The device cannot be compiled."""

    exit_code = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the wheels and print their paths; the exit code."""
    given = parser().parse_args(arguments)
    try:
        devices = _devices(given.device)
        for machine in given.machine or archive.MACHINES:
            with tempfile.TemporaryDirectory(prefix="ascend-sim-") as folder:
                device = devices.get(machine) or compiled(machine, Path(folder))
                made = _wheel(device, machine)
            path = given.out / archive.file_name(machine)
            _write(path, made)
            print(path)
    except (SimError, OSError) as error:
        print(f"ascend-sim wheel: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 9)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(prog="python -m tools.wheel", description=__doc__)
    made.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheels")
    machines = archive.MACHINES
    made.add_argument("--machine", action="append", choices=machines, help="default: both")
    about = "what build.sh has compiled for a machine; else it is compiled"
    made.add_argument("--device", action="append", default=[], metavar="MACHINE=DIR", help=about)
    return made


def _devices(given: Sequence[str]) -> dict[str, Path]:
    """Machine to folder.

    Raises:
        UsageError: a machine is not known, or there is no such folder.
    """
    pairs = [each.partition("=") for each in given]
    for machine, _, folder in pairs:
        if machine not in archive.MACHINES:
            raise UsageError(f"--device: {machine!r}. {did_you_mean(machine, archive.MACHINES)}")
        if not (Path(folder) / "toolkit").is_dir():
            raise UsageError(f"--device: {folder!r} is not what build.sh makes.")
    return {machine: Path(folder) for machine, _, folder in pairs}


def compiled(machine: str, folder: Path) -> Path:
    """The device for ``machine``, compiled into ``folder``.

    Raises:
        BuildError: it cannot be compiled; the compiler's words are on stderr.
    """
    # build.sh starts python3 for the compiler of the package ziglang, if there is no g++.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    argv = ["sh", str(archive.FOLDER / "device" / "build.sh"), str(folder), machine]
    try:
        subprocess.run(argv, check=True, env={**os.environ, "PATH": path})
    except subprocess.CalledProcessError as error:
        raise BuildError(f"the device cannot be compiled for {machine}; see above.") from error
    return folder


def _wheel(device: Path, machine: str) -> bytes:
    try:
        return archive.wheel(device, machine)
    except PackError as error:
        raise UsageError(str(error)) from error


def _write(path: Path, content: bytes) -> None:
    """Write the whole file, or leave what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
