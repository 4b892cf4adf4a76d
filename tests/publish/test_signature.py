# SPDX-License-Identifier: Apache-2.0
"""Signatures that the real cosign makes and checks, in a real registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import EngineError
from cannery.publish.cosign import PASSWORD, connection, find_cosign, sign, verify
from cannery.registry.client import Repository
from tests.engine.engines import registry

from . import servers
from .conftest import Login
from .keys import SECRET, Pair, make_pair
from .servers import Authority
from .small import put_image, put_index
from .test_sbom_in_registry import commands, run_as_documented


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with registry(tmp_path_factory.mktemp("signatures")) as host:
        yield Repository(host, "ascend/images")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("keys") / "ours")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("keys") / "theirs")


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)


def image(place: Repository, text: str) -> str:
    digest = put_index(place, put_image(place, text), {}, text)
    return place.at(digest)


def test_a_signature_is_of_one_digest_and_one_key(
    place: Repository, pair: Pair, other: Pair
) -> None:
    signed, unsigned = image(place, "signed"), image(place, "unsigned")
    sign(signed, pair.private)
    verify(signed, pair.public)
    tag = "sha256-" + signed.rpartition(":")[2] + ".sig"
    assert place.resolve(tag)
    with pytest.raises(EngineError, match="was not signed with"):
        verify(unsigned, pair.public)
    with pytest.raises(EngineError, match="was not signed with") as raised:
        verify(signed, other.public)
    assert other.public in raised.value.problems[0].what


def test_the_documented_command_checks_a_signature(place: Repository, pair: Pair) -> None:
    [command] = [each for each in commands() if each.startswith("cosign verify")]
    command = command.replace("--key cosign.pub", f"--key {pair.public}")
    reference = image(place, "documented")
    assert run_as_documented(command, reference).returncode != 0
    sign(reference, pair.private)
    done = run_as_documented(command, reference)
    assert done.returncode == 0, done.stderr
    assert "The cosign claims were validated" in done.stderr


def test_a_wrong_password(place: Repository, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "wrong")
    reference = image(place, "wrong-password")
    with pytest.raises(EngineError, match="could not sign") as raised:
        sign(reference, pair.private)
    assert PASSWORD in raised.value.problems[0].fix
    assert SECRET not in str(raised.value) and "wrong\n" not in str(raised.value)
    with pytest.raises(EngineError):
        verify(reference, pair.public)


def test_a_company_s_certificate_and_login_are_used(
    authority: Authority, login: Login, pair: Pair, tmp_path: Path
) -> None:
    """Signed and checked through TLS, with what 'docker login' has stored."""
    data = tmp_path / "data"
    with servers.registry(tmp_path / "open", root=data) as unguarded:
        reference = image(Repository(unguarded.host, "ascend"), "guarded")
    digest = reference.partition("@")[2]
    with servers.registry(tmp_path / "own", authority=authority, login=True, root=data) as server:
        reference = f"{server.host}/ascend@{digest}"
        tls_context = connection(Repository(server.host, "ascend", ca=authority.file))
        with pytest.raises(EngineError, match="could not sign") as raised:
            sign(reference, pair.private, tls_context)
        assert "docker login" in raised.value.problems[0].fix
        login(server.host)
        with pytest.raises(EngineError, match="could not sign") as raised:
            sign(reference, pair.private)
        assert "--ca" in raised.value.problems[0].fix
        sign(reference, pair.private, tls_context)
        verify(reference, pair.public, tls_context)


def test_without_cosign_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert find_cosign() is None
    with pytest.raises(EngineError, match="cosign is not installed") as raised:
        sign(f"registry.example.com/ascend@sha256:{'0' * 64}", "cosign.key")
    assert "Install" in raised.value.problems[0].fix
