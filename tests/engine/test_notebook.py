# SPDX-License-Identifier: Apache-2.0
"""A target with JupyterLab, ipykernel and nginx, whose files are not in site-packages alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from cannery.common.image_names import image_name

from .conftest import Built, rename_images
from .small_copy import copy_checkout

NAMES = "cannery-notebook"
CHECKS = Path(__file__).with_name("notebook_checks.py")

APPLICATION = """
applications:
  notebook:
    component: notebook
    version: 4.5.0
    requirements: [jupyterlab==4.5.0, ipykernel]
    packages: [nginx-light]
"""
TARGET = """
targets:
  {id}:
    summary: JupyterLab and nginx
    platform: {platform}
    base: {base}
    python: {python}
    cann: {{toolkit: {cann}, kernels: {cann}, chip: {chip}}}
    application: notebook
"""
"""The main target without torch, so that its system and its CANN are in the cache."""


def _matrix(main: Built, text: str) -> str:
    definitions, found, _ = text.partition("\nfamilies:\n")
    assert found and "\ntargets:\n" not in definitions
    own = main.target
    target = TARGET.format(
        id=own.id,
        platform=own.platform,
        base=own.base.name,
        python=own.python.name,
        cann=own.cann.version,
        chip=own.chip,
    )
    return definitions.replace("\napplications:\n", APPLICATION, 1) + target


def test_lab_a_kernel_and_nginx_work(main: Built, tmp_path: Path) -> None:
    """The checks of notebook_checks.py run in the image, with those of every image."""
    root = tmp_path / "checkout"
    copy_checkout(root, main)
    rename_images(root, NAMES)
    matrix = root / "matrix.yaml"
    matrix.write_text(_matrix(main, matrix.read_text(encoding="utf-8")), encoding="utf-8")
    (root / "tests" / "image" / "notebook").mkdir()
    shutil.copy(CHECKS, root / "tests" / "image" / "notebook" / "test_notebook.py")
    image = image_name(main.target.id, simulate=True).replace("cannery", NAMES, 1)
    try:
        for words in (["lock"], ["render"], ["--simulate"]):
            argv = [sys.executable, str(root / "build.py"), *words, "--target", main.target.id]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    finally:
        subprocess.run(["docker", "image", "rm", "--force", image], capture_output=True, check=True)
