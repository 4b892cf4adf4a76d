# SPDX-License-Identifier: Apache-2.0
"""Logins of apt's mirrors: apt has them in a bootstrap and in builds, and nothing else ever has.

tests/unit/fake_mmdebstrap.py stands for mmdebstrap.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError
from cannery.engine import bootstrap as bootstrapping
from cannery.engine.bake import apt_settings
from cannery.engine.bootstrap import bootstrap, logins_of, own_sources, without_logins
from cannery.matrix.files import SETTINGS
from cannery.matrix.settings import read_settings
from tests.canaries import Canary, canaries, search
from tests.unit.engine.test_base_mirrors import BASE
from tests.unit.fake_bake import builds
from tests.unit.fake_mmdebstrap import fake_mmdebstrap
from tests.unit.http_servers import Handler, answering


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


class _Mirror(Handler):
    """A mirror that wants a login; ``seen`` are the paths and logins of all requests."""

    seen: list[tuple[str, str]]

    def answer(self) -> None:
        sent = self.headers.get("Authorization", "").removeprefix("Basic ")
        self.seen.append((self.path, base64.b64decode(sent).decode()))
        self.reply(404, b"")


def test_apt_in_a_build_has_the_logins_of_bootstrapped_bases_only(tmp_path: Path) -> None:
    """apt of this machine reads the secret in place of the build's, as settings and for logins."""
    seen: list[tuple[str, str]] = []
    dated = replace(BASE, snapshot="20261101T000000Z")
    with answering(type("Mirror", (_Mirror,), {"seen": seen})) as address:
        archive = address.replace("://", "://user:p%2a%2f;%22%2f%2f@")
        logins = logins_of([replace(dated, archive=archive)])
        [build] = builds("a")
        path = apt_settings([replace(build, apt_logins=logins), build], tmp_path)
        assert path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        (tmp_path / "sources").write_text(
            f"deb {address}/debian/{dated.snapshot} bookworm main\n"
            f"deb {address}/other bookworm main\n"
        )
        options = {
            "Dir::Etc::netrc": path,  # where the build has it is in the file
            "Dir::State": tmp_path / "state",
            "Dir::Cache": tmp_path / "cache",
            "Dir::Etc::sourcelist": tmp_path / "sources",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::netrcparts": "-",
            "APT::Sandbox::User": "",
            "Acquire::Retries": "0",
        }
        (tmp_path / "state" / "lists" / "partial").mkdir(parents=True)
        (tmp_path / "cache" / "archives" / "partial").mkdir(parents=True)
        argv = ["apt-get", "update", *(f"-o{name}={value}" for name, value in options.items())]
        env = {**os.environ, "APT_CONFIG": str(path)}
        subprocess.run(argv, env=env, check=False, capture_output=True, timeout=60)
    login = 'user:p*/;"//'
    assert {(name.split("/")[1], sent) for name, sent in seen} == {("debian", login), ("other", "")}


def test_a_build_without_logins_has_no_secret_for_apt(tmp_path: Path) -> None:
    logins = logins_of([BASE], tmp_path)
    assert logins == ""
    [build] = builds("a")
    assert apt_settings([replace(build, apt_logins=logins)], tmp_path) is None
