# SPDX-License-Identifier: Apache-2.0
"""A simulated CANN of an older release lacks what came later."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from ascend_sim.packages.packer.exports import take_out, without
from ascend_sim.packages.packer.tree import Tree

SOURCE = "int aclOld(void) { return 1; }\nint aclNew(void) { return 2; }\n"
USER = "int aclNew(void);\nint used(void) { return aclNew(); }\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "libascendcl.so"
    compiled(SOURCE, path)
    return path


def compiled(source: str, path: Path) -> None:
    text = path.with_suffix(".c")
    text.write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", "-o", str(path), str(text)]
    subprocess.run(command, check=True)


def test_the_loader_does_not_find_the_symbol(library: Path, tmp_path: Path) -> None:
    library.write_bytes(without(library.read_bytes(), {"aclNew"}))
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    assert loaded.aclOld() == 1
    assert not hasattr(loaded, "aclNew")
    user = tmp_path / "libuser.so"
    compiled(USER, user)
    with pytest.raises(OSError, match="undefined symbol: aclNew"):
        ctypes.CDLL(str(user))


def test_other_files_stay_as_they_are(library: Path) -> None:
    assert without(b"\x7fELF", {"aclNew"}) == b"\x7fELF"
    assert without(b"text", {"aclNew"}) == b"text"
    assert without(library.read_bytes(), {"aclNever"}) == library.read_bytes()


def test_each_library_lacks_its_own(library: Path) -> None:
    tree, content = Tree(), library.read_bytes()
    for name in ("libascendcl.so", "libatb.so", "libother.so"):
        tree.add_file(f"lib64/{name}", content, mode=0o755)
    take_out(tree, ("libascendcl aclNew", "libatb aclOld"))
    assert {path: file.content for path, file in tree.files.items()} == {
        "lib64/libascendcl.so": without(content, {"aclNew"}),
        "lib64/libatb.so": without(content, {"aclOld"}),
        "lib64/libother.so": content,
    }
    assert {file.mode for file in tree.files.values()} == {0o755}
