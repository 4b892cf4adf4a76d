# SPDX-License-Identifier: Apache-2.0
"""A target with JupyterLab, ipykernel and nginx, whose files are not in site-packages alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from .conftest import Built
from .small_copy import build, own_checkout

CHECKS = Path(__file__).with_name("notebook_checks.py")
APPLICATION = """\
  notebook:
    component: notebook
    version: 4.5.0
    requirements: [jupyterlab==4.5.0, ipykernel]
    packages: [nginx-light]
"""
TARGET = """\
  {target.id}:
    summary: JupyterLab and nginx
    platform: {target.platform}
    base: {target.base.name}
    python: {target.python.name}
    cann: {{toolkit: {cann}, kernels: {cann}, chip: {target.chip}}}
    application: notebook
"""
"""The main target without torch, so that its system and its CANN are in the cache."""


def test_lab_a_kernel_and_nginx_work(main: Built, tmp_path: Path) -> None:
    """The checks of notebook_checks.py run in the image, with those of every image."""
    target = TARGET.format(target=main.target, cann=main.target.cann.version)
    sections, root = {"applications": APPLICATION}, tmp_path / "checkout"
    with own_checkout(root, "cannery-notebook", sections, target, main):
        (root / "tests" / "image" / "notebook").mkdir()
        shutil.copy(CHECKS, root / "tests" / "image" / "notebook" / "test_notebook.py")
        build(root, [main.target.id])
