# SPDX-License-Identifier: Apache-2.0
"""Every folder with test files is named by a nox session; the checks in images are listed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from cannery.matrix.project import Project
from cannery.verify.image_checks import listed

ROOT = Path(__file__).resolve().parents[2]
IN_IMAGES = "tests/image/"


def tracked_tests() -> set[str]:
    argv = ["git", "ls-files", "tests", "packages", "site"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    pattern = r"(packages/[^/]+/|site/)?tests/(.*/)?test_[^/]*\.py"
    return {name for name in done.stdout.splitlines() if re.fullmatch(pattern, name)}


def test_every_test_file_is_collected_by_a_session() -> None:
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    named = {*re.findall(r"tests/[\w/]+(?:\.py)?", noxfile)}
    for name in tracked_tests():
        inside = name[name.index("tests/") :]
        if name.startswith("tests/") and not name.startswith(IN_IMAGES):
            assert any(inside == each or inside.startswith(f"{each}/") for each in named), name


def test_every_check_of_images_is_listed() -> None:
    checks = {f"{IN_IMAGES}{check.name.partition('::')[0]}" for check in listed(Project(root=ROOT))}
    assert checks == {name for name in tracked_tests() if name.startswith(IN_IMAGES)}
