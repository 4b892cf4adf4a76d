# SPDX-License-Identifier: Apache-2.0
"""A stand-in for uv that notes what it is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.common import process
from cannery.common.package_index import PackageIndex
from cannery.lock.resolve import lock_target
from tests.unit.applications import stacked_checkout
from tests.unit.matrices import Checkout

# Reads the metadata of wheels, which want nothing.
PIP = """
import pathlib, sys
report = sys.argv[sys.argv.index("--report") + 1]
pathlib.Path(report).write_text('{"install": []}')
"""

INDEX = PackageIndex(ca=None, index_url="")

# Locks what it is asked for in version 1. The index has a wheel for each of the usual tags.
UV = """
import json, os, pathlib, sys
files = {path.name: path.read_text() for path in pathlib.Path().iterdir()}
with open(os.environ["UV_NOTE"], "a") as note:
    note.write(json.dumps([sys.argv[1:], files]) + "\\n")
output = pathlib.Path(sys.argv[sys.argv.index("--output-file") + 1])
if output.name == "pylock.toml":
    text = ""
    for pin in files["pins.in"].split():
        name, _, version = pin.partition("==")
        text += f"[[packages]]\\nname = '{name}'\\nversion = '{version}'\\nwheels = [\\n"
        for number, tags in enumerate(os.environ.get("UV_TAGS", "py3-none-any").split()):
            file = f"https://index.test/{name}-{version}%2Bx-{tags}.whl"
            hashes = os.environ.get("UV_HASHES", "{ sha256 = '" + str(number) * 64 + "' }")
            text += f"  {{ url = '{file}', hashes = {hashes} }},\\n"
        text += "]\\n"
    output.write_text(text)
elif said := os.environ.get("UV_SAYS"):
    sys.exit(said)
else:
    output.write_text("six==1\\n    # via -r cann.in\\n")
"""


@dataclass(frozen=True, kw_only=True)
class Uv:
    """The stand-in, and a checkout whose targets it locks."""

    note: Path
    checkout: Checkout

    def lock(self, name: str, *upgrade: str) -> str:
        target = self.checkout.matrix.targets[name]
        return lock_target(self.checkout.project, target, upgrade, INDEX)

    def noted(self) -> tuple[list[str], dict[str, str]]:
        """The arguments and the files of the last resolution."""
        return next(each for each in reversed(self.calls()) if "pins.in" not in each[1])

    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        lines = self.note.read_text(encoding="utf-8").splitlines()
        return [(argv, files) for argv, files in map(json.loads, lines)]

    def options(self) -> list[tuple[str, str]]:
        """Every option with the word after it."""
        argv, _ = self.noted()
        return [(a, b) for a, b in zip(argv, [*argv[1:], ""], strict=True) if a.startswith("--")]

    def of(self, option: str) -> list[str]:
        return [value for name, value in self.options() if name == option]


def put_in_place(folder: Path, note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package ``uv`` in ``folder`` run in place of uv's, with its settings."""
    monkeypatch.setitem(process._OF, "uv", ("PYTHONPATH", "UV_*"))
    monkeypatch.setitem(process._OF, "pip", ("PYTHONPATH",))
    (folder / "pip.py").write_text(PIP, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("UV_NOTE", str(note))


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    """A stand-in for uv and a checkout, both below ``tmp_path``."""
    package = tmp_path / "stand-in" / "uv"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(UV, encoding="utf-8")
    put_in_place(package.parent, tmp_path / "note", monkeypatch)
    (tmp_path / "checkout").mkdir()
    checkout = stacked_checkout(tmp_path / "checkout")
    return Uv(note=tmp_path / "note", checkout=checkout)
