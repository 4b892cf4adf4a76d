# SPDX-License-Identifier: Apache-2.0
"""The versions that the image tests read are those of the installed packages, in every layout."""

from __future__ import annotations

import ast
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cannery.fetch.artifacts import is_stand_in

from .conftest import Machine, Packed

PROBE = Path(__file__).parents[1] / "image" / "probes" / "facts.py"
FILE_LISTS = PROBE.parents[3] / "cannery" / "image" / "context" / "file_lists.py"


def looks(each: ast.stmt) -> bool:
    """Whether a statement looks at the container, as one with what the command line says."""
    names = {inner.id for inner in ast.walk(each) if isinstance(inner, ast.Name)}
    is_value = isinstance(each, ast.Assign | ast.AugAssign)
    return is_value and bool(names & {"sys", "os", "RECORD", "HOME", "ENTRIES", "FILES", "entries"})


def probe(machine: Machine, home: str) -> dict[str, Any]:
    """The probe's functions, which look at ``machine`` in place of a container."""
    text = "\n\n".join(each.read_text(encoding="utf-8") for each in (FILE_LISTS, PROBE))
    tree = ast.parse(text)
    kinds = (ast.Import, ast.FunctionDef, ast.Assign, ast.AugAssign)
    tree.body = [each for each in tree.body if isinstance(each, kinds) and not looks(each)]
    found: dict[str, Any] = {
        "ASCEND": str(machine.ascend),
        "HOME": str(machine.ascend / home),
        "REAL": str((machine.ascend / home / "opp").resolve().parent),
        "NOT_OURS": (),
    }
    constants = {**found}
    exec(compile(tree, str(PROBE), "exec"), found)
    found.update(constants)
    found["FILES"] = found["files"](found["entries"](str(machine.ascend)))
    return found


@pytest.mark.parametrize(
    ("version", "home", "operators"),
    [
        ("8.0.T39", "ascend-toolkit/latest", "kernels"),
        ("8.5.0", "cann-8.5.0", "ops"),
        ("9.1.1", "cann-9.1.1", "ops"),
    ],
)
def test_each_package_has_its_version(
    installed: Callable[[str], Machine],
    version: str,
    home: str,
    operators: str,
) -> None:
    machine = installed(version)
    infos = probe(machine, home)["install_infos"]()
    for name in ("toolkit", operators, "nnal"):
        assert infos[name]["version"] == version
    assert infos["toolkit"]["arch"] == platform.machine()
    assert {*probe(machine, home)["part_versions"]().values()} == {version}


def test_none_is_taken_for_the_vendor_s(pack: Callable[[str], Packed]) -> None:
    files = [*pack("8.0.T39").artifacts.iterdir()]
    assert len(files) == 4
    assert all(is_stand_in(path) for path in files)


def test_a_missing_package_has_no_install_info(
    machine: Machine, pack: Callable[[str], Packed]
) -> None:
    machine.install(pack("8.0.T39").file("toolkit"))
    infos = probe(machine, "ascend-toolkit/latest")["install_infos"]()
    assert [*infos] == ["toolkit"]
    machine.install(pack("8.0.T39").file("kernels"))
    assert [*probe(machine, "ascend-toolkit/latest")["install_infos"]()] == ["toolkit", "kernels"]


# As a host with CANN 8.3.RC1.alpha001 had it.
KERNELS_OF_8_3 = """\
Version=8.3.T5.0.B028
version_dir=8.3.RC1.alpha001
timestamp=20250807_092944934
ops_version=8.3.T5.0.B028
required_package_runtime_version=">=7.6, <=8.3"
"""
ATB = {
    "Ascend-cann-atb : 8.0.RC2\nAscend-cann-atb Version : 8.0.RC2.B020\n": "8.0.RC2",
    'Version=8.5.0\n\nrequired_package_hccl_version>="8.2"\n': "8.5.0",
}


def test_versions_as_the_vendor_writes_them(machine: Machine) -> None:
    home = machine.ascend / "ascend-toolkit/latest"
    (home / "opp_kernel").mkdir(parents=True)
    (home / "opp_kernel/version.info").write_text(KERNELS_OF_8_3)
    atb = machine.ascend / "nnal/atb/latest"
    atb.mkdir(parents=True)
    for text, version in ATB.items():
        (atb / "version.info").write_text(text)
        infos = probe(machine, "ascend-toolkit/latest")["install_infos"]()
        assert infos["kernels"]["version"] == "8.3.RC1.alpha001"
        assert infos["nnal"]["version"] == version
