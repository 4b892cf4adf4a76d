# SPDX-License-Identifier: Apache-2.0
"""Compares the names of packages that bases use with the package lists of their releases.

python -m tests.package_names [--mirror ubuntu amd64 ADDRESS]... [BASE...]

Debian's lists are those of the mirrors of this machine's apt, for both architectures; those of
another distribution with apt are at the address of a mirror. A base without lists is named, and
not compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from cannery.common.bases import Base
from cannery.common.model import Target
from cannery.common.models import read_yaml
from cannery.matrix.definitions import Definitions
from cannery.matrix.project import Project

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURES = ("arm64", "amd64")


def bases() -> dict[str, Base]:
    """The bases of cannery/data/bases.yaml, by name."""
    path = ROOT / "cannery" / "data" / "bases.yaml"
    return {**read_yaml(Definitions, path).bases}


def names_of(base: Base, targets: Iterable[Target]) -> dict[str, str]:
    """Package to what asks for it: an entry of the base's distribution, or an application."""
    packages = base.distribution.packages
    found = {name: entry for entry, names in packages.items() for name in names}
    for target in targets:
        if target.base.name == base.name and target.application:
            for name in base.distribution.packages_for(*target.application.packages):
                found.setdefault(name, target.application.name)
    return found


def debian_sources(suite: str) -> list[str]:
    """The lines of sources.list for a release of Debian, at the mirrors of this machine's apt."""
    argv = [str(ROOT / "tools" / "standin-base"), "--sources", suite]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def lists_of(base: Base, mirrors: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Architecture to the lines of sources.list for the base; empty if it has none here.

    ``mirrors`` are those of the command line. Nothing is installed from one, so that the keys of
    its distribution need not be here.
    """
    if base.distribution.name == "debian":
        lines = debian_sources(base.suite)
        return dict.fromkeys(ARCHITECTURES, lines) if lines else {}
    return {
        architecture: [f"deb [trusted=yes] {address} {base.suite} main universe"]
        for name, architecture, address in mirrors
        if name == base.distribution.name
    }


def listed(lines: Sequence[str], architecture: str, names: Iterable[str]) -> set[str]:
    """Those of ``names`` that a list of the sources ``lines`` has as a package of its own.

    Raises:
        CalledProcessError: a list cannot be had.
    """
    with tempfile.TemporaryDirectory(prefix="cannery-lists-") as place:
        folder = Path(place)
        (folder / "sources.list").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        settings = {
            "Dir::State": folder,
            "Dir::Cache": folder,
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Architecture": architecture,
            "APT::Architectures::": architecture,
            "APT::Sandbox::User": "root",
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
        }
        options = [f"--option={name}={value}" for name, value in settings.items()]
        subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
        # It ends with an error if a name is of no package, which is what we ask.
        argv = ["apt-cache", *options, "show", *names]
        shown = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    own = "Package: "
    return {line.removeprefix(own) for line in shown.splitlines() if line.startswith(own)}


def main() -> int:
    """Print what is compared, and each name that is in no list; 1 if there is such a name."""
    parser = argparse.ArgumentParser(prog="python -m tests.package_names")
    words = ("DISTRIBUTION", "ARCHITECTURE", "ADDRESS")
    parser.add_argument("--mirror", nargs=3, action="append", default=[], metavar=words)
    every = bases()
    parser.add_argument("names", nargs="*", choices=[*every, []], metavar="BASE")
    arguments = parser.parse_args()
    targets = Project(root=ROOT).matrix().targets.values()
    found = 0
    for base in every.values():
        if arguments.names and base.name not in arguments.names:
            continue
        lists, names = lists_of(base, arguments.mirror), names_of(base, targets)
        if not lists:
            print(f"{base.name}: not compared, there are no lists of {base.distribution.name} here")
        for architecture, lines in lists.items():
            unknown = {*names} - listed(lines, architecture, names)
            found += len(unknown)
            print(f"{base.name}, {architecture}: {len(names)} names, {len(unknown)} unknown")
            for name in sorted(unknown):
                print(f"    {name} ({names[name]})", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
