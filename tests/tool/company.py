# SPDX-License-Identifier: Apache-2.0
"""A company's network: an engine without a route, and the servers that are all it reaches.

The servers are at one address, the only one besides the engine's own. They want a login, note each
request, and ask the servers outside, as a company's mirrors do.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import requests

from cannery.common.bases import Base
from cannery.engine.base import building_architecture
from cannery.registry.client import Repository
from tests.canaries import Canary, canaries
from tests.engine.bases import base_image
from tests.engine.engines import Engine, engine, without_route
from tests.engine.proxy import DEFAULT_INDEX, proxy
from tests.engine.second_target import publish_images
from tests.publish.servers import USER, Authority, Between, between, make_authority, registry

ROOT = Path(__file__).resolve().parents[2]
NUMBER = 31
"""Tells the engine from others."""

ADDRESS, SERVERS = f"10.213.{NUMBER}.1", f"10.213.{NUMBER}.2"
"""Of the machine with the engine, and of all servers."""

_TEXT = (ROOT / "docs/platform-teams.md").read_text(encoding="utf-8")
PAGE = _TEXT.partition("### A network without a way out")[2].partition("\n## ")[0]
"""What docs/platform-teams.md says of such a network."""

Answer = tuple[int, dict[str, str], bytes]


@dataclass(kw_only=True)
class Server:
    """``answer`` is asked with a path and the headers of a request.

    ``wanted`` is a header, and ``seen`` has the status and the path of each request.
    """

    answer: Callable[[str, dict[str, str]], Answer]
    wanted: tuple[str, str]
    seen: list[str] = field(default_factory=list)
    url: str = ""

    def statuses(self) -> set[str]:
        """Those of all answers until now."""
        return {line.split()[0] for line in self.seen}


class _Handler(BaseHTTPRequestHandler):
    server: _Listener

    def do_GET(self) -> None:
        server = self.server.server
        name, value = server.wanted
        if self.headers.get(name) == value:
            status, headers, body = server.answer(self.path, dict(self.headers))
        else:
            status, headers, body = 401, {"WWW-Authenticate": 'Basic realm="company"'}, b""
        server.seen.append(f"{status} {self.path}")
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Silent."""


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    server: Server

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust this server goes away."""


@contextmanager
def _serving(server: Server, pem: Path | None = None) -> Iterator[Server]:
    """``server`` with its address; with TLS if there is a key with its certificate."""
    listener = _Listener((SERVERS, 0), _Handler)
    listener.server = server
    if pem:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        listener.socket = context.wrap_socket(
            listener.socket, server_side=True, do_handshake_on_connect=False
        )
    server.url = f"{'https' if pem else 'http'}://{SERVERS}:{listener.server_address[1]}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _basic(secret: str) -> tuple[str, str]:
    return "Authorization", f"Basic {base64.b64encode(f'{USER}:{secret}'.encode()).decode()}"


def with_login(url: str, secret: str) -> str:
    return url.replace("://", f"://{USER}:{secret}@")


def _mirrored() -> Callable[[str, dict[str, str]], Answer]:
    """Answers of a mirror of the archives that this machine's bases are made from."""
    argv = ["bash", str(ROOT / "tools/standin-base"), "--sources", "bookworm"]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    urls = {urlsplit(line.split()[1]) for line in lines}
    archives = {url.path.rstrip("/"): f"{url.scheme}://{url.netloc}" for url in urls}

    def answer(path: str, _: dict[str, str]) -> Answer:
        path = path.removeprefix("/apt")
        # The longest first: the name of one archive may begin with that of another.
        for archive in sorted(archives, key=len, reverse=True):
            if path.startswith(f"{archive}/"):
                said = requests.get(archives[archive] + path, timeout=300)
                return said.status_code, {}, said.content
        return 404, {}, b""

    return answer


def _index() -> Callable[[str, dict[str, str]], Answer]:
    """Answers of an index, whose files are at the address where the index outside has them."""
    argv = [sys.executable, "-c", DEFAULT_INDEX]
    said = subprocess.run(argv, capture_output=True, text=True, check=True)
    default = said.stdout.strip().rstrip("/")

    def answer(path: str, headers: dict[str, str]) -> Answer:
        wanted = {"Accept": headers.get("Accept", "*/*")}
        package = path.removeprefix("/simple/").strip("/")
        said = requests.get(f"{default}/{package}/", headers=wanted, timeout=60)
        kind = {"Content-Type": said.headers.get("Content-Type", "text/html")}
        return said.status_code, kind, said.content

    return answer


@dataclass(frozen=True, kw_only=True)
class Company:
    """The network: words that run a command in it, its engine, servers, secrets and settings.

    ``content`` has the files of the server of files, by name. ``base`` is the reference of the base
    at Docker Hub, which only the mirror has. ``ca`` has the certificates to trust.
    """

    inside: tuple[str, ...]
    engine: Engine
    folder: Path
    secrets: dict[str, Canary]
    apt: Server
    index: Server
    files: Server
    mirror: Between
    proxied: list[str]
    content: dict[str, bytes]
    base: str
    ca: Path
    env: dict[str, str]

    def settings(self) -> str:
        """The text of cannery.toml on the page, with these servers in place of its examples."""
        text = PAGE.partition("```toml\n")[2].partition("```")[0]
        for old, new in {
            "/etc/ssl/certs/company.pem": str(self.ca),
            ".internal.example.com": SERVERS,
            "https://files.internal.example.com": self.files.url,
            "hub.internal.example.com": self.mirror.host,
        }.items():
            assert text.count(f'"{old}"') == 1, old
            text = text.replace(f'"{old}"', f'"{new}"')
        return text


def _trusted(folder: Path, authority: Authority) -> Path:
    """This machine's certificates, and the company's."""
    system = Path(ssl.get_default_verify_paths().cafile or "").read_text(encoding="utf-8")
    path = folder / "company.pem"
    own = authority.file.read_text(encoding="utf-8")
    path.write_text(f"{system}\n{own}", encoding="utf-8")
    return path


@contextmanager
def _linked() -> Iterator[None]:
    """A cable from the engine's bridge to this machine, which gets the address of the servers."""
    name, room = f"cannery-v{NUMBER}", f"cannery-t{NUMBER}"
    peer = ("peer", "name", "company", "netns", room)
    for words in (
        ("link", "add", name, "type", "veth", *peer),
        ("-n", room, "link", "set", "company", "master", room, "up"),
        ("address", "add", f"{SERVERS}/24", "dev", name),
        ("link", "set", name, "up"),
    ):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


@contextmanager
def _engine_trusts(host: str, authority: Authority) -> Iterator[None]:
    """As docker's manual has it: every engine of this machine trusts the authority for ``host``."""
    folder = Path("/etc/docker/certs.d") / host
    folder.mkdir(parents=True)
    shutil.copy2(authority.file, folder / "ca.crt")
    try:
        yield
    finally:
        shutil.rmtree(folder)


def _docker_login(folder: Path, host: str, secret: str) -> str:
    """The folder of docker's settings after a login."""
    folder.mkdir()
    entry = {"auth": base64.b64encode(f"{USER}:{secret}".encode()).decode()}
    text = json.dumps({"auths": {host: entry}})
    (folder / "config.json").write_text(text, encoding="utf-8")
    return str(folder)


def _published_base(folder: Path, base: Base, root: Path) -> str:
    """Publish what this machine has for ``base`` in a registry's folder; its reference."""
    machine = building_architecture()
    with registry(folder / "publishing", root=root) as server:
        repository = Repository(server.host, "library/debian")
        images = {machine: base_image(base, machine)}
        digest = publish_images(repository, "bookworm-slim", images, folder / "blobs")
    return f"debian:bookworm-slim@{digest}"


@contextmanager
def company(folder: Path, base: Base) -> Iterator[Company]:
    """The network, with ``base`` in its mirror of Docker Hub."""
    secrets = canaries("apt", "index", "files", "proxy", "mirror")
    words = {name: each.secret for name, each in secrets.items()}
    authority = replace(make_authority(folder), address=SERVERS)
    content, proxied = dict[str, bytes](), list[str]()
    reference = _published_base(folder, base, folder / "registry")

    def stored(path: str, _: dict[str, str]) -> Answer:
        body = content.get(path.removeprefix("/"))
        return (404, {}, b"") if body is None else (200, {}, body)

    with ExitStack() as stack:
        inside = stack.enter_context(without_route(NUMBER))
        started = stack.enter_context(
            # Its containers have addresses that are not those of the servers.
            engine(
                folder,
                NUMBER,
                containerd=True,
                inside=inside,
                options=("--fixed-cidr", f"10.213.{NUMBER}.128/25"),
            )
        )
        stack.enter_context(_linked())
        pem = authority.issue(folder)
        apt = Server(answer=_mirrored(), wanted=_basic(words["apt"]))
        index = Server(answer=_index(), wanted=_basic(words["index"]))
        files = Server(answer=stored, wanted=("X-Token", words["files"]))
        for server, key in ((apt, None), (index, pem), (files, pem)):
            stack.enter_context(_serving(server, key))
        behind = stack.enter_context(
            registry(folder / "hub", login=True, password=words["mirror"], root=folder / "registry")
        )
        mirror = stack.enter_context(between(behind, authority, folder / "mirror"))
        stack.enter_context(_engine_trusts(mirror.host, authority))
        through = stack.enter_context(proxy(SERVERS, USER, words["proxy"], seen=proxied))
        (folder / "home").mkdir()
        env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "home"),
            "DOCKER_HOST": started.host,
            "DOCKER_CONFIG": _docker_login(folder / "docker", mirror.host, words["mirror"]),
            # This machine's own settings of pip and uv name other places.
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            "CANNERY_INDEX_URL": with_login(f"{index.url}/simple", words["index"]),
            "CANNERY_APT_MIRROR": with_login(f"{apt.url}/apt", words["apt"]),
            "CANNERY_PROXY": through,
            "FILES_TOKEN": words["files"],
        }
        assert {*re.findall(r"^export (\w+)=", PAGE, re.MULTILINE)} < env.keys()
        yield Company(
            inside=inside,
            engine=started,
            folder=folder,
            secrets=secrets,
            apt=apt,
            index=index,
            files=files,
            mirror=mirror,
            proxied=proxied,
            content=content,
            base=reference,
            ca=_trusted(folder, authority),
            env=env,
        )
