# SPDX-License-Identifier: Apache-2.0
"""Packs a Python package into one executable file, compressed.

With one release of zlib, the same package gives the same bytes.

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
        with zipfile.ZipFile(file, "w") as archive:
            texts: dict[str, bytes] = {"__main__.py": MAIN.format(package=folder.name).encode()}
            for path in sorted(folder.rglob("*")):
                if path.suffix in SUFFIXES:
                    texts[f"{folder.name}/{path.relative_to(folder).as_posix()}"] = (
                        path.read_bytes()
                    )
            for name, text in texts.items():
                archive.writestr(zipfile.ZipInfo(name, DATE), text, zipfile.ZIP_DEFLATED, 9)
    target.chmod(0o755)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    Path(f"{program}.sha256").write_text(f"{digest}  {target.name}\n", encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
