# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for the operator compiler's modules, and atc: they miss what the vendor's would."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .conftest import PACKAGES, TOOLKIT, Machine, Packed

NEEDED = re.findall(
    r"^import (?!tbe)(\S+)", (PACKAGES / "toolkit/te/__init__.py").read_text(), re.MULTILINE
)


def atc(machine: Machine, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed atc, with the made-up packages in ``site`` and no others."""
    home = machine.ascend / "ascend-toolkit" / "latest"
    machine.shim("python3", 'exec "$REAL" -S "$@"')
    path = f"{home}/python/site-packages:{site}"
    return machine.run(home / "bin" / "atc", *arguments, variables={"PYTHONPATH": path})


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an empty module for everything that te imports."""
    folder = tmp_path / "site"
    for name in NEEDED:
        path = folder.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize("release", ["t39", "cann85"])
def test_help(machine: Machine, site: Path, release: str, request: pytest.FixtureRequest) -> None:
    packed: Packed = request.getfixturevalue(release)
    machine.must_install(packed.file(TOOLKIT))
    result = atc(machine, site, "--help")
    assert result.returncode == 0, result.stderr
    assert "--soc_version" in result.stdout
    assert "simulated" in result.stdout


def test_it_converts_nothing(machine: Machine, site: Path, t39: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    result = atc(machine, site, "--model=net.onnx")
    assert (result.returncode, result.stdout) == (1, "")
    assert "it converts no model" in result.stderr


@pytest.mark.parametrize("name", ["decorator", "google.protobuf.descriptor"])
def test_a_missing_package_is_an_error(
    machine: Machine, site: Path, t39: Packed, name: str
) -> None:
    machine.must_install(t39.file(TOOLKIT))
    site.joinpath(*name.split(".")).with_suffix(".py").unlink()
    result = atc(machine, site, "--help")
    assert result.returncode == 1
    assert "No module named" in result.stderr
    assert "the operator compiler imports are missing" in result.stderr
