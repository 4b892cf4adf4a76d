# SPDX-License-Identifier: Apache-2.0
"""The simulated packages are no kinder than the vendor's: they behave as vendor_facts.yaml says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import ARCH, Machine, Packed
from .test_environment import source

FACTS = yaml.safe_load(Path(__file__).with_name("vendor_facts.yaml").read_text(encoding="utf-8"))
OTHER = {"aarch64": "x86_64", "x86_64": "aarch64"}[ARCH]
MACHINES = {183: "aarch64", 62: "x86_64"}
ROWS = [(release, row) for row in FACTS["rows"] for release in row["releases"]]


def named(release: str, row: dict[str, Any]) -> str:
    """The row in the test's name."""
    told = [str(row[key]) for key in ("path", "package", "variable", "text") if key in row]
    return f"{release}-{row['kind']}-{'-'.join(told)}"


def filled(machine: Machine, packed: Packed, row: dict[str, Any]) -> dict[str, Any]:
    """The row for what was installed: with its version, architecture and places."""
    version, old = packed.spec["cann"], packed.spec["layout"] == "ascend-toolkit"
    values = {
        "{arch}": ARCH,
        "{other}": OTHER,
        "{version}": version,
        "{home}": "ascend-toolkit/latest" if old else f"cann-{version}",
    }

    def fill(value: object) -> object:
        if isinstance(value, str):
            for name, text in values.items():
                value = value.replace(name, text)
        return value

    found = {key: fill(value) for key, value in row.items()}
    return found | {"at": machine.ascend / str(found.get("path", ""))}


def there(_: Machine, row: dict[str, Any]) -> bool:
    return bool(row["at"].is_file())


def missing(_: Machine, row: dict[str, Any]) -> bool:
    return not os.path.lexists(row["at"])


def folder(_: Machine, row: dict[str, Any]) -> bool:
    at: Path = row["at"]
    return at.is_dir() and not at.is_symlink()


def link(_: Machine, row: dict[str, Any]) -> bool:
    at: Path = row["at"]
    return at.is_symlink() and str(at.readlink()) == str(row["to"])


def mode(_: Machine, row: dict[str, Any]) -> bool:
    return f"{row['at'].stat().st_mode & 0o777:o}" == str(row["is"])


def count(machine: Machine, row: dict[str, Any]) -> bool:
    found = [path for path in machine.ascend.glob(row["path"]) if not path.is_symlink()]
    return len(found) == int(row["is"])


def machine_of(_: Machine, row: dict[str, Any]) -> bool:
    head: bytes = row["at"].read_bytes()[:20]
    found = MACHINES.get(int.from_bytes(head[18:20], "little"), "")
    return head.startswith(b"\x7fELF") and found == str(row["is"])


def text(_: Machine, row: dict[str, Any]) -> bool:
    return str(row["text"]) in Path(row["at"]).read_text(encoding="utf-8")


def absent(_: Machine, row: dict[str, Any]) -> bool:
    return str(row["text"]) not in Path(row["at"]).read_text(encoding="utf-8")


def lists(machine: Machine, row: dict[str, Any]) -> bool:
    found = source(machine.ascend / row["script"], "--cxx_abi=1")
    return str(row["at"]) in found[str(row["variable"])].split(":")


def log(machine: Machine, row: dict[str, Any]) -> bool:
    base = machine.root if machine.is_root else machine.root / "home"
    return Path(base, "var/log", row["path"]).is_file()


HOLDS: dict[str, Callable[[Machine, dict[str, Any]], bool]] = {
    "there": there,
    "missing": missing,
    "folder": folder,
    "link": link,
    "mode": mode,
    "count": count,
    "machine": machine_of,
    "text": text,
    "absent": absent,
    "lists": lists,
    "log": log,
}


@pytest.mark.parametrize(
    ("release", "row"),
    [(release, row) for release, row in ROWS if row["kind"] != "runs"],
    ids=[named(release, row) for release, row in ROWS if row["kind"] != "runs"],
)
def test_the_tree_and_the_scripts(
    request: pytest.FixtureRequest,
    installed: Callable[[str], Machine],
    release: str,
    row: dict[str, Any],
) -> None:
    machine = installed(release)
    known = filled(machine, request.getfixturevalue(release), row)
    assert HOLDS[row["kind"]](machine, known), known


@pytest.mark.parametrize(
    ("release", "row"),
    [(release, row) for release, row in ROWS if row["kind"] == "runs"],
    ids=[named(release, row) for release, row in ROWS if row["kind"] == "runs"],
)
def test_the_installers(
    request: pytest.FixtureRequest, machine: Machine, release: str, row: dict[str, Any]
) -> None:
    packed: Packed = request.getfixturevalue(release)
    result = machine.run(packed.file(row["package"]), *row["options"])
    assert result.returncode == row["status"], result.stdout + result.stderr
    assert row["says"] in result.stdout + result.stderr


def test_every_row_has_a_known_source() -> None:
    assert {row["source"] for row in FACTS["rows"]} <= {*FACTS["sources"]}


@pytest.mark.parametrize(("umask", "expected"), [("077", 0o600), ("022", 0o644)])
def test_umask_decides_of_pkg_inc(
    machine: Machine, cann91: Packed, umask: str, expected: int
) -> None:
    """Source: hicann/runtime (RuntimeInc.xml has no modes for these), run with umask 077."""
    script = machine.root / "masked.sh"
    script.write_text(f'umask {umask}\nexec sh "{cann91.file("toolkit")}" "$@"\n')
    machine.must_install(script)
    header = machine.ascend / "cann/pkg_inc/base/simulated.h"
    assert header.stat().st_mode & 0o777 == expected
    assert (machine.ascend / "cann/lib64").stat().st_mode & 0o777 == 0o755
