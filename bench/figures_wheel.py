# SPDX-License-Identifier: Apache-2.0
"""Figure (w): README's lines of ascend-sim on a bare Debian 12, with several releases of torch."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.result import Figure, Series
from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.process import run

TORCH = ("2.7.1", "2.10.0", "2.13.0")
_LINES = re.compile(r"^(?:    .+\n){4}", re.MULTILINE)
_APT = re.compile(r"`(apt-get install [^`]+)`")
_VERSION = re.compile(r"(?<=--torch )\S+")
_ACTIVE = ". sim/bin/activate\n"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OF_THE_HOST = ("/etc/resolv.conf", "/etc/hosts")
_PIP = ("PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")
_AUTHORITIES = "/work/authorities.pem"
_TESTED = re.compile(r"((?:\d+ failed, )?\d+ passed)\b.* in [0-9.]+s")
_WHEELS = "CANNERY_CPU_WHEELS"
_WHEEL = "CANNERY_SIM_WHEEL"
_IN_ROOT = """\
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t tmpfs tmpfs "$0/dev/shm"
exec chroot "$0" sh -ec "$1"
"""


def lines(readme: str, torch: str) -> tuple[str, str]:
    """README's commands: those that install this torch, and the one that runs tests.

    Raises:
        UsageError: the README has them no more.
    """
    block, apt = _LINES.search(readme), _APT.search(readme)
    commands = [line.strip() for line in block[0].splitlines()] if block else []
    if not apt or not commands or not commands[-1].startswith("ascend-sim run "):
        raise UsageError(Problem(what="README.md of ascend-sim does not begin with its commands."))
    packages = f"apt-get -q update\n{apt[1].replace('install', 'install -q -y')}"
    *install, tests = commands
    return "\n".join([packages, *(_VERSION.sub(torch, line) for line in install)]), tests


def installed(root: Path, folder: Path, runs: int) -> Iterator[Figure]:
    """(w) The minutes until torch is installed, and those of the examples' tests after that.

    ``root`` is a checkout. Where PyTorch's own index cannot be reached, CANNERY_CPU_WHEELS names a
    folder with its wheels. CANNERY_SIM_WHEEL names the wheel, if it is there already. Needs root
    and mmdebstrap.

    Raises:
        EngineError: a command failed.
    """
    package = root / "packages" / "ascend-sim"
    if made := os.environ.get(_WHEEL):
        shutil.copy(made, folder)
    else:
        wheel = [sys.executable, "-m", "tools.wheel", "--machine", platform.machine()]
        _done([*wheel, "--out", str(folder)], package)
    debian = folder / "debian"
    _done(["mmdebstrap", "--variant=minbase", "bookworm", str(debian)], folder)
    readme = (package / "README.md").read_text(encoding="utf-8")
    for torch in TORCH:
        taken = [_taken(debian, folder, package, lines(readme, torch)) for _ in range(runs or 1)]
        yield Figure(
            key=f"wheel-{torch}",
            title=f"README of ascend-sim with torch {torch}, on a bare Debian 12",
            unit="min",
            ours=Series(what="to install", samples=tuple(each.minutes for each in taken)),
            detail={
                "test_minutes": [each.test_minutes for each in taken],
                "tests": taken[-1].tests,
                "torch": taken[-1].torch,
            },
        )


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """Minutes, the last line of the tests, and the version of torch."""

    minutes: float
    test_minutes: float
    tests: str
    torch: str


def _taken(debian: Path, folder: Path, package: Path, commands: tuple[str, str]) -> _Taken:
    """Carry out the commands in a copy of the root; tests that fail are told.

    Raises:
        EngineError: it cannot be installed, or no test has passed.
    """
    root = folder / "root"
    try:
        _done(["cp", "--archive", "--reflink=auto", str(debian), str(root)], folder)
        shutil.copytree(package / "examples", root / "work")
        for path in folder.glob("ascend_sim-*.whl"):
            shutil.copy(path, root / "work")
        for name in filter(os.path.exists, _OF_THE_HOST):
            shutil.copy(name, root / name[1:])
        install, tests = commands
        begin, _ = _done(_inside(root, install + _wheels(root, install)), folder)
        tested, said = _done(_inside(root, f"{_ACTIVE}{tests} || true"), folder)
        if not (told := _TESTED.findall(said)):
            raise EngineError(Problem(what=f"no test has passed:\n{said[-1500:]}"))
        _, shown = _done(_inside(root, f"{_ACTIVE}pip show torch"), folder)
        version = re.search(r"^Version: (.+)$", shown, re.MULTILINE)
        return _Taken(
            minutes=round(begin / 60, 2),
            test_minutes=round(tested / 60, 2),
            tests=told[-1],
            torch=version[1] if version else "unknown",
        )
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _wheels(root: Path, install: str) -> str:
    """The option that names torch's wheels for the CPU, if they are in a folder of this host."""
    folder, asked = os.environ.get(_WHEELS, ""), _VERSION.search(install)
    found = sorted(Path(folder).glob(f"torch-{asked[0]}+cpu-*.whl")) if folder and asked else []
    if not found:
        return ""
    (root / "wheels").mkdir()
    for path in found:
        shutil.copy(path, root / "wheels")
    return " --wheels /wheels"


def _inside(root: Path, commands: str) -> list[str]:
    """Runs commands of a shell there, in mounts of their own, and with pip's index of this host."""
    settings = {name: os.environ[name] for name in _PIP if name in os.environ}
    if authorities := os.environ.get("PIP_CERT"):
        shutil.copy(authorities, root / _AUTHORITIES[1:])
        settings["PIP_CERT"] = _AUTHORITIES
    exported = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items())
    home = "cd /work\nexport HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive\n"
    mounts = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _IN_ROOT]
    return ["env", "-i", f"PATH={_PATH}", *mounts, str(root), f"{home}{exported}{commands}"]


def _done(argv: list[str], folder: Path) -> tuple[float, str]:
    """Run a command: its seconds, and what it said.

    Raises:
        EngineError: it failed.
    """
    console.say(argv[-1].strip().splitlines()[-1])
    begin = time.monotonic()
    code, said = run(argv, cwd=folder, env=os.environ)
    if code:
        what = f"'{argv[0]} ...' failed ({code}). Its last lines:\n{said[-1500:]}"
        raise EngineError(Problem(what=what, fix="See its last lines."))
    return time.monotonic() - begin, said
