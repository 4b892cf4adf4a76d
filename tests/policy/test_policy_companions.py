# SPDX-License-Identifier: Apache-2.0
"""The companions of cannery: nobody imports another, and images have a pinned doctor."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
import zipfile

import pytest

from cannery.image.companion_facts import companion_files
from cannery.matrix.project import Project
from tests.policy.test_policy_sources import ROOT, tracked

PINNED = ROOT / "cannery" / "image" / "context" / "ascend-doctor"


def imported(name: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ("cannery/", {"ascend_doctor", "ascend_sim"}),
        ("packages/ascend-doctor/", {"cannery", "ascend_sim"}),
        ("packages/ascend-sim/", {"cannery", "ascend_doctor", "bench"}),
    ],
)
def test_between_the_products_stand_files_and_commands(folder: str, others: set[str]) -> None:
    names = [name for name in tracked(".py") if name.startswith(folder)]
    assert len(names) > 10
    assert not [name for name in names if others & imported(name)]


def test_the_pinned_doctor_matches_its_record() -> None:
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()
    record = PINNED.with_name("ascend-doctor.sha256").read_text(encoding="ascii")
    assert record == f"{digest}  ascend-doctor\n", "run: nox -s doctor -- -s pack"
    said = subprocess.run(
        [sys.executable, PINNED, "--version"], capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(PINNED) as archive:
        text = archive.read("ascend_doctor/__init__.py").decode()
    assert f'"{said.stdout.split()[1]}"' in text


def test_the_facts_of_the_companions_are_those_of_compat_yaml(project: Project) -> None:
    for path, text in companion_files(project.matrix(), project.compat()).items():
        advice = f"{path} is old; run: python -m cannery.image.companion_facts"
        assert path.read_text(encoding="utf-8") == text, advice
