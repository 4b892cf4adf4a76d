# SPDX-License-Identifier: Apache-2.0
"""The program use-apt-mirror, and what apt itself makes of the settings that it prints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CONTEXT = Path(__file__).resolve().parents[3] / "cannery" / "image" / "context"
DEBIAN = """\
Types: deb
URIs: http://debian.example.com/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: https://debian.example.com/debian-security
Suites: bookworm-security
Components: main
"""
UBUNTU = "# ports\ndeb [arch=arm64] http://ubuntu.example.com/ubuntu-ports jammy main\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program, as install-tools writes it."""
    text = (CONTEXT / "install-tools").read_text(encoding="utf-8")
    path = tmp_path / "use-apt-mirror"
    path.write_text(text.partition("<<'TEXT'\n")[2].partition("TEXT\n")[0], encoding="utf-8")
    return path


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    etc = tmp_path / "root" / "etc" / "apt"
    (etc / "sources.list.d").mkdir(parents=True)
    (etc / "sources.list.d" / "debian.sources").write_text(DEBIAN, encoding="utf-8")
    (etc / "sources.list").write_text(UBUNTU, encoding="utf-8")
    return etc


def settings(program: Path, secret: Path, etc: Path) -> str:
    argv = ["bash", str(program), str(secret), str(etc), str(etc.parents[2] / "mirror")]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_without_a_mirror_the_secret_is_all(program: Path, etc: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    assert settings(program, secret, etc) == ""
    secret.write_text('Acquire::Retries "3";\n', encoding="utf-8")
    assert settings(program, secret, etc) == 'Acquire::Retries "3";\n'
    assert not (tmp_path / "mirror").exists()


@pytest.mark.skipif(not shutil.which("apt-get"), reason="this machine has no apt")
@pytest.mark.parametrize("end", ["", "/"])
def test_apt_takes_every_source_from_the_mirror(
    program: Path, etc: Path, tmp_path: Path, end: str
) -> None:
    secret, config = tmp_path / "secret", tmp_path / "apt.conf"
    mirror = "http://me:word@mirror.test:8080/apt"
    secret.write_text(
        f'Acquire::Retries "3";\nCannery::Mirror "{mirror}{end}";\n', encoding="utf-8"
    )
    root = tmp_path / "root"
    (root / "var/lib/apt/lists/partial").mkdir(parents=True)
    said = settings(program, secret, etc)
    config.write_text(f'Dir "{root}";\nDir::Bin::methods "/usr/lib/apt/methods";\n{said}')
    done = subprocess.run(
        ["apt-get", "update", "--print-uris"],
        env={"APT_CONFIG": str(config), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    asked = {line.split("'")[1] for line in done.stdout.splitlines() if line.startswith("'")}
    assert all(uri.startswith(f"{mirror}/") for uri in asked)
    assert {uri for uri in asked if uri.endswith("/InRelease")} == {
        f"{mirror}/{archive}/dists/{suite}/InRelease"
        for archive, suite in (
            ("debian", "bookworm"),
            ("debian", "bookworm-updates"),
            ("debian-security", "bookworm-security"),
            ("ubuntu-ports", "jammy"),
        )
    }
    assert (etc / "sources.list").read_text(encoding="utf-8") == UBUNTU
    assert (etc / "sources.list.d" / "debian.sources").read_text(encoding="utf-8") == DEBIAN
