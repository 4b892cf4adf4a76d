# SPDX-License-Identifier: Apache-2.0
"""A program in the place of docker's, which knows images and nothing else."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = f"""#!{sys.executable} -SE
import json, sys
with open({{images!r}}, encoding="utf-8") as file:
    images = json.load(file)
assert sys.argv[1:3] == ["image", "inspect"], sys.argv
names = sys.argv[5:]
for name in names:
    absent = f"Error response from daemon: No such image: {{{{name}}}}"
    print(json.dumps(images[name]) if name in images else absent)
sys.exit(any(name not in images for name in names))
"""


@dataclass(frozen=True, kw_only=True)
class Docker:
    """The program is in ``folder``. ``env`` makes build.py find it before any other."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def has(self, images: dict[str, tuple[str, dict[str, str]]]) -> None:
        """From now on it has these: name to id and labels. All are for arm64."""
        known = {
            name: {"Id": image, "Architecture": "arm64", "Config": {"Labels": labels}}
            for name, (image, labels) in images.items()
        }
        (self.folder / "images.json").write_text(json.dumps(known), encoding="utf-8")


def docker_in(folder: Path) -> Docker:
    """A program in the new folder ``folder``, without any image."""
    folder.mkdir()
    program = folder / "docker"
    images = str(folder / "images.json")
    program.write_text(_PROGRAM.format(images=images), encoding="utf-8")
    program.chmod(0o755)
    made = Docker(folder=folder)
    made.has({})
    return made
