# SPDX-License-Identifier: Apache-2.0
"""The proxy of a build from a bundle: what it records, what it answers, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from cannery.building.bundle import gateway as gateway_module
from cannery.building.bundle.gateway import Gateway, Hosts, Recorded, serving
from cannery.building.bundle.wheels import LIST
from cannery.common.http import Patience
from tests.fetch.server import Fault, Files
from tests.fetch.server import serving as serving_files
from tests.unit.http_servers import Handler, answering

DIGEST = hashlib.sha256(b"wheel").hexdigest()


class _Mirror(Handler):
    """A mirror with one file."""

    def answer(self) -> None:
        status, body = (200, b"In Release") if self.path == "/debian/InRelease" else (404, b"no")
        date = "Sat, 01 Aug 2026 00:00:00 GMT"
        self.reply(status, body, Last_Modified=date, Set_Cookie="secret")


@pytest.fixture
def mirror(beside: None) -> Iterator[str]:
    with answering(_Mirror) as address:
        yield address


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mirror is on this machine, which a build may not reach otherwise."""
    monkeypatch.setattr(gateway_module, "is_local", lambda _: False)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "Some_Thing-1-py3-none-any.whl").write_bytes(b"wheel")
    found = {"some-thing": {"Some_Thing-1-py3-none-any.whl": DIGEST}}
    (folder / LIST).write_text(json.dumps(found))
    return folder


@contextmanager
def _proxy(
    wheels: Path, recorded: Recorded, *, record: bool, ca: Path | None = None
) -> Iterator[Gateway]:
    recorded.folder.mkdir(exist_ok=True)
    hosts = Hosts(ca, patience=Patience(tries=4, pause=0.001)) if record else None
    with serving(Gateway("127.0.0.1", wheels, recorded, hosts)) as gateway:
        yield gateway


def _get(gateway: Gateway, url: str, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    handler = urllib.request.ProxyHandler({"http": gateway.address, "https": gateway.address})
    opener = urllib.request.build_opener(handler)
    try:
        with opener.open(urllib.request.Request(url, method=method), timeout=10) as said:
            return said.status, said.read(), dict(said.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), dict(error.headers)


def test_what_was_recorded_is_answered_without_the_mirror(
    mirror: str, wheels: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "debian"
    with _proxy(wheels, Recorded(folder), record=True) as gateway:
        assert _get(gateway, f"{mirror}/debian/InRelease")[:2] == (200, b"In Release")
        assert _get(gateway, f"{mirror}/debian/none")[:2] == (404, b"no")
        gateway.recorded.write()
    # Nobody listens there.
    with _proxy(wheels, Recorded.read(folder), record=False) as gateway:
        status, body, headers = _get(gateway, f"{mirror}/debian/InRelease")
        assert (status, body) == (200, b"In Release")
        assert headers["Last-Modified"] == "Sat, 01 Aug 2026 00:00:00 GMT"
        assert "Set-Cookie" not in headers
        assert _get(gateway, f"{mirror}/debian/none")[0] == 404
        assert gateway.asked == []
        assert _get(gateway, f"{mirror}/debian/InRelease", "HEAD")[:2] == (200, b"")


def test_the_login_of_apt_reaches_the_mirror_and_is_not_recorded(
    beside: None, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a login of this machine's netrc, which no step has asked for, does not."""
    seen: list[str] = []

    class Wants(Handler):
        def answer(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.reply(200, b"In Release")

    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    folder = tmp_path / "debian"
    with answering(Wants) as mirror, _proxy(wheels, Recorded(folder), record=True) as gateway:
        assert gateway.answer(f"{mirror}/one", "Basic eDp5")
        assert gateway.answer(f"{mirror}/two")
        gateway.recorded.write()
    assert seen == ["Basic eDp5", ""]
    assert not any(b"eDp5" in path.read_bytes() for path in folder.iterdir())


def test_what_was_not_recorded_is_refused_and_named(
    mirror: str, wheels: Path, tmp_path: Path
) -> None:
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=False) as gateway:
        status, body, _ = _get(gateway, f"{mirror}/debian/InRelease")
        assert status == 404
        assert f"not in the bundle: {mirror}/debian/InRelease" in body.decode()
        assert gateway.asked == [f"{mirror}/debian/InRelease"]


def test_a_mirror_that_does_not_answer_is_named(wheels: Path, tmp_path: Path) -> None:
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=True) as gateway:
        assert _get(gateway, "http://127.0.0.1:1/x")[0] == 404
        assert gateway.asked == ["http://127.0.0.1:1/x"]
        assert gateway.recorded.answers == {}


def _address(files: Files, path: str) -> str:
    """By the number, because localhost is the package index."""
    return f"http://127.0.0.1:{files.port}/{path}"


@pytest.mark.parametrize("kind", ["503", "429", "half", "reset", "nothing"])
@pytest.mark.usefixtures("beside")
def test_a_mirror_that_breaks_off_is_asked_again(wheels: Path, tmp_path: Path, kind: str) -> None:
    with (
        serving_files() as files,
        _proxy(wheels, Recorded(tmp_path / "debian"), record=True) as gateway,
    ):
        files.content["Packages.xz"] = b"packages" * 1000
        url = _address(files, "Packages.xz")
        files.faults["Packages.xz"] = [Fault(kind=kind, at=4000)] * 2
        assert _get(gateway, url)[:2] == (200, b"packages" * 1000)
        assert [*gateway.recorded.answers] == [url]
        files.content["other"] = b"other"
        files.faults["other"] = [Fault(kind=kind, at=3)] * 9
        assert _get(gateway, _address(files, "other"))[0] == 404
        assert gateway.asked == [_address(files, "other")]
        gateway.recorded.write()
    [body] = {path.name for path in (tmp_path / "debian").iterdir()} - {"answers.json"}
    assert len(body) == 64


@pytest.mark.usefixtures("beside")
def test_a_mirror_that_redirects_to_https_needs_a_trusted_certificate(
    wheels: Path, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    for ca, status in ((None, 404), (tmp_path / "ca.pem", 200)):
        with (
            serving_files() as plain,
            serving_files(context) as files,
            _proxy(wheels, Recorded(tmp_path / str(status)), record=True, ca=ca) as gateway,
        ):
            files.content["a"] = b"file"
            plain.faults["a"] = [Fault(kind=f"to {files.address('a')}")] * 9
            assert _get(gateway, _address(plain, "a"))[0] == status


def test_https_is_refused_and_named(wheels: Path, tmp_path: Path) -> None:
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=True) as gateway:
        with pytest.raises(OSError, match="404"):
            _get(gateway, "https://mirror.example/x")
        assert gateway.asked == ["https://mirror.example:443"]


@pytest.mark.parametrize("name", ["some-thing", "Some_Thing", "some.thing/"])
def test_it_is_a_package_index(wheels: Path, tmp_path: Path, name: str) -> None:
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=False) as gateway:
        _, page, headers = _get(gateway, f"http://localhost/simple/{name}")
        assert headers["Content-Type"] == "text/html"
        assert (
            b'href="/files/Some_Thing-1-py3-none-any.whl#sha256=' + DIGEST.encode() + b'"' in page
        )
        file = _get(gateway, "http://localhost/files/Some_Thing-1-py3-none-any.whl")
        assert file[:2] == (200, b"wheel")


@pytest.mark.parametrize(
    "path", ["simple/other/", "files/none.whl", "files/../debian/x", "files/%2e%2e/x", "files/"]
)
def test_what_the_index_does_not_have_is_named(wheels: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_text("not for everybody")
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=False) as gateway:
        assert _get(gateway, f"http://localhost/{path}")[0] == 404
        [asked] = gateway.asked
        assert asked.startswith("the package index: /")


def test_a_step_reaches_no_service_of_this_machine(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by its address, by a name of it, or by a redirect of a host that may be asked."""
    with (
        serving_files() as files,
        serving_files() as inner,
        _proxy(wheels, Recorded(tmp_path / "debian"), record=True) as gateway,
    ):
        inner.content["a"] = b"only for this machine"
        by_name = f"http://{socket.gethostname()}.localhost:{inner.port}/a"
        for url in (_address(inner, "a"), by_name, f"http://[::ffff:127.0.0.1]:{inner.port}/a"):
            assert _get(gateway, url)[0] == 404
        real = socket.getaddrinfo

        def resolve(host: str, *words: Any, **more: Any) -> Any:
            return real("127.0.0.1" if host == "mirror.example" else host, *words, **more)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        assert _get(gateway, f"http://mirror.example:{inner.port}/a")[0] == 404
        # The first host is taken for one that may be asked, and the second is not.
        files.faults["b"] = [Fault(kind=f"to {_address(inner, 'a')}")] * 9
        monkeypatch.setattr(gateway_module, "_outside", lambda connection: connection)
        monkeypatch.setattr(gateway_module, "is_local", lambda host: host == "127.0.0.1")
        assert _get(gateway, f"http://mirror.example:{files.port}/b")[0] == 404
        assert inner.requests == []
        assert gateway.recorded.answers == {}


def test_who_is_no_step_of_the_build_is_told_to_log_in(
    mirror: str, wheels: Path, tmp_path: Path
) -> None:
    with _proxy(wheels, Recorded(tmp_path / "debian"), record=True) as gateway:
        login, _, place = gateway.address.partition("//")[2].partition("@")
        for address in (f"http://{place}", f"http://{login[:-1]}x@{place}"):
            handler = urllib.request.ProxyHandler({"http": address})
            opener = urllib.request.build_opener(handler)
            for url in (f"{mirror}/debian/InRelease", "http://localhost/simple/some-thing"):
                with pytest.raises(urllib.error.HTTPError, match="407") as raised:
                    opener.open(url, timeout=10)
                raised.value.close()
        assert gateway.recorded.answers == {}
