# SPDX-License-Identifier: Apache-2.0
"""The programs that stand between CANN's installers and the building machine."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.matrices import CHECKOUT

SCRIPT = CHECKOUT / "cannery" / "image" / "context" / "installer-shims"
MACHINE = "another64"


@pytest.fixture(scope="module")
def shims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shims") / "bin"
    subprocess.run(["bash", SCRIPT, MACHINE, folder], check=True)
    return folder


def run(shims: Path, *argv: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    path = f"{shims}:{os.environ['PATH']}"
    return subprocess.run(
        argv, env={**os.environ, "PATH": path}, input=given, capture_output=True, check=False
    )


@pytest.mark.parametrize("argv", [("uname", "-m"), ("uname", "-i"), ("uname", "-p"), ("arch",)])
def test_uname_and_arch_print_the_target_machine(shims: Path, argv: tuple[str, ...]) -> None:
    assert run(shims, *argv).stdout.decode() == f"{MACHINE}\n"


@pytest.mark.parametrize("argv", [("uname", "-m"), ("arch",)])
def test_the_usual_answers_start_no_other_program(shims: Path, argv: tuple[str, ...]) -> None:
    # Installers ask thousands of times.
    done = subprocess.run(
        [shims / argv[0], *argv[1:]], env={"PATH": ""}, capture_output=True, check=True
    )
    assert (done.stdout.decode(), done.stderr) == (f"{MACHINE}\n", b"")


def test_other_output_of_uname_is_unchanged(shims: Path) -> None:
    said = run(shims, "uname", "-s").stdout.decode()
    assert said == f"{platform.system()}\n"
    whole = run(shims, "uname", "-a").stdout.decode().split()
    assert MACHINE in whole
    assert platform.machine() not in whole
    assert platform.release() in whole


def test_a_wrong_option_fails_as_it_does_without_shims(shims: Path) -> None:
    done = run(shims, "uname", "--nonsense")
    assert done.returncode == 1
    assert b"--nonsense" in done.stderr


@pytest.mark.skipif(not Path("/usr/bin/lscpu").exists(), reason="needs lscpu")
def test_lscpu_names_the_machine(shims: Path) -> None:
    assert run(shims, "lscpu").stdout.decode().split()[:2] == ["Architecture:", MACHINE]


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_sha256sum_says_the_same(shims: Path, tmp_path: Path) -> None:
    content = b"a package" * 1000
    digest = hashlib.sha256(content).hexdigest()
    assert run(shims, "sha256sum", given=content).stdout.decode() == f"{digest}  -\n"
    file = tmp_path / "file"
    file.write_bytes(content)
    assert run(shims, "sha256sum", str(file)).stdout.decode() == f"{digest}  {file}\n"


def test_gzip_unpacks_with_igzip_and_does_all_else_itself(shims: Path, tmp_path: Path) -> None:
    igzip = tmp_path / "igzip"
    igzip.write_text('#!/bin/sh\necho "igzip $*"\n')
    igzip.chmod(0o755)
    path = f"{shims}:{tmp_path}:{os.environ['PATH']}"

    def said(*options: str) -> bytes:
        done = subprocess.run(
            ["gzip", *options], env={"PATH": path}, input=b"x", capture_output=True, check=True
        )
        return done.stdout

    for options in (("-d",), ("-cd",), ("-dc",), ("-c", "-d")):
        assert said(*options) == b"igzip -d\n"
    assert gzip.decompress(said("-9")) == b"x"
