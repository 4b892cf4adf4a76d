# SPDX-License-Identifier: Apache-2.0
"""Packs a Python package into one executable file, which is the same for the same package.

Usage: python pack.py PACKAGE FILE

PACKAGE is a folder with __main__.py, FILE the program that is written. FILE.sha256 gets its hash.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

START = b"#!/usr/bin/env python3\n"
DATE = (1980, 1, 1, 0, 0, 0)
MAIN = "import sys\n\nfrom {package}.command import main\n\nsys.exit(main())\n"
SUFFIXES = (".py", ".ini", ".json", ".tsv")


def main(package: str, program: str) -> None:
    """Write the file ``program`` from the folder ``package``."""
    folder, target = Path(package), Path(program)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(START)
        # Not compressed, so that no release of zlib makes other bytes.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo("__main__.py", DATE), MAIN.format(package=folder.name))
            for path in sorted(folder.rglob("*")):
                if path.suffix in SUFFIXES:
                    name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
                    archive.writestr(zipfile.ZipInfo(name, DATE), path.read_bytes())
    target.chmod(0o755)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    Path(f"{program}.sha256").write_text(f"{digest}  {target.name}\n", encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
