# SPDX-License-Identifier: Apache-2.0
"""Secrets of every option that carries one are in nothing that a build and a push leave.

The registry and cosign are real; docker is a program that says all that it is told. What an engine
keeps is looked through in tests/engine/test_other_machines.py.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.cli import main
from cannery.publish.cosign import PASSWORD as KEY_PASSWORD
from cannery.registry.client import Repository
from cannery.registry.records import read_records
from cannery.verify.results import read_verified
from tests.canaries import Canary, Content, canaries, search, watching
from tests.unit.archives import COMPRESSED, tar
from tests.unit.changes import git
from tests.unit.fake_bake import FakeBake
from tests.unit.world import World, make_world

from .careless import build, fetch, lock, url_of
from .checkouts import Place, built_place
from .conftest import HURRIED
from .keys import make_pair
from .servers import USER, Server, between, make_authority, registry

PLACES = [
    *("image layers and configs", "registry, with SBOM, provenance and signature"),
    *("registry's log", "bake files", "arguments of docker", "command lines of processes"),
    *("build logs", "reports and other files of .cannery", "console"),
    *("records of pushes", "results in verified", "catalogue"),
    *("fetched files and their records", "temporary files"),
]
FORMS: list[Callable[[bytes], bytes]] = [
    lambda secret: secret,
    lambda secret: base64.b64encode(b"publisher:" + secret),
    lambda secret: gzip.compress(tar({"etc/secret": secret})),
    lambda secret: COMPRESSED["zstd"](tar({"etc/inner.tar": tar({"secret": b"x" + secret})})),
]
POLICY = """\
schema: 1
repository: ascend
tags: {immutable: "{target}-{key}", moving: "{target}"}
"""
SECRETS = (
    *("index", "ca", "proxy", "cache", "origin"),
    *("registry", "key", "header", "query", "login"),
    *("netrc", "pip.conf", "uv.toml", "PIP_EXTRA_INDEX_URL", "UV_INDEX_COMPANY_PASSWORD"),
    *("AWS_SECRET_ACCESS_KEY", "CI", "HttpHeaders", "extraheader"),
)
"""By what carries them; the last two lines stand around the run, and it has no use for them."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Everything that was written while the secrets were in use."""

    folder: Path
    secrets: dict[str, Canary]
    world: World
    place: Place
    server: Server
    docker: FakeBake
    console: io.StringIO
    commands: bytes

    def places(self) -> dict[str, list[Content]]:
        root = self.world.checkout.project.root
        message = self.console.getvalue().encode()
        asked = self.docker.asked
        stored = self.server.folder / "data"
        return {
            "image layers and configs": [root / ".cannery" / "blobs"],
            "registry, with SBOM, provenance and signature": [stored],
            "registry's log": [self.server.folder / "registry.log"],
            "bake files": [json.dumps(file).encode() for _, file, _ in asked],
            "arguments of docker": [json.dumps(words).encode() for words, _, _ in asked],
            "command lines of processes": [self.commands],
            "build logs": [root / ".cannery" / "logs"],
            "reports and other files of .cannery": [root / ".cannery"],
            "console": [message],
            "records of pushes": [root / "releases"],
            "results in verified": [root / "verified"],
            "catalogue": [root / "README.md"],
            "fetched files and their records": [self.folder / "store"],
            "temporary files": [self.folder / "tmp"],
        }


def _environment(patch: pytest.MonkeyPatch, folder: Path, secrets: dict[str, Canary]) -> None:
    """A proxy with a password, docker's settings, and folders of this test's own."""
    for name in ("tmp", "docker", "bin"):
        (folder / name).mkdir()
    patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    patch.setenv("TMPDIR", str(folder / "tmp"))
    patch.setenv("DOCKER_CONFIG", str(folder / "docker"))
    patch.setenv(KEY_PASSWORD, secrets["key"].secret)
    for name in ("http_proxy", "https_proxy"):
        patch.setenv(name, f"http://{USER}:{secrets['proxy'].secret}@127.0.0.1:9")
    patch.setenv("no_proxy", "127.0.0.1,localhost")
    _surround(patch, folder, {name: each.secret for name, each in secrets.items()})


def _surround(patch: pytest.MonkeyPatch, folder: Path, secrets: dict[str, str]) -> None:
    """Secrets of other programs in the files and variables that many machines have."""
    home = folder / "home"
    home.mkdir()
    netrc = f"machine 127.0.0.1 login {USER} password {secrets['netrc']}\n"
    pip = f"[global]\nextra-index-url = https://{USER}:{secrets['pip.conf']}@pip.test\n"
    uv = f"[[index]]\nurl = 'https://{USER}:{secrets['uv.toml']}@uv.test'\n"
    for name, text in (("netrc", netrc), ("pip.conf", pip), ("uv.toml", uv)):
        (home / name).write_text(text, encoding="utf-8")
        (home / name).chmod(0o600)
    variables = {
        "NETRC": str(home / "netrc"),
        "PIP_CONFIG_FILE": str(home / "pip.conf"),
        "UV_CONFIG_FILE": str(home / "uv.toml"),
        "PIP_EXTRA_INDEX_URL": f"https://{USER}:{secrets['PIP_EXTRA_INDEX_URL']}@pip.test",
        "UV_INDEX_COMPANY_PASSWORD": secrets["UV_INDEX_COMPANY_PASSWORD"],
        "AWS_SECRET_ACCESS_KEY": secrets["AWS_SECRET_ACCESS_KEY"],
        "GITHUB_TOKEN": secrets["CI"],
        "ACTIONS_RUNTIME_TOKEN": secrets["CI"],
        "CI_JOB_TOKEN": secrets["CI"],
    }
    for name, value in variables.items():
        patch.setenv(name, value)


def _login(folder: Path, host: str, secrets: dict[str, Canary]) -> None:
    auth = base64.b64encode(f"{USER}:{secrets['registry'].secret}".encode()).decode()
    headers = {"X-Meta-Token": secrets["HttpHeaders"].secret}
    own = {"auths": {host: {"auth": auth}}, "HttpHeaders": headers}
    (folder / "docker" / "config.json").write_text(json.dumps(own), encoding="utf-8")


def _prepared(world: World, secrets: dict[str, Canary]) -> None:
    """Make the checkout one with an origin, a README and a policy."""
    root = world.checkout.project.root
    (root / "README.md").write_text("<!-- catalogue -->\n<!-- /catalogue -->\n", encoding="utf-8")
    (root / "publish.yaml").write_text(POLICY, encoding="utf-8")
    git(root, "remote", "add", "origin", url_of("git.example.com", secrets["origin"]))
    header = f"Authorization: Bearer {secrets['extraheader'].secret}"
    git(root, "config", "http.https://git.example.com/.extraheader", header)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    secrets = canaries(*SECRETS)
    authority = make_authority(folder)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        _environment(patch, folder, secrets)
        pair = make_pair(folder / "keys", secrets["key"].secret)
        password = secrets["registry"].secret
        server = stack.enter_context(registry(folder / "registry", login=True, password=password))
        line = stack.enter_context(between(server, authority, folder / "between"))
        _login(folder, line.host, secrets)
        repository = Repository(line.host, "ascend", ca=authority.file, retries=HURRIED)
        message = io.StringIO()
        docker = FakeBake(folder / "bin")
        world = make_world(folder, patch)
        place = built_place(world, repository, patch)
        _prepared(world, secrets)
        with redirect_stderr(message), redirect_stdout(message), watching() as watched:
            build(world, docker, secrets, patch, folder)
            place.commit()
            place.push(allow=("unverified",), signing_key=pair.private)
            root = world.checkout.project.root
            assert main(["catalog"], root) == 0
            # The console has what site/ reads.
            assert main(["list", "--format", "json", "--verbose"], root) == 0
            fetch(folder / "store", secrets)
            lock(secrets)
        yield Site(
            folder=folder,
            secrets=secrets,
            world=world,
            place=place,
            server=server,
            docker=docker,
            console=message,
            commands=watched.content,
        )


def test_the_secrets_were_in_use(site: Site) -> None:
    """Or none could be found."""
    project = site.world.checkout.project
    [record] = read_records(project.releases)
    assert record.signed
    assert read_verified(project.root, ["full"])["full"]
    given = " ".join(environ["CANNERY_INDEX_URL"] for _, _, environ in site.docker.asked)
    assert site.secrets["index"].secret in given


def test_no_secret_is_left(site: Site) -> None:
    places = site.places()
    assert [*places] == PLACES
    assert "\n".join(search(site.secrets.values(), places)) == ""


@contextmanager
def planted(site: Site, place: str, secret: bytes) -> Iterator[None]:
    """Let ``secret`` be in ``place`` for the time of the block."""
    [first, *_] = site.places()[place]
    if place == "console":
        file = None
        site.console.write(secret.decode())
    elif isinstance(first, Path):
        file = first / "planted" if first.is_dir() else first
    else:
        file = site.docker.folder / "asked"
        secret = json.dumps([[secret.decode()], json.dumps(secret.decode()), {}]).encode() + b"\n"
    before = file.read_bytes() if file and file.exists() else None
    if file:
        file.write_bytes((before or b"") + secret)
    yield
    if file and before is not None:
        file.write_bytes(before)
    elif file:
        file.unlink()


@pytest.mark.parametrize("place", [each for each in PLACES if "processes" not in each])
def test_a_planted_secret_is_found(site: Site, place: str) -> None:
    [canary] = canaries("planted").values()
    [first, *_] = site.places()[place]
    # Only a file of its own can be compressed.
    forms = FORMS if isinstance(first, Path) and first.is_dir() else FORMS[:2]
    for form in forms:
        with planted(site, place, form(canary.secret.encode())):
            hits = search([canary], {place: site.places()[place]})
        assert hits, (place, FORMS.index(form))


def test_a_secret_in_a_command_line_is_found() -> None:
    [canary] = canaries("planted").values()
    with watching() as watched:
        subprocess.run(["sh", "-c", "sleep 1", canary.secret], check=True)
    assert search([canary], {"processes": [watched.content]}) == ["planted in processes"]
