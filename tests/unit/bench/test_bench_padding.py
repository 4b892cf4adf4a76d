# SPDX-License-Identifier: Apache-2.0
"""Simulated packages that are padded to a real size."""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from bench.padding import Padding, pad, sizes
from cannery.common.errors import FileError
from tests.unit.matrices import CHECKOUT

PADDING = Padding(files=250, size=2_000_000)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated kernels, which need no compiled device."""
    folder = tmp_path_factory.mktemp("package")
    spec = folder / "spec.json"
    spec.write_text(
        '{"arch": "x86_64", "cann": "8.0.T39", "layout": "ascend-toolkit", "packages":'
        ' [{"component": "kernels", "chip": "910b", "file": "kernels_8.0.T39.run"}]}'
    )
    packer = CHECKOUT / "cannery" / "simulator" / "packages" / "pack.py"
    words = ["--spec", str(spec), "--device", str(folder), "--out", str(folder / "out")]
    subprocess.run(["python3", str(packer), *words], check=True)
    return folder / "out" / "artifacts" / "kernels_8.0.T39.run"


@pytest.fixture(scope="module")
def padded(package: Path) -> Path:
    path = package.with_name("padded.run")
    pad(package, path, PADDING)
    return path


def test_the_installer_accepts_it_and_unpacks_all(
    package: Path, padded: Path, tmp_path: Path
) -> None:
    subprocess.run(["sh", padded, "--check"], check=True, capture_output=True)
    for file, name in ((package, "small"), (padded, "large")):
        words = ["sh", str(file), f"--extract={tmp_path / name}"]
        subprocess.run(words, check=True, capture_output=True)
    found = {
        tree: {
            str(path.relative_to(tmp_path / tree)): path.read_bytes()
            for path in (tmp_path / tree).rglob("*")
            if path.is_file()
        }
        for tree in ("small", "large")
    }
    added = {name: text for name, text in found["large"].items() if name not in found["small"]}
    assert found["small"] == {name: found["large"][name] for name in found["small"]}
    assert len(added) == PADDING.files
    assert sum(map(len, added.values())) == PADDING.size
    assert all("/kernel/ascend910b/padding/" in name for name in added)


def test_equal_arguments_give_equal_bytes(package: Path, padded: Path, tmp_path: Path) -> None:
    pad(package, tmp_path / "again.run", PADDING)
    assert (tmp_path / "again.run").read_bytes() == padded.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.run"]


def test_the_content_compresses_as_binaries_do(padded: Path) -> None:
    assert 0.4 < padded.stat().st_size / PADDING.size < 0.65


def test_the_sizes_differ_and_have_the_right_sum() -> None:
    found = sizes(PADDING, random.Random(1))
    assert sum(found) == PADDING.size
    assert len(found) == PADDING.files
    assert max(found) > 10 * min(found)


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.run"
    archive = io.BytesIO()
    tarfile.open(fileobj=archive, mode="w").close()
    other.write_bytes(archive.getvalue())
    with pytest.raises(FileError, match=r"other\.run is not a simulated package"):
        pad(other, tmp_path / "out.run", PADDING)
    assert not (tmp_path / "out.run").exists()
