# SPDX-License-Identifier: Apache-2.0
"""seal-layer, which makes a layer of what a step did."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.image.context_programs import Seal, load, write


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    return tmp_path / "layer"


@pytest.fixture
def seal(layer: Path, monkeypatch: pytest.MonkeyPatch) -> Seal:
    module = load("seal-layer", monkeypatch)
    monkeypatch.setattr(module, "LAYER", layer)
    monkeypatch.setattr(module, "LEAVE_OUT", write(layer.with_name("leave-out"), ""))
    monkeypatch.setattr(module, "COMPILE", layer.with_name("compile"))
    monkeypatch.setattr(module, "PYTHON", sys.executable)

    def run(*options: str | Path) -> dict[str, str]:
        monkeypatch.setattr("sys.argv", ["seal-layer", *map(str, options)])
        module.main()
        return {
            str(path.relative_to(layer)): path.read_text(errors="replace")
            for path in sorted(layer.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    return run


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A system before and after a step, which has not done anything yet."""
    before, after = tmp_path / "before", tmp_path / "after"
    for tree in (before, after):
        write(tree / "etc" / "passwd", "root")
        write(tree / "usr" / "bin" / "sh", "shell").chmod(0o755)
    return before, after
