# SPDX-License-Identifier: Apache-2.0
"""A redirect leads to no less safety, and what is for one server goes to no other."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from cannery.common.bases import Address
from cannery.common.errors import ArtifactError
from cannery.fetch.fetcher import Terms
from tests.fetch.fetches import CONTENT, a_file, fetcher
from tests.fetch.server import Fault, Files, serving

HEADERS = (("Authorization", "Bearer secret"), ("Cookie", "a=secret"), ("X-Token", "secret"))
TRUSTING = Terms(accepted_by="Tester", first_use=True)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Files]:
    """A server with TLS, whose certificates ``ca.pem`` in the folder vouches for."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    with serving(context) as files:
        yield files


def redirecting(files: Files, url: str) -> Address:
    """An address of ``files`` that sends on to ``url``."""
    files.content["go/toolkit.run"] = b""
    files.faults["go/toolkit.run"] = [Fault(kind=f"to {url}")]
    return Address(url=files.address("go/toolkit.run"), headers=HEADERS)


@pytest.mark.parametrize("pinned", [True, False])
def test_https_leads_to_no_http_of_the_same_host(
    secure: Files, files: Files, tmp_path: Path, pinned: bool
) -> None:
    address = redirecting(secure, files.address("a/toolkit.run"))
    file = replace(a_file(CONTENT, [], pinned=pinned), addresses=(address,))
    own = fetcher(tmp_path / "store", terms=TRUSTING, ca=tmp_path / "ca.pem")
    with pytest.raises(ArtifactError, match="redirects to an address without TLS"):
        own.fetch(file)
    assert files.requests == []
    assert len(secure.requests) == 1, "it is not worth asking again"


def test_on_first_use_this_machine_leads_to_no_open_line(files: Files, tmp_path: Path) -> None:
    address = redirecting(files, "http://files.example.com/toolkit.run")
    file = replace(a_file(CONTENT, [], pinned=False), addresses=(address,))
    with pytest.raises(ArtifactError, match="redirects to an address without TLS"):
        fetcher(tmp_path, terms=TRUSTING).fetch(file)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_headers_go_to_no_other_port_or_host(files: Files, tmp_path: Path, name: str) -> None:
    with serving() as other:
        other.content["a/toolkit.run"] = CONTENT
        address = redirecting(files, f"http://{name}:{other.port}/a/toolkit.run")
        fetcher(tmp_path).fetch(replace(a_file(CONTENT, []), addresses=(address,)))
        assert "secret" not in str(other.requests)
    assert str(files.requests).count("secret") == 3


def test_headers_stay_with_the_same_server(files: Files, tmp_path: Path) -> None:
    address = redirecting(files, files.address("a/toolkit.run"))
    fetcher(tmp_path).fetch(replace(a_file(CONTENT, []), addresses=(address,)))
    assert [each.headers.get("x-token") for each in files.requests] == ["secret"] * 2
    assert [each.headers.get("authorization") for each in files.requests] == ["Bearer secret"] * 2
