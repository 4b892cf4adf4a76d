# SPDX-License-Identifier: Apache-2.0
"""The files that the build makes of a target's three, by the build's own program."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.unit.matrices import CHECKOUT

PROGRAM = CHECKOUT / "cannery" / "image" / "context" / "describe-image"


@cache
def _program() -> dict[str, Any]:
    return runpy.run_path(str(PROGRAM))


def described(files: Mapping[str, str]) -> dict[str, str]:
    """Name to text of what is made of ``files``, which are those of images/ID.

    The names of the files of the image are without their folder.
    """
    record = json.loads(files["target.json"])
    made: dict[str, str] = _program()["described"](
        files["Dockerfile"], record, files["requirements.lock"]
    )
    return {name.removeprefix("image/"): text for name, text in made.items()}


def described_folder(folder: Path) -> dict[str, str]:
    """The same of the files in ``folder``."""
    names = ("Dockerfile", "target.json", "requirements.lock")
    return described({name: (folder / name).read_text(encoding="utf-8") for name in names})
