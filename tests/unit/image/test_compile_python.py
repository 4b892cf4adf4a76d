# SPDX-License-Identifier: Apache-2.0
"""The program that compiles Python files into a layer of their own."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import needs_root
from tests.unit.matrices import CHECKOUT

SCRIPT = CHECKOUT / "cannery" / "image" / "context" / "compile-python"
DATE = 946684800
PLACE = "usr/local/Ascend/cann/python/site-packages"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Layers with Python files in folders that only root may write to."""
    folder = tmp_path / "tree" / PLACE
    for name, text in (("te/__init__.py", "from te import tik\n"), ("te/tik.py", "x = {1, 2}\n")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (DATE, DATE))
        path.chmod(0o444)
    (folder / "te" / "data").mkdir()
    (folder / "te" / "link.py").symlink_to("tik.py")
    (folder / "broken.py").write_text("def\n", encoding="utf-8")
    (folder / "te").chmod(0o555)
    (tmp_path / "layer").mkdir()
    return tmp_path / "tree"


def compiled(tree: Path) -> Path:
    layer = tree.parent / "layer"
    argv = [sys.executable, *map(str, (SCRIPT, tree, layer)), "/usr/local/Ascend", "/missing"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    return layer


@needs_root
def test_the_layer_has_the_compiled_files_alone_in_folders_as_they_were(tree: Path) -> None:
    layer = compiled(tree)
    tag = sys.implementation.cache_tag
    files = {str(path.relative_to(layer)) for path in layer.rglob("*") if path.is_file()}
    assert files == {f"{PLACE}/te/__pycache__/{name}.{tag}.pyc" for name in ("__init__", "tik")}
    folder = layer / PLACE / "te"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o555
    # Every user may read them.
    assert {path.stat().st_mode & stat.S_IROTH for path in layer.rglob("*")} == {stat.S_IROTH}
    assert not (folder / "data").exists()
    assert not [*tree.rglob("*.pyc")]


@needs_root
def test_python_takes_them_as_they_are(tree: Path) -> None:
    layer = compiled(tree)
    before = {path: path.read_bytes() for path in layer.rglob("*.pyc")}
    # An image has both in one place.
    for path, content in before.items():
        target = tree / path.relative_to(layer)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(content)
    argv = [sys.executable, "-v", "-B", "-c", "import te"]
    env = {"PYTHONPATH": str(tree / PLACE)}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    for path in before:
        assert f"code object from '{tree / path.relative_to(layer)}'" in done.stderr
    # They say where they are in an image.
    assert all(f"/{PLACE}/te/".encode() in content for content in before.values())
