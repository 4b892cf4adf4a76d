# SPDX-License-Identifier: Apache-2.0
"""The sources of bootstrapped bases: those of this machine, security updates included."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.engine.bootstrap import own_sources

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
UNUSED = """\
Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm bookworm-updates bookworm-security

Types: deb
URIs: http://disabled.example/debian
Suites: bookworm bookworm-updates bookworm-security
Enabled: no

Types: deb
Suites: bookworm

# nothing but a comment

"""
FOLDED = """\
types: deb deb-src
URIs:
 http://mirror.example/debian
Suites: bookworm
# the changes
 bookworm-updates
Enabled: yes
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF: not a field
"""
LINES = """\
deb-src http://sources.example/debian trixie main
deb [signed-by=/k] http://tools.example/apt cloud-bookworm main
deb [arch=amd64] http://mirror.example/debian trixie main
# deb http://elsewhere.example/debian trixie main
deb\thttp://mirror.example/security  trixie-security  main
"""
MIRRORS = [
    "deb http://mirror.example/debian bullseye main",
    "deb http://mirror.example/debian bullseye-updates main",
    "deb http://mirror.example/security bullseye-security main",
]


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list.d/debian.sources", DEB822), ("sources.list", LINES)],
)
def test_a_bootstrapped_base_gets_security_updates(apt: Path, name: str, text: str) -> None:
    (apt / name).write_text(text, encoding="utf-8")
    assert own_sources("bullseye", apt) == MIRRORS


def test_disabled_stanzas_and_those_of_sources_are_not_used(apt: Path) -> None:
    (apt / "sources.list.d" / "a.sources").write_text(UNUSED, encoding="utf-8")
    assert own_sources("bullseye", apt) == []
    (apt / "sources.list.d" / "b.sources").write_text(DEB822, encoding="utf-8")
    assert own_sources("bullseye", apt) == MIRRORS


def test_fields_may_have_several_lines_and_any_case(apt: Path) -> None:
    (apt / "sources.list.d" / "a.sources").write_text(FOLDED, encoding="utf-8")
    assert own_sources("bullseye", apt) == MIRRORS[:2]


def test_a_file_of_another_encoding_is_read(apt: Path) -> None:
    (apt / "sources.list").write_bytes(b"# M\xfcller\n" + LINES.encode())
    assert own_sources("bullseye", apt) == MIRRORS


def test_a_machine_of_another_distribution_has_no_mirror_of_debian(apt: Path) -> None:
    text = "deb http://mirror.example/ubuntu jammy main\n"
    (apt / "sources.list").write_text(text, encoding="utf-8")
    assert own_sources("bullseye", apt) == []
