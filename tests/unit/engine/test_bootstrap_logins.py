# SPDX-License-Identifier: Apache-2.0
"""Logins of apt's mirrors: apt has them while a base is bootstrapped, and nothing else ever has.

tests/unit/fake_mmdebstrap.py stands for mmdebstrap.
"""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError
from cannery.engine import bootstrap as bootstrapping
from cannery.engine.apt_sources import own_sources, without_logins
from cannery.engine.bootstrap import bootstrap
from cannery.matrix.file_names import SETTINGS
from cannery.matrix.settings import read_settings
from tests.canaries import Canary, canaries, search
from tests.unit.engine.test_base_mirrors import BASE
from tests.unit.fake_mmdebstrap import fake_mmdebstrap


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fake_mmdebstrap(tmp_path / "programs", monkeypatch)


@pytest.fixture
def wanted() -> dict[str, Canary]:
    return canaries("user", "password")


def _outside(programs: Path, error: CanneryError) -> dict[str, list[bytes | Path]]:
    """All that stays of a bootstrap: the base, the arguments, and the message."""
    return {
        "the base": [programs / "root"],
        "the arguments": [programs / "argv"],
        "the message": [str(error).encode()],
    }


def test_the_login_of_the_server_of_snapshots(programs: Path, wanted: dict[str, Canary]) -> None:
    user, password = wanted["user"].secret, wanted["password"].secret
    dated = replace(
        BASE,
        snapshot="20261101T000000Z",
        archive=f"https://{user}:{password}@dated.test:8443/archive",
    )
    with pytest.raises(EngineError, match="the mirror does not answer") as error:
        bootstrap(dated, "amd64", "amd64")
    assert search(wanted.values(), _outside(programs, error.value)) == []
    sources = (programs / "root/etc/apt/sources.list").read_text().splitlines()
    assert sources[0].split()[2:] == [
        "https://dated.test:8443/archive/debian/20261101T000000Z",
        *("bookworm", "main"),
    ]
    seen = json.loads((programs / "seen.json").read_text())
    assert stat.S_IMODE(seen["mode"]) == 0o600
    assert seen["text"].splitlines() == [
        f"machine https://dated.test:8443/archive/{name}/20261101T000000Z "
        f"login {user} password {password}"
        for name in ("debian", "debian-security")
    ]


def test_the_login_of_this_machine_s_mirror(
    programs: Path, wanted: dict[str, Canary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, password = wanted["user"].secret, wanted["password"].secret
    login = f"{user}:{password}%40%3a"
    (tmp_path / "sources.list").write_text(
        f"deb [arch=amd64] http://{login}@mirror.test/debian bookworm main\n"
        f"deb http://{login}@mirror.test/security bookworm-security main\n"
    )
    monkeypatch.setattr(bootstrapping, "own_sources", lambda suite: own_sources(suite, tmp_path))
    with pytest.raises(EngineError, match="the mirror does not answer") as error:
        bootstrap(BASE, "amd64", "amd64")
    assert search(wanted.values(), _outside(programs, error.value)) == []
    seen = json.loads((programs / "seen.json").read_text())
    login = f"login {user} password {password}@:"
    assert f"machine http://mirror.test/debian {login}\n" in seen["text"]


def test_without_logins_apt_gets_no_file(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.list").write_text("deb http://mirror.test/debian bookworm main\n")
    monkeypatch.setattr(bootstrapping, "own_sources", lambda suite: own_sources(suite, tmp_path))
    with pytest.raises(EngineError, match="the mirror does not answer"):
        bootstrap(BASE, "amd64", "amd64")
    assert json.loads((programs / "seen.json").read_text()) is None
    assert "hook login" not in (programs / "argv").read_text()


@pytest.mark.parametrize("login", ["a:b%20c", "a:b%0amachine", "a", ":b", "a:"])
def test_a_login_that_apt_cannot_read_is_refused_and_not_named(login: str) -> None:
    with pytest.raises(EngineError, match="is empty or has spaces, as for mirror") as error:
        without_logins([f"deb http://{login}@mirror.test/debian bookworm main"])
    assert f"{login}@" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        '[snapshots]\ndebian = "ftp://{}@dated.test/x"\n',
        '[snapshots]\ndebian = "https://{}@"\n',
        '[mirrors]\n"docker.io" = ["{}@mirror.test"]\n',
        '[mirrors]\n"docker.io" = ["https://{}@mirror.test"]\n',
    ],
)
def test_a_wrong_address_is_shown_without_its_login(
    text: str, wanted: dict[str, Canary], tmp_path: Path
) -> None:
    login = f"{wanted['user'].secret}:{wanted['password'].secret}"
    (tmp_path / SETTINGS).write_text(text.format(login), encoding="utf-8")
    with pytest.raises(CanneryError, match=r"\*\*\*\*@") as error:
        read_settings(tmp_path)
    assert search(wanted.values(), {"the message": [str(error.value).encode()]}) == []
