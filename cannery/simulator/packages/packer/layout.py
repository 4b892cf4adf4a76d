# SPDX-License-Identifier: Apache-2.0
"""The vendor's two install layouts, which are data: one folder each under ../layouts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

PACKAGES = Path(__file__).parent.parent


@dataclass(frozen=True)
class Layout:
    """Where a toolkit's files are.

    All paths are relative to the install path; {version} and {arch} stand for the package's.
    """

    name: str
    toolkit_tree: str
    toolkit_record: str
    operators: str
    links: dict[str, str]
    tree_links: dict[str, str]
    tree_directories: tuple[str, ...]
    tree_files: dict[str, str]

    def fragment(self, name: str) -> str:
        """The shell lines that only this layout's set_env.sh has, without their file header."""
        lines = (PACKAGES / "layouts" / self.name / name).read_text(encoding="utf-8").splitlines()
        body = dropwhile(lambda line: line.startswith("#") or not line.strip(), lines)
        return "\n".join(body)


def load_layout(name: str) -> Layout:
    """``name`` must be one of spec.LAYOUTS."""
    path = PACKAGES / "layouts" / name / "layout.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["tree_directories"] = tuple(values["tree_directories"])
    return Layout(name=name, **values)


def render_template(name: str, values: dict[str, str]) -> str:
    """Fills in a template; @INSTALL_PATH@ is left to the installer, which alone knows it."""
    text = (PACKAGES / "templates" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
