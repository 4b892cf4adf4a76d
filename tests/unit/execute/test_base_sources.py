# SPDX-License-Identifier: Apache-2.0
"""The sources of bootstrapped bases: those of this machine, security updates included."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.execute.engine.base import own_sources

DEB822 = """\
Types: deb
# the main archive
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
"""
LINES = """\
deb [signed-by=/k] http://tools.example/apt cloud-bookworm main
deb [arch=amd64] http://mirror.example/debian trixie main
# deb http://elsewhere.example/debian trixie main
deb http://mirror.example/security trixie-security main
"""
MIRRORS = [
    "deb http://mirror.example/debian bullseye main",
    "deb http://mirror.example/debian bullseye-updates main",
    "deb http://mirror.example/security bullseye-security main",
]


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list.d/debian.sources", DEB822), ("sources.list", LINES)],
)
def test_a_bootstrapped_base_gets_security_updates(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert own_sources("bullseye", tmp_path) == MIRRORS


def test_a_machine_of_another_distribution_has_no_mirror_of_debian(tmp_path: Path) -> None:
    text = "deb http://mirror.example/ubuntu jammy main\n"
    (tmp_path / "sources.list").write_text(text, encoding="utf-8")
    assert own_sources("bullseye", tmp_path) == []
