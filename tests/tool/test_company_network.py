# SPDX-License-Identifier: Apache-2.0
"""A team's project is built in a company's network, which has no route to the outside.

There are a mirror for apt, a package index, a server of files with CANN, a mirror of Docker Hub and
a proxy, each with a login or a token, and certificates of the company's own. Whatever is asked of
another place fails, because there is no way to it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from cannery.common.package_index import PackageIndex
from cannery.engine.base import building_architecture
from cannery.engine.simulator import make_simulated
from cannery.matrix.project import Project
from tests.canaries import Content, search, watching
from tests.tool.company import SERVERS, Company, company
from tests.tool.conftest import ROOT, Tool

TARGET = "native"
IMAGE = f"cannery:{TARGET}-sim"
MATRIX = """\
schema: 2
requires: cannery>=0.1
build_base: debian-12
bases:
  debian-12: {{extend: {{image: "{base}"}}}}
{cann}
targets:
  {target}:
    summary: CANN alone
    platform: linux/{architecture}
    base: debian-12
    python: cpython-3.11.2
    cann: 9.1.0
"""
BUILD = ("build", TARGET, "--simulate", "--source", "download", "--force")
LOCK = ("lock", "--target", TARGET)


@dataclass(frozen=True, kw_only=True)
class Team:
    """A project in the network of ``place``."""

    place: Company
    tool: Tool

    def start(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run cannery with the company's variables, or with ``env`` in their place."""
        wanted = {name: value for name, value in {**self.place.env, **env}.items() if value}
        argv = [*self.place.inside, str(self.tool.script), *words]
        return subprocess.run(
            argv, cwd=self.tool.folder, env=wanted, capture_output=True, text=True, check=False
        )

    def run(self, *words: str) -> str:
        """As ``start``, which must end well; all that is printed."""
        done = self.start(*words)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout + done.stderr

    def refused(self, *words: str, **env: str) -> str:
        """What cannery says when it fails, without secrets, traceback or a program's own words."""
        done = self.start(*words, **env)
        text = done.stdout + done.stderr
        assert done.returncode not in (0, 1), text[-4000:]
        assert "Traceback" not in text
        assert search(self.place.secrets.values(), {"console": [text.encode()]}) == []
        return text

    def write_matrix(self) -> None:
        """A target of CANN alone; its packages have the hashes of those on the server of files."""
        hashes = {name: sha256(body).hexdigest() for name, body in self.place.content.items()}
        lines = "".join(f"        {name}: {digest}\n" for name, digest in hashes.items())
        text = MATRIX.format(
            base=self.place.base,
            cann=f"cann:\n  9.1.0:\n    extend:\n      sha256:\n{lines}" if lines else "",
            target=TARGET,
            architecture=building_architecture(),
        )
        (self.tool.folder / "matrix.yaml").write_text(text, encoding="utf-8")

    def fill_server(self) -> None:
        """Put packages that stand in for CANN's on the server of files."""
        env, project = self.place.env, Project(root=self.tool.folder)
        source = PackageIndex(
            ca=None,
            index_url="",
            proxy=env["CANNERY_PROXY"],
            no_proxy=SERVERS,
            apt_mirror=env["CANNERY_APT_MIRROR"],
        )
        with pytest.MonkeyPatch.context() as patch:
            for name in ("DOCKER_HOST", "DOCKER_CONFIG"):
                patch.setenv(name, env[name])
            made = make_simulated(project, project.matrix().targets[TARGET], source)
        for path in made.artifacts.glob("*.run"):
            self.place.content[path.name] = path.read_bytes()
        assert len(self.place.content) == 3


def without_login(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.hostname}:{parts.port}").geturl()


@pytest.fixture(scope="module")
def team(script: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A project that is locked and rendered; nothing is built yet."""
    folder = tmp_path_factory.mktemp("company")
    base = next(iter(Project(root=ROOT).matrix().targets.values())).build_base
    with company(folder, base) as place:
        tool = Tool(script=script, folder=folder / "our-images")
        tool.folder.mkdir()
        made = Team(place=place, tool=tool)
        made.run("init", "--ci", "gitlab", "--executor", "docker")
        (tool.folder / "cannery.toml").write_text(place.settings(), encoding="utf-8")
        made.write_matrix()
        made.run("sync")
        yield made


def test_there_is_no_way_to_the_outside(team: Team) -> None:
    argv = [*team.place.inside, "ip", "-oneline", "route"]
    routes = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in routes.splitlines()} == {
        f"{SERVERS.rpartition('.')[0]}.0/24"
    }


def test_a_setting_that_is_wrong_is_named_with_what_to_do(team: Team, tmp_path: Path) -> None:
    place, env = team.place, team.place.env
    (tmp_path / "docker").mkdir()
    wrong = tmp_path / "wrong.pem"
    trustme.CA().cert_pem.write_to_path(str(wrong))
    simulate = ("build", TARGET, "--simulate")

    said = team.refused(*simulate, DOCKER_CONFIG=str(tmp_path / "docker"))
    assert f"Log in with an account that may: docker login {place.mirror.host}" in said

    said = team.refused(*simulate, CANNERY_APT_MIRROR=without_login(env["CANNERY_APT_MIRROR"]))
    assert "401  Unauthorized" in said
    assert "put it into CANNERY_APT_MIRROR" in said

    said = team.refused(*LOCK, CANNERY_INDEX_URL=without_login(env["CANNERY_INDEX_URL"]))
    assert "Put a login for the index into CANNERY_INDEX_URL" in said

    said = team.refused(*LOCK, "--ca", str(wrong))
    assert "invalid peer certificate" in said
    assert "name a file with your own certificates with --ca" in said

    settings = team.tool.folder / "cannery.toml"
    good = settings.read_text(encoding="utf-8")
    messages = []
    for text in (
        good.replace('"docker.io"', '"quay.io"'),
        f'proxy = "{env["CANNERY_PROXY"]}"\n{good}',
    ):
        settings.write_text(text, encoding="utf-8")
        messages.append(team.refused(*simulate))
    settings.write_text(good, encoding="utf-8")
    assert "cannery.toml names no mirror of docker.io" in messages[0]
    assert "cannery.toml:1:1: proxy: this has a secret" in messages[1]
    assert "CANNERY_PROXY" in messages[1]


@pytest.fixture(scope="module")
def built(team: Team, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Content]]:
    """All places at which the build of the image may have left a secret."""
    started = time.monotonic()
    team.fill_server()
    team.write_matrix()
    team.run("sync")
    for server in (team.place.apt, team.place.index, team.place.files):
        server.seen.clear()
    team.place.proxied.clear()
    with watching(pause=0.5) as watched:
        said = team.run(*BUILD)
    print(f"built and checked in {time.monotonic() - started:.0f} s, {os.cpu_count()} cores")
    docker = team.place.engine.docker
    archive = tmp_path_factory.mktemp("saved") / "image.tar"
    docker("save", "--output", str(archive), IMAGE)
    root = Path(docker("info", "--format", "{{.DockerRootDir}}"))
    return {
        # The config in it has the history.
        "layers and history": [archive],
        "config": [docker("image", "inspect", IMAGE).encode()],
        "build cache": [docker("buildx", "du", "--verbose").encode(), root / "buildkit/cache.db"],
        "build history": [root / "buildkit" / "history.db"],
        "project": [team.tool.folder],
        "home": [team.place.folder / "home"],
        "console": [said.encode()],
        "command lines": [watched.content],
    }


def test_each_thing_comes_from_the_server_that_has_it(
    team: Team, built: dict[str, list[Content]]
) -> None:
    place = team.place
    assert f"{IMAGE} is ready" in built["console"][0].decode()  # type: ignore[union-attr]
    assert place.apt.statuses() == place.files.statuses() == {"200"}
    assert place.index.statuses() <= {"200", "401"}  # pip asks before it shows its login
    assert {line.split()[1].removeprefix("/") for line in place.files.seen} == {*place.content}
    assert [line for line in place.apt.seen if line.endswith(".deb")]
    assert [line for line in place.index.seen if line.startswith("200 /simple/")]
    assert place.mirror.count(rf"GET /v2/library/debian/manifests/{place.base.split('@')[1]}")
    # Only files of packages, which the index leaves at the place where the public one has them.
    assert place.proxied
    assert {line.split()[0] for line in place.proxied} == {"CONNECT"}
    assert not [line for line in place.proxied if SERVERS in line]


def test_no_secret_is_left(team: Team, built: dict[str, list[Content]]) -> None:
    hits = search(team.place.secrets.values(), built)
    # BuildKit records the proxy of a build's steps, as docs/settings.md says.
    assert {*hits} <= {"proxy in build history: history.db"}


@pytest.mark.usefixtures("built")
def test_the_server_of_files_wants_its_token(team: Team, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    trustme.CA().cert_pem.write_to_path(str(wrong))
    words = (*BUILD, "--cache", str(tmp_path / "empty"))
    said = team.refused(*words, FILES_TOKEN="")
    assert "needs the variable FILES_TOKEN. Set it in the environment" in said
    said = team.refused(*words, FILES_TOKEN="other")
    assert "it asks for a login" in said
    said = team.refused(*words, "--ca", str(wrong))
    assert "name the certificate of its issuer with --ca FILE" in said


@pytest.mark.usefixtures("built")
def test_the_image_runs(team: Team) -> None:
    said = team.run("run", TARGET, "--simulate", "--", "python3", "-c", "print(6 * 7)")
    assert said.split()[-1] == "42" or "\n42\n" in said
