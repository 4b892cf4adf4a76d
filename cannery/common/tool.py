# SPDX-License-Identifier: Apache-2.0
"""Where the files are that cannery has beside its modules, in a checkout and once installed."""

from __future__ import annotations

from pathlib import Path

import cannery

_PACKAGE = Path(cannery.__file__).resolve().parent

CHECKOUT = _PACKAGE.parent
"""The folder of the package: the checkout, or where Python packages are installed."""

INSTALLED = (_PACKAGE / "tool").is_dir()
"""Whether this code is from a wheel, whose setup.py makes that folder."""


def tool_path(name: str, root: Path = CHECKOUT) -> Path:
    """The file or folder ``name``, as it is called in a checkout, for the project in ``root``.

    A checkout of cannery is a project with its own; all others have those of this code.
    """
    if is_checkout(root):
        return root / name
    packaged = _PACKAGE / "tool" / name
    return packaged if packaged.exists() else CHECKOUT / name


def is_checkout(root: Path) -> bool:
    """Whether the project in ``root`` is a checkout of cannery, with facts to be edited."""
    return not (INSTALLED and root == CHECKOUT) and (root / "cannery/data/compat.yaml").exists()
