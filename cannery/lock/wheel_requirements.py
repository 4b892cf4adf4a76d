# SPDX-License-Identifier: Apache-2.0
"""Asks an index, with pip, for the metadata of wheels: the packages and the Python that they want.

Only wheels that a target names are asked for, and only what they want of others that it names is
kept. pip reads the metadata alone where the index has it apart (PEP 658).
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier

from cannery.common import console
from cannery.common.cxx_abi import FRAMEWORKS
from cannery.common.model import Target
from cannery.common.outside import parse_json
from cannery.common.package_index import PackageIndex
from cannery.common.process import run
from cannery.common.specifiers import applies, normal_name, parse_requirement
from cannery.common.wheels import platforms
from cannery.lock.index_versions import pip_environment
from cannery.lock.lock_file import PYTHON, LockedWheel, parse_lock, with_wants
from cannery.lock.requirements import Requirements
from cannery.lock.wheel_abi import WheelAbis

_REPORT = "report.json"
_LOCAL = re.compile(r"\+[\w.]+")


class Metadata:
    """The requirements of wheels, that of Python among them; each wheel is asked for once."""

    def __init__(self, source: PackageIndex) -> None:
        self.source = source
        self._known: dict[str, list[str]] = {}
        self._urls: dict[str, str] = {}
        self._abis = WheelAbis(source)

    def added(self, target: Target, text: str, before: str | None) -> str:
        """The lock ``text`` of ``target`` with what the wheels that it names want.

        If the index cannot be asked, that is said, and a wheel keeps what ``before``, the earlier
        lock, has of it. The C++ ABI of a framework's wheel that ``before`` lacks is compared with
        the target's.

        Raises:
            MatrixError: it is another one, or it is not known and cannot be read.
        """
        earlier = parse_lock(before or "")
        named = [wheel for wheel in parse_lock(text).wheels if wheel.groups]
        wheels = [wheel for wheel in named if wheel.files[0].name.endswith(".whl")]
        missing = [wheel for wheel in wheels if wheel.files[0].name not in self._known]
        if missing and (why := self._ask(target, missing)):
            console.say(f"{target.id}: the metadata of its wheels could not be read: {why}")
            old = {wheel.files: wheel.wants for wheel in earlier.wheels}
            text = with_wants(text, {w.name: old.get(w.files, ()) for w in named})
        else:
            names = {wheel.name for wheel in named} | ({"torch"} if target.torch_wheel else set())
            wants = {w.name: _wanted(self._known[w.files[0].name], target, names) for w in wheels}
            text = with_wants(text, wants)
        compared = {wheel.files for wheel in earlier.wheels} if target.cxx_abi is not None else ()
        for wheel in wheels:
            if wheel.name in FRAMEWORKS and wheel.files not in compared:
                self._abis.check(target, wheel, self._urls.get(wheel.files[0].name, ""))
        return text

    def _ask(self, target: Target, wheels: Sequence[LockedWheel]) -> str:
        """Read the metadata of ``wheels``; why that failed, if it did."""
        argv = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input"]
        argv += ["install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
        # It compares some wheels with the Python that it runs on itself.
        argv += ["--ignore-requires-python"]
        # pip takes wheels of another platform only for a folder, into which a dry run writes
        # nothing.
        argv += ["--target", "nowhere", "--report", _REPORT, "--only-binary", ":all:"]
        argv += ["--python-version", target.python.version]
        argv += [f"--platform={name}" for name in platforms(target.machine, target.base.glibc)]
        if index := Requirements(target).index_options:
            argv += ["--extra-index-url", index[1]]
        argv += ["--requirement", "pins.txt"]
        requirements: dict[str, list[str]] = {}
        urls: dict[str, str] = {}
        with tempfile.TemporaryDirectory(prefix="cannery-metadata-") as place:
            folder = Path(place)
            pins = "".join(f"{wheel.name}=={wheel.version}\n" for wheel in wheels)
            (folder / "pins.txt").write_text(pins, encoding="utf-8")
            code, output = run(argv, cwd=folder, env=pip_environment(self.source))
            if code:
                return self.source.redacted(output.strip().rpartition("\n")[2])
            try:
                report = parse_json((folder / _REPORT).read_text(encoding="utf-8"))
                for entry in report["install"]:
                    metadata = entry["metadata"]
                    python = str(metadata.get("requires_python") or "")
                    requires = [str(text) for text in metadata.get("requires_dist", ())]
                    texts = [*([PYTHON + python] if python else []), *requires]
                    name = normal_name(metadata["name"])
                    requirements[name], urls[name] = (
                        texts,
                        str(entry.get("download_info", {}).get("url", "")),
                    )
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                return f"pip's report is not as expected: {error!r}"
        for wheel in wheels:
            self._known[wheel.files[0].name] = requirements.get(wheel.name, [])
            self._urls[wheel.files[0].name] = urls.get(wheel.name, "")
        return ""


def _wanted(texts: Iterable[str], target: Target, names: Iterable[str]) -> list[str]:
    """The requirements of Python and of the packages ``names``, in the order of the names."""
    wanted: dict[str, list[str]] = {name: [] for name in (PYTHON, *sorted(names))}
    for text in texts:
        try:
            requirement = parse_requirement(text)
        except (InvalidRequirement, InvalidSpecifier):
            # Old wheels have requirements that no installer of today reads.
            continue
        name = normal_name(requirement.name)
        if name in wanted and requirement.specifier and applies(requirement, target):
            # The local version is that of a build for another index.
            wanted[name].append(f"{name}{_LOCAL.sub('', str(requirement.specifier))}")
    return [text for of_name in wanted.values() for text in dict.fromkeys(of_name)]
