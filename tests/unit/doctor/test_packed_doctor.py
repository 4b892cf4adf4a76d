# SPDX-License-Identifier: Apache-2.0
"""The doctor as one file: equal bytes, quick, and for the oldest Python of the images."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cannery.image import doctor_facts
from cannery.image.build_context import DOCTOR_FILES
from cannery.image.context.ascend_doctor.command import packed_facts
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

CONTEXT = Project(root=CHECKOUT).build_context
SOURCES = sorted((CONTEXT / doctor_facts.PACKAGE).glob("*.py"))
OLDEST = (3, 7)
NEWER = {"removeprefix", "removesuffix", "cached_property", "bit_count", "fromisoformat"}


def packed(folder: Path) -> Path:
    program = folder / "bin" / "ascend-doctor"
    argv: list[str | Path] = [
        sys.executable,
        CONTEXT / "pack-doctor",
        CONTEXT / doctor_facts.PACKAGE,
        program,
    ]
    subprocess.run(argv, check=True)
    return program


def test_the_same_package_gives_the_same_bytes(tmp_path: Path) -> None:
    one = packed(tmp_path / "one")
    copy = tmp_path / doctor_facts.PACKAGE
    shutil.copytree(CONTEXT / doctor_facts.PACKAGE, copy)
    (copy / "__pycache__").mkdir(exist_ok=True)
    two = tmp_path / "two"
    subprocess.run([sys.executable, CONTEXT / "pack-doctor", copy, two], check=True)
    assert one.read_bytes() == two.read_bytes()
    assert os.access(one, os.X_OK)
    with zipfile.ZipFile(one) as archive:
        names = {name.removeprefix("ascend_doctor/") for name in archive.namelist()}
    assert names == {*DOCTOR_FILES}


@pytest.mark.parametrize("python", [sys.executable, "python3.7"])
def test_it_runs_anywhere_in_less_than_a_second(tmp_path: Path, python: str) -> None:
    found = shutil.which(python)
    if not found or subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no {python}")
    program = packed(tmp_path)
    before = os.times()
    done = subprocess.run(
        [python, "-I", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    after = os.times()
    assert not done.stderr
    assert "ascend-doctor: " in done.stdout
    assert "check-failed" not in done.stdout
    used = after.children_user + after.children_system
    assert used - before.children_user - before.children_system < 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_module_is_for_the_oldest_python(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST)
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & NEWER
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = {str(node.module).partition(".")[0]} if not node.level else set()
        else:
            continue
        assert modules <= {*sys.stdlib_module_names}
        assert not modules & {"socket", "http", "urllib", "ssl"}


def test_the_packed_facts_are_those_of_compat_yaml() -> None:
    project = Project(root=CHECKOUT)
    path, text = doctor_facts.facts_file(project, project.matrix(), project.compat())
    assert path.read_text(encoding="utf-8") == text, "run: python build.py render"
    assert packed_facts() == doctor_facts.doctor_facts(project.matrix(), project.compat())
    assert packed_facts()["nearest_public"]["8.0.T39"] == "8.0.RC3"
