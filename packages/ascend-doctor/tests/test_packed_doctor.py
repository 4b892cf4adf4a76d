# SPDX-License-Identifier: Apache-2.0
"""The doctor as one file: equal bytes, quick, and for the oldest Python of the images."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ascend_doctor.partners import packed_facts
from tests.log_cases import case_log
from tests.pythons import interpreter

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ascend_doctor"
PACK = ROOT / "tools" / "pack.py"
SOURCES = sorted(PACKAGE.rglob("*.py"))
OLDEST = (3, 7)
OF_TORCH = {"on_cards.py": ("torch", "torch_npu")}
"""A program of its own, whose ranks meet at a port of this machine."""

NEWER = {"removeprefix", "removesuffix", "cached_property", "bit_count", "fromisoformat"}


def packed(folder: Path, package: Path = PACKAGE) -> Path:
    program = folder / "bin" / "ascend-doctor"
    subprocess.run([sys.executable, PACK, package, program], check=True)
    return program


def test_the_same_package_gives_the_same_bytes(tmp_path: Path) -> None:
    one = packed(tmp_path / "one")
    copy = tmp_path / "ascend_doctor"
    shutil.copytree(PACKAGE, copy)
    (copy / "__pycache__").mkdir(exist_ok=True)
    two = packed(tmp_path / "two", copy)
    assert one.read_bytes() == two.read_bytes()
    assert os.access(one, os.X_OK)
    said = one.with_name("ascend-doctor.sha256").read_text(encoding="ascii")
    assert said == f"{hashlib.sha256(one.read_bytes()).hexdigest()}  ascend-doctor\n"
    with zipfile.ZipFile(one) as archive:
        names = {*archive.namelist()} - {"__main__.py"}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert names == {f"ascend_doctor/{path.relative_to(PACKAGE)}" for path in files}


PYTHONS = ("3.7", "3.8", "3.9", "3.11", "3.13")


@pytest.mark.parametrize("version", PYTHONS)
def test_it_runs_anywhere_in_less_than_a_second(tmp_path: Path, version: str) -> None:
    python, program = interpreter(version), packed(tmp_path)
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


@pytest.mark.parametrize("version", PYTHONS)
def test_it_judges_a_log_alike_on_every_python(tmp_path: Path, version: str) -> None:
    python, program = interpreter(version), packed(tmp_path)
    log = case_log("own", "ranks-03", tmp_path)
    for words in (("--log", log, "--json"), ("--explain", "507018"), ("--log", log)):
        done = [
            subprocess.run(
                [one, "-I", program, *words], capture_output=True, text=True, check=False
            )
            for one in (python, sys.executable)
        ]
        assert not done[0].stderr
        assert (done[0].returncode, done[0].stdout) == (done[1].returncode, done[1].stdout)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
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
        assert modules <= {*sys.stdlib_module_names, "ascend_doctor", *OF_TORCH.get(path.name, ())}
        assert not modules & {"http", "urllib", "ssl"}
        assert "socket" not in modules or path.name in OF_TORCH


def test_the_facts_are_packed() -> None:
    assert packed_facts()["nearest_public"]["8.0.T39"] == "8.0.RC3"
    assert packed_facts()["drivers"]
