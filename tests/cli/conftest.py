# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.checkout import CAN_MOUNT, Checkout

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy that is in sync, whatever is being worked on in the checkout itself."""
    root = tmp_path_factory.mktemp("original") / "checkout"
    root.mkdir()
    ignore = shutil.ignore_patterns("device")
    for name in ("cannery", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=ignore)
    for name in ("build.py", "matrix.yaml", "compat.yaml", "publish.yaml"):
        shutil.copy2(ROOT / name, root / name)
    shutil.copytree(ROOT / "tests" / "image", root / "tests" / "image")
    checkout = Checkout(root=root)
    assert checkout.run("render").code == 0
    return checkout


@pytest.fixture
def checkout(original: Checkout, tmp_path: Path) -> Checkout:
    """A copy to do anything to."""
    shutil.copytree(original.root, tmp_path / "checkout")
    return Checkout(root=tmp_path / "checkout")


@pytest.fixture(scope="session")
def mounts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips a test where no small disk can be mounted."""
    argv = ["sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$1"', "sh"]
    folder = str(tmp_path_factory.mktemp("probe"))
    try:
        code = subprocess.run(
            [*CAN_MOUNT, *argv, folder], capture_output=True, check=False
        ).returncode
    except FileNotFoundError:
        code = 127
    if code:
        pytest.skip("this machine lets nobody mount a small disk (unshare --mount)")
