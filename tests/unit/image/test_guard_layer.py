# SPDX-License-Identifier: Apache-2.0
"""The programs of the build context that unpack an archive, and fill the last layer."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from cannery.publish.inventory import LOCK, RECORD
from tests.unit.image.context_programs import write
from tests.unit.matrices import CHECKOUT

CONTEXT = CHECKOUT / "cannery" / "image" / "context"


def archive(path: Path) -> str:
    """Writes a .tar.gz with one file in its first folder; returns its sha256."""
    with tarfile.open(path, "w:gz") as made:
        entry = tarfile.TarInfo("top-1.2/lib/module.py")
        entry.size, entry.uid = 5, 1000
        made.addfile(entry, io.BytesIO(b"x = 1"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_archive_is_compared_before_it_is_unpacked(tmp_path: Path) -> None:
    path, folder = tmp_path / "top-1.2.tar.gz", tmp_path / "layer" / "opt" / "top"
    digest = archive(path)
    argv: list[str | Path] = ["python3", CONTEXT / "unpack-archive", path]
    done = subprocess.run([*argv, "ab" * 32, folder], capture_output=True, text=True, check=False)
    said = f"ERROR: {path.name} has the sha256 {digest}, and {'ab' * 32} is expected.\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert not folder.exists()
    subprocess.run([*argv, digest, folder], check=True)
    assert (folder / "lib" / "module.py").read_text(encoding="utf-8") == "x = 1"
    other = tmp_path / "other"
    subprocess.run([*argv, "", other], check=True)
    assert (other / "lib" / "module.py").is_file()


@pytest.mark.parametrize("simulated", ["", "true"])
def test_files_of_the_last_layer(tmp_path: Path, simulated: str) -> None:
    names = ("environment", "profile.sh", "constraints.txt", "target.json")
    files = {name: write(tmp_path / "files" / name, f"{name}\n") for name in names}
    files["target.json"].write_text('{\n  "id": "full"\n}\n', encoding="utf-8")
    write(tmp_path / "files" / "requirements.lock", "torch==2.3.1\n")
    seal = write(tmp_path / "bin" / "seal-layer", "#!/bin/sh\n")
    seal.chmod(0o755)
    program = (CONTEXT / "install-guard").read_text(encoding="utf-8")
    here = write(tmp_path / "install-guard", program.replace("/layer", f"{tmp_path}/layer"))
    site = "/usr/local/lib/python3.9/dist-packages"
    words: list[str | Path] = ["bash", here, site, CONTEXT, tmp_path / "files", simulated]
    path = f"{seal.parent}:{os.environ['PATH']}"
    subprocess.run(words, check=True, env={**os.environ, "PATH": path})
    layer = tmp_path / "layer"
    share = "usr/local/share/cannery"
    found = {str(path.relative_to(layer)) for path in layer.rglob("*") if not path.is_dir()}
    assert found == {
        *("etc/environment", "etc/profile.d/cannery.sh", "usr/local/bin/ascend-doctor"),
        *(f"{site[1:]}/cannery_guard.{kind}" for kind in ("py", "pth")),
        *(f"{share}/python/{name}.py" for name in ("sitecustomize", "cannery_guard")),
        *(f"{share}/{name}" for name in ("constraints.txt", "requirements.lock", "target.json")),
    }
    # The contents of an image are read from these files.
    assert {RECORD.removeprefix("/"), LOCK.removeprefix("/")} < found
    link = layer / share / "python" / "cannery_guard.py"
    assert str(link.readlink()) == f"{site}/cannery_guard.py"
    record = (layer / share / "target.json").read_text(encoding="utf-8")
    assert ('"simulated": true,' in record) == bool(simulated)
    assert (layer / "usr/local/bin/ascend-doctor").stat().st_mode & 0o111
