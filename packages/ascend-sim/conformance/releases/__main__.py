# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.releases``: every release of torch_npu on the software Ascend device.

Each result is a file below --cache, so a run that was interrupted goes on where it was. Results of
another device are not used.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from packaging.version import Version

from conformance import machine
from conformance.program import run_program, write_file
from conformance.releases import native, profiles, report, tables, wheels
from conformance.releases.cann import oldest_cann
from conformance.releases.check import CHECKS
from conformance.releases.scan import Reading, read
from conformance.releases.store import kept
from conformance.releases.symbols import exported
from tools import archive
from tools.wheel import compiled

PAGE = Path(__file__).parents[1] / "releases.md"
CACHE = archive.FOLDER / ".releases"
CHECKED = native.Program(
    "conformance.releases.check", tuple(check.__name__ for check in CHECKS), hang=900
)
"""Idle, it takes 12 seconds."""
LIBRARIES = {"libascendcl": "toolkit/lib64", "libatb": "nnal/cxx_abi_1"}

Readings = dict[str, list[Reading]]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m conformance.releases", description=__doc__)
    options.add_argument("--cache", type=Path, default=CACHE, help="default: .releases")
    about = "run the wheels for this Python (again for more); default: all that are found"
    options.add_argument("--python", action="append", choices=wheels.PYTHONS, help=about)
    options.add_argument("--read", action="store_true", help="read the wheels, and run none")
    return options


def readings(cache: Path) -> Readings:
    """Every wheel of every release, oldest release first."""
    found: Readings = {}
    for release in wheels.releases():
        path = cache / "read" / f"{release}.json"
        found[release] = kept(path, lambda: [read(w) for w in wheels.wheels(release)])  # noqa: B023
        say(f"read torch_npu {release}")
    return found


def run(python: str, found: Readings, sim: Path, cache: Path) -> None:
    """Run what has not been run yet with this Python, each torch once."""
    path = native.interpreter(python)
    if path is None:
        say(f"this machine has no Python {python}")
        return
    todo: dict[str, list[str]] = {}
    for release in found:
        if has_wheel(found[release], python) and not (cache / f"{release}.json").is_file():
            todo.setdefault(Version(release).base_version, []).append(release)
    for torch, releases in todo.items():
        with (
            tempfile.TemporaryDirectory(prefix="ascend-sim-") as folder,
            native.torch(torch, path, sim, Path(folder) / "torch") as installed,
        ):
            for release in releases:
                result = kept(
                    cache / f"{release}.json", partial(installed.checked, CHECKED, release)
                )
                say(f"Python {python}, torch_npu {release}: {tables.outcome(result)}")


def has_wheel(found: Sequence[Reading], python: str) -> bool:
    """Whether this machine can run one of them."""
    return any((w["python"], w["machine"]) == (python, platform.machine()) for w in found)


def exports(devices: dict[str, Path]) -> tables.Exports:
    """What the compiled devices export."""
    return {
        name: frozenset(
            f"{library} {symbol}"
            for library, place in LIBRARIES.items()
            for symbol in exported(folder / place / f"{library}.so")
        )
        for name, folder in devices.items()
    }


def results(cache: Path) -> tables.Runs:
    """All results of this device, of earlier runs too."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(cache.glob("*/*.json")):
        found.setdefault(path.parent.name, {})[path.stem] = json.loads(path.read_text("utf-8"))
    return found


def measured(arguments: argparse.Namespace, folder: Path) -> None:
    """Read, run, and write the page and cann_symbols.json."""
    found = readings(arguments.cache)
    known = oldest_cann(makers=False)
    named = known | oldest_cann(makers=True)
    headers = json.loads(profiles.PUBLIC_HEADERS.read_text(encoding="utf-8"))
    firsts = profiles.firsts(found, known, headers)
    write_file(profiles.SYMBOLS, profiles.as_json(firsts))
    devices = {name: compiled(name, folder / name) for name in archive.MACHINES}
    here = platform.machine()
    sim = native.unpacked(archive.wheel(devices[here], here), folder / "sim")
    cache = arguments.cache / "run" / native.digest(devices[here])
    for python in [] if arguments.read else arguments.python or wheels.PYTHONS:
        run(python, found, sim, cache / python)
    releases = [tables.release(name, each, named.get(name), firsts) for name, each in found.items()]
    ran = results(cache)
    used = machine.described()
    text = report.page(releases, exports(devices), ran, firsts, used)
    write_file(PAGE, text)
    print(report.counts(releases, ran), end="")


def say(text: str) -> None:
    """Tell how far the run is."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run_program(measured, parser().parse_args()))
