# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, UsageError
from cannery.engine import client as engine
from cannery.engine.builder import Builder, find_builder, progress_mode, require_containerd

# Ends with the code, and says the text, of the file that is called like its arguments.
DOCKER = f"""#!{sys.executable}
import sys
from pathlib import Path
name = " ".join(sys.argv[1:]).replace(" ", "_").replace("/", ".")
code, _, text = (Path(__file__).parent / name).read_text().partition(" ")
print(text)
sys.exit(int(code))
"""

LS = """\
NAME/NODE     DRIVER/ENDPOINT   STATUS    BUILDKIT   PLATFORMS
pool          kubernetes
 \\_ pool0     \\_ kubernetes:///pool inactive
default*      docker
 \\_ default    \\_ default       running   v0.0.0     linux/amd64
"""
INSPECT = "0 Name:          {name}\nDriver:        {driver}\n\nNodes:\nName: node0\nDriver: no\n"


class Docker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").write_text(DOCKER, encoding="utf-8")
        (folder / "docker").chmod(0o755)
        self.says("buildx version", "0 github.com/docker/buildx 0.13.1+ds1 0.13.1")
        self.says("buildx ls", "0 " + LS)
        self.says("context show", "0 default")

    def says(self, words: str, text: str) -> None:
        (self.folder / words.replace(" ", "_").replace("/", ".")).write_text(text, encoding="utf-8")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    monkeypatch.setenv("PATH", str(tmp_path))
    return Docker(tmp_path)


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        ("github.com/docker/buildx v0.12.1 abc", "plain"),
        ("github.com/docker/buildx 0.13.1+ds1 0.13.1", "rawjson"),
        ("github.com/docker/buildx v0.30.0 abc", "rawjson"),
        ("github.com/docker/buildx v1.0.0 abc", "rawjson"),
        ("github.com/docker/buildx unknown", "rawjson"),
    ],
)
def test_how_progress_is_told(docker: Docker, version: str, mode: str) -> None:
    docker.says("buildx version", f"0 {version}")
    assert progress_mode() == mode


def test_a_remote_builder_that_does_not_answer(docker: Docker) -> None:
    nodes = (("tcp://a:1", "inactive"), ("tcp://b:1", "running"), ("tcp://c:1", "inactive"))
    text = "".join(f"Name: n\nEndpoint: {a}\nDriver Options: x\nStatus: {s}\n" for a, s in nodes)
    said = INSPECT.format(name="far", driver="remote").partition("Name: node0")[0]
    docker.says("buildx inspect far", said + text)
    with pytest.raises(EngineError, match=r"far does not answer at tcp://a:1, tcp://c:1\."):
        find_builder("far")
    docker.says("buildx inspect far", said + text.replace("inactive", "running"))
    assert find_builder("far") == Builder(name="far", local=False)


def test_no_buildx(docker: Docker) -> None:
    docker.says("buildx version", "1 docker: 'buildx' is not a docker command.")
    docker.says("buildx inspect", "1 docker: 'buildx' is not a docker command.")
    for ask in (progress_mode, lambda: find_builder("")):
        with pytest.raises(EngineError, match="docker has no buildx"):
            ask()


def test_the_builder_that_is_in_use(docker: Docker) -> None:
    docker.says("buildx inspect", INSPECT.format(name="default", driver="docker"))
    assert find_builder("") == Builder(name="default", local=True)


@pytest.mark.parametrize("driver", ["kubernetes", "remote", "docker-container"])
def test_a_builder_elsewhere(docker: Docker, driver: str) -> None:
    docker.says("buildx inspect pool", INSPECT.format(name="pool", driver=driver))
    assert find_builder("pool") == Builder(name="pool", local=False)


def test_an_unknown_builder(docker: Docker) -> None:
    docker.says("buildx inspect pol", '1 ERROR: no builder "pol" found')
    with pytest.raises(UsageError, match=r"there is no builder 'pol'\. Did you mean 'pool'\?"):
        find_builder("pol")
    docker.says("buildx inspect xyz", '1 ERROR: no builder "xyz" found')
    with pytest.raises(UsageError, match=r"no builder 'xyz'\. Known: default, pool\."):
        find_builder("xyz")


def test_a_builder_that_does_not_answer(docker: Docker) -> None:
    docker.says("buildx inspect pool", "1 ERROR: no connection")
    with pytest.raises(
        EngineError, match="buildx reports about its builder:\nERROR: no connection"
    ):
        find_builder("pool")


def test_a_builder_in_another_engine(docker: Docker) -> None:
    docker.says("buildx inspect other", INSPECT.format(name="other", driver="docker"))
    with pytest.raises(EngineError, match="belongs to another engine"):
        find_builder("other")


def test_who_can_write_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "uses_containerd", lambda: False)
    require_containerd(Builder(name="pool", local=False), "write a cache")
    with pytest.raises(EngineError, match="cannot write a cache"):
        require_containerd(Builder(name="default", local=True), "write a cache")
    monkeypatch.setattr(engine, "uses_containerd", lambda: True)
    require_containerd(Builder(name="default", local=True), "write a cache")
