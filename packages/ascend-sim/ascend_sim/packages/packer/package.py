# SPDX-License-Identifier: Apache-2.0
"""One of CANN's packages, before it is a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from .tree import Tree


@dataclass(frozen=True)
class Package:
    """A tree relative to the install path, and what its installer has to know."""

    name: str
    component: str
    log_name: str
    version: str
    arch: str
    tree: Tree
    # The folder with its marker.
    home: str
    # The folder of the release, and where a part's list is below it; there are no lists without.
    root: str
    lists: str
    # Files in which the installer writes the install path.
    templates: tuple[str, ...]
    # Inner packages with the beginnings of their paths; the first one has the rest.
    parts: dict[str, tuple[str, ...]]
    # Wheels that pip installs, each with the folder that they go into, and their modules.
    wheels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the parts go on after an error, and do not know --check.
    soft: bool = False
    # The toolkit that it is installed on; empty for the toolkit itself.
    needs_toolkit: str = ""
    # The .info file of operators, which another chip's must not replace; empty for all others.
    exclusive: str = ""
    # The version.cfg that lists these parts; empty when the package is not listed there.
    version_cfg: str = ""
    version_parts: tuple[str, ...] = ()
    # Written to ascend_cann_install.info; empty for all but the toolkit.
    record: str = ""
    set_env: str = ""
    # The name of a part's package, with {part}.
    part_files: str = ""

    def part_file(self, part: str) -> str:
        """The name of a part's package; newer ones have a hyphen for each underscore."""
        name = part if self.part_files.startswith("CANN-") else part.replace("_", "-")
        return self.part_files.replace("{part}", name)
