# SPDX-License-Identifier: Apache-2.0
"""The hook of mmdebstrap lends a base programs of this machine, and leaves no trace of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[3] / "cannery/engine/bootstrap-hook"
SETTINGS = "path-exclude=/usr/share/doc/*\npath-exclude=/usr/share/info/*\n"
INTERPRETERS = ("bin/dash", "bin/bash", "usr/bin/perl")
DATE = 1_000_000_000


def write(root: Path, *names: str, text: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A base as mmdebstrap has extracted it."""
    root = tmp_path / "root"
    write(root, "usr/share/doc/bash/copyright", "usr/lib/aarch64-linux-gnu/libssl", text="base")
    write(root, "lib/aarch64-linux-gnu/libc.so.6", text="base")
    write(root, *INTERPRETERS, "etc/apt/apt.conf.d/01", text="base")
    for folder in ("etc/dpkg/dpkg.cfg.d", "usr/share/doc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        os.utime(root / folder, (DATE, DATE))
    return root


@pytest.fixture
def native(tmp_path: Path) -> Path:
    native = tmp_path / "native"
    names = ("bin/sed", "bin/uname", "usr/bin/dpkg", "usr/bin/dpkg-deb", "usr/bin/openssl")
    libraries = ("lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/libssl.so.1")
    write(native, *INTERPRETERS, *names, *libraries, text="native")
    return native


def hook(stage: str, *words: Path) -> None:
    subprocess.run(["sh", HOOK, stage, *words], check=True)


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }


def test_it_leaves_out_the_paths_as_mmdebstrap_does(tmp_path: Path, root: Path) -> None:
    write(tmp_path, "settings", text=SETTINGS)
    before = files(root)
    del before["usr/share/doc/bash/copyright"]
    hook("extracted", root, tmp_path / "settings")
    assert files(root) == before | {"etc/dpkg/dpkg.cfg.d/99mmdebstrap": SETTINGS}
    for folder in ("etc/dpkg/dpkg.cfg.d", "usr/share/doc"):
        assert (root / folder).stat().st_mtime == DATE


def test_programs_of_this_machine_are_there_until_the_packages_are_installed(
    tmp_path: Path, root: Path, native: Path
) -> None:
    write(tmp_path, "settings", text=SETTINGS)
    hook("extracted", root, tmp_path / "settings", native)
    lent = {path.name for path in (root / ".cannery/bin").iterdir()}
    # dpkg and uname would name this machine's architecture.
    assert lent == {"bash", "dash", "dpkg-deb", "openssl", "perl", "sed"}
    assert (root / "usr/lib/x86_64-linux-gnu/libssl.so.1").is_file()
    assert "/.cannery/bin:" in (root / "etc/apt/apt.conf.d/00cannery").read_text(encoding="utf-8")
    before = files(root)
    hook("essential", root, native)
    assert {(root / name).read_text(encoding="utf-8") for name in INTERPRETERS} == {"native"}
    hook("installed", root, native)
    left = {name for name in before if not name.startswith((".cannery", "lib64", "usr/lib/x86"))}
    assert files(root) == {name: before[name] for name in left - {"etc/apt/apt.conf.d/00cannery"}}
    assert not (root / "lib64").exists()
    assert not (root / "usr/lib/x86_64-linux-gnu").exists()
