# SPDX-License-Identifier: Apache-2.0
"""The vendor's two install layouts, which are data: one folder each under ../layouts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(__file__).parent.parent


@dataclass(frozen=True)
class Contents:
    """What a package has besides the software device, with {other} for the other architecture.

    ``libraries`` are empty ELF files. ``wheels`` are installed by pip: each has the folder that
    they go into, and their modules. ``archives`` are wheels and tar.gz files that only lie there.
    ``parts`` are the package's inner packages with the beginnings of what is theirs: the first one
    has all that no other one has.
    """

    libraries: tuple[str, ...]
    archives: tuple[str, ...]
    wheels: dict[str, tuple[str, ...]]
    parts: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """Where a toolkit's files are.

    All paths are relative to the install path; {version} and {arch} stand for the
    toolkit's. ``latest`` is a folder of links to what is in ``toolkit_tree``, or empty.
    ``toolkit_infos`` and ``operator_infos`` are the folders of the tree with a version.info, whose
    text is ``version_info`` (``atb_version_info`` is NNAL's). Those below share/info also have a
    scene.info. ``lists`` is the folder of a part with its list of files. ``operators_info`` says
    whether the operators have an .info file of their own, and so refuse another chip's;
    ``soft_operators`` whether their installers go on after an error, and do not know --check.
    """

    name: str
    toolkit_tree: str
    toolkit_record: str
    latest: str
    operators: str
    links: dict[str, str]
    set_env: tuple[str, ...]
    tree_links: dict[str, str]
    tree_directories: tuple[str, ...]
    tree_files: dict[str, str]
    programs: dict[str, str]
    contents: dict[str, Contents]
    part_files: str
    info_place: str
    lists: str
    version_info: str
    atb_version_info: str
    version_cfg: bool
    version_parts: tuple[str, ...]
    toolkit_infos: tuple[str, ...]
    operator_infos: tuple[str, ...]
    operators_info: bool
    soft_operators: bool

    @property
    def script(self) -> str:
        """The toolkit's set_env.sh, with @VERSION@ and @INSTALL_PATH@ in it."""
        path = PACKAGES / "layouts" / self.name / "toolkit_env.sh"
        return path.read_text(encoding="utf-8")


def load_layout(name: str) -> Layout:
    """``name`` must be one of spec.LAYOUTS."""
    path = PACKAGES / "layouts" / name / "layout.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    for key in ("set_env", "tree_directories", "version_parts", "toolkit_infos", "operator_infos"):
        values[key] = tuple(values[key])
    values["contents"] = {each: Contents(**named) for each, named in values["contents"].items()}
    return Layout(name=name, **values)


def render_template(name: str, values: dict[str, str]) -> str:
    """Fills in a template; @INSTALL_PATH@ is left to the installer, which alone knows it."""
    text = (PACKAGES / "templates" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
