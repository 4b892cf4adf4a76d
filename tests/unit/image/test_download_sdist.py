# SPDX-License-Identifier: Apache-2.0
"""The program of the build context that downloads sdists: by hash, and without running them."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.unit.matrices import CHECKOUT

pytestmark = pytest.mark.slow

PROGRAM = CHECKOUT / "cannery" / "image" / "context" / "download-sdist"
PYPROJECT = '[build-system]\nrequires = ["torch"]\nbuild-backend = "setuptools.build_meta"\n'
SETUP = "raise SystemExit('this sdist must not run')\n"


def sdist(folder: Path, *, version: str = "1.1", **files: str) -> str:
    """Write serve_npu-1.1.tar.gz, which says it is of ``version``; the answer is its sha256."""
    folder.mkdir(exist_ok=True)
    path = folder / "serve_npu-1.1.tar.gz"
    said = f"Metadata-Version: 2.1\nName: serve-npu\nVersion: {version}\n"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"PKG-INFO": said, "setup.py": SETUP, **files}.items():
            entry = tarfile.TarInfo(f"serve_npu-1.1/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def download(folder: Path, sha256: str) -> subprocess.CompletedProcess[str]:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"serve-npu==1.1 \\\n    --hash=sha256:{sha256}\n", encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(requirements), str(folder / "out")],
        env={**environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "index")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("files", [{}, {"pyproject.toml": PYPROJECT}])
def test_it_is_downloaded_and_not_run(tmp_path: Path, files: dict[str, str]) -> None:
    done = download(tmp_path, sdist(tmp_path / "index", **files))
    assert not done.returncode, done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["serve_npu-1.1.tar.gz"]


def test_an_sdist_with_another_hash_is_refused(tmp_path: Path) -> None:
    sdist(tmp_path / "index")
    done = download(tmp_path, "0" * 64)
    assert done.returncode
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").iterdir()]


def test_an_sdist_of_another_version_is_refused(tmp_path: Path) -> None:
    done = download(tmp_path, sdist(tmp_path / "index", version="1.2"))
    assert done.returncode
    assert "No matching distribution found for serve-npu==1.1" in done.stderr
