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

    All paths are relative to the install path; {version} and {arch} stand for the toolkit's.
    ``toolkit_parts`` and ``operator_parts`` are the folders of the tree with a version.info, whose
    text is ``version_info`` (``atb_version_info`` is NNAL's). Those below share/info also have a
    scene.info. ``operators_info`` says whether the operators have an .info file of their own, and
    so refuse another chip's.
    """

    name: str
    toolkit_tree: str
    toolkit_record: str
    operators: str
    links: dict[str, str]
    tree_links: dict[str, str]
    tree_directories: tuple[str, ...]
    tree_files: dict[str, str]
    info_place: str
    version_info: str
    atb_version_info: str
    version_cfg: bool
    toolkit_parts: tuple[str, ...]
    operator_parts: tuple[str, ...]
    operators_info: bool

    def fragment(self, name: str) -> str:
        """The shell lines that only this layout's set_env.sh has, without their file header."""
        lines = (PACKAGES / "layouts" / self.name / name).read_text(encoding="utf-8").splitlines()
        body = dropwhile(lambda line: line.startswith("#") or not line.strip(), lines)
        return "\n".join(body)


def load_layout(name: str) -> Layout:
    """``name`` must be one of spec.LAYOUTS."""
    path = PACKAGES / "layouts" / name / "layout.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    for key in ("tree_directories", "toolkit_parts", "operator_parts"):
        values[key] = tuple(values[key])
    return Layout(name=name, **values)


def render_template(name: str, values: dict[str, str]) -> str:
    """Fills in a template; @INSTALL_PATH@ is left to the installer, which alone knows it."""
    text = (PACKAGES / "templates" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
