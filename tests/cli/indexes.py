# SPDX-License-Identifier: Apache-2.0
"""A package index of a few file names, and runs of ``update`` that ask it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.checkout import Checkout, Result

CHIPS = ("910b", "a3")
TARGETS = [f"py311-torch290-cann910-{chip}" for chip in CHIPS]
NOW = "2.9.0.post8"
LAST_KNOWN = "2.9.0.post9"
"""The newest one with a row in compat.yaml, which no target uses."""

NEW = "2.9.0.post10"
USED = f"torch290: {{torch: 2.9.0, torch_npu: {NOW}}}"
KNOWN_ROW = f"  - {{torch: 2.9.0, torch_npu: {NOW}, cann: 9.1.0,"
NEW_ROW = KNOWN_ROW.replace(NOW, NEW) + " pythons: 3.10-3.13, source: [torch-npu, torch-npu-261]}\n"

# Stands in for pip: lists the files of an index whose Python is the one that was asked for.
PIP = """
import os, pathlib, re, sys
package = sys.argv[sys.argv.index("versions") + 1].replace("_", "-")
python = "-cp" + sys.argv[sys.argv.index("--python-version") + 1].replace(".", "")
pages = pathlib.Path(os.environ["PIP_PAGES"], package, "index.html")
page = pages.read_text() if pages.exists() else sys.exit("No matching distribution found")
files = re.findall(">[a-z_]+-([0-9a-z.]+)(-.*[.]whl|[.]tar[.]gz)<", page)
print("Available versions:", ", ".join(v for v, end in files if python in end or "tar" in end))
"""


@dataclass(kw_only=True)
class Index:
    """A package index; ``env`` makes it the only one that build.py asks."""

    folder: Path
    url: str = ""
    env: dict[str, str] = field(default_factory=dict)

    def add(self, *files: str) -> None:
        for file in files:
            package = file.split("-")[0].replace("_", "-")
            page = self.folder / "simple" / package / "index.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            with page.open("a", encoding="utf-8") as stream:
                stream.write(f'<a href="../../files/{file}">{file}</a>\n')

    def add_torch_npu(self, version: str, tag: str = "cp311-cp311-manylinux_2_28_aarch64") -> None:
        self.add(f"torch_npu-{version}-{tag}.whl")


def update_all(checkout: Checkout, index: Index, *arguments: str) -> Result:
    return checkout.run("update", *arguments, env=index.env)


def update(checkout: Checkout, index: Index, *arguments: str) -> Result:
    """Of the targets of one torch only, for which the index has to be asked but twice."""
    return update_all(checkout, index, "--target", "py311-torch290-*", *arguments)


def know(checkout: Checkout) -> None:
    """Let compat.yaml have a row for the new torch_npu."""
    checkout.edit(KNOWN_ROW, NEW_ROW + KNOWN_ROW, "cannery/data/compat.yaml")


def matrix(checkout: Checkout) -> str:
    return (checkout.root / "matrix.yaml").read_text(encoding="utf-8")
