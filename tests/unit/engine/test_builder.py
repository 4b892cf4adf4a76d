# SPDX-License-Identifier: Apache-2.0
"""Builders of buildx, and their caches."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, UsageError
from cannery.engine import builder
from cannery.engine import client as engine
from cannery.engine.base import building_architecture
from cannery.engine.builder import (
    CANN_STEPS,
    Builder,
    find_builder,
    forget_cann,
    node_platforms,
    progress_mode,
    require_containerd,
)
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from tests.policy.dockerfile import parse
from tests.unit.matrices import CHECKOUT

# Ends with the code, and says the text, of the file that is called like its arguments.
DOCKER = f"""#!{sys.executable}
import platform
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
def test_the_progress_mode_of_buildx(docker: Docker, version: str, mode: str) -> None:
    docker.says("buildx version", f"0 {version}")
    assert progress_mode() == mode


def test_an_unreachable_remote_builder_is_an_error(docker: Docker) -> None:
    nodes = (("tcp://a:1", "inactive"), ("tcp://b:1", "running"), ("tcp://c:1", "inactive"))
    text = "".join(f"Name: n\nEndpoint: {a}\nDriver Options: x\nStatus: {s}\n" for a, s in nodes)
    said = INSPECT.format(name="far", driver="remote").partition("Name: node0")[0]
    docker.says("buildx inspect far", said + text)
    with pytest.raises(
        EngineError, match=r"far does not answer at tcp://a:1, tcp://c:1\."
    ) as caught:
        find_builder("far")
    assert "accepts the certificate of this builder" in str(caught.value)
    docker.says("buildx inspect far", said + text.replace("inactive", "running"))
    assert find_builder("far") == Builder(name="far", local=False)


def test_no_buildx(docker: Docker) -> None:
    docker.says("buildx version", "1 docker: 'buildx' is not a docker command.")
    docker.says("buildx inspect", "1 docker: 'buildx' is not a docker command.")
    for ask in (progress_mode, lambda: find_builder("")):
        with pytest.raises(EngineError, match="docker has no buildx"):
            ask()


@pytest.mark.parametrize("driver", ["kubernetes", "remote", "docker-container"])
def test_a_builder_elsewhere(docker: Docker, driver: str) -> None:
    docker.says("buildx inspect pool", INSPECT.format(name="pool", driver=driver))
    assert find_builder("pool") == Builder(name="pool", local=False)


def test_the_platforms_of_the_nodes_of_a_builder(docker: Docker) -> None:
    nodes = "Platforms: linux/arm64, linux/amd64\n\nName: b\nPlatforms: linux/amd64*, linux/386\n"
    docker.says("buildx inspect pool", INSPECT.format(name="pool", driver="remote") + nodes)
    expected = (("linux/arm64", "linux/amd64"), ("linux/amd64", "linux/386"))
    assert node_platforms("pool") == expected
    docker.says("buildx inspect", "1 ERROR: Cannot connect to the Docker daemon")
    node_platforms.cache_clear()
    assert node_platforms() == ()


@pytest.mark.parametrize(
    ("nodes", "engine_says", "architecture"),
    [
        ((("linux/arm64", "linux/amd64"),), "x86_64", "arm64"),
        ((("linux/amd64",), ("linux/arm64", "linux/amd64")), "x86_64", "arm64"),
        ((), "aarch64", "arm64"),
        ((), "", "amd64"),
    ],
    ids=["one node", "the node for that platform", "not started yet", "nobody answers"],
)
def test_the_build_stage_is_for_the_machine_of_the_builder(
    monkeypatch: pytest.MonkeyPatch,
    nodes: tuple[tuple[str, ...], ...],
    engine_says: str,
    architecture: str,
) -> None:
    def machine_and_runtimes() -> tuple[str, frozenset[str]]:
        if not engine_says:
            raise EngineError("there is no engine")
        return engine_says, frozenset()

    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(builder, "node_platforms", lambda _: nodes)
    monkeypatch.setattr(engine, "machine_and_runtimes", machine_and_runtimes)
    assert building_architecture("pool", "arm64") == architecture


def test_an_unknown_builder(docker: Docker) -> None:
    docker.says("buildx inspect pol", '1 ERROR: no builder "pol" found')
    with pytest.raises(UsageError, match=r"there is no builder 'pol'\. Did you mean 'pool'\?"):
        find_builder("pol")
    docker.says("buildx inspect xyz", '1 ERROR: no builder "xyz" found')
    with pytest.raises(UsageError, match=r"no builder 'xyz'\. Known: default, pool\."):
        find_builder("xyz")


def test_an_unreachable_builder_is_an_error(docker: Docker) -> None:
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


# Notes its arguments, one call a line, and says what is in the file "usage".
RECORDER = f"""#!{sys.executable}
import platform
import sys
from pathlib import Path
here = Path(__file__).parent
with (here / "asked").open("a") as asked:
    print(*sys.argv[1:], file=asked)
if "du" in sys.argv:
    print((here / "usage").read_text())
    sys.exit(int((here / "code").read_text()))
"""

INSTALLER = """mount / from exec /bin/bash -euo pipefail -c \
  install-cann toolkit /tmp/Ascend-cann-toolkit_8.0.T39_linux-aarch64.run"""


def _record(name: str, description: str) -> str:
    fields = {"ID": name, "Parent": "zzz", "Mutable": "false", "Size": "1.5GB"}
    fields |= {"Description": description} if description else {}
    fields |= {"Usage count": "1", "Type": "regular"}
    return "".join(f"{key}:\t{value}\n" for key, value in fields.items())


USAGE = "\n".join(
    [
        _record("aaa", INSTALLER.replace("\\\n", "")),
        _record("nothing", ""),
        _record("copied", "[image 2/15] COPY --link --from=layer-toolkit /layer/ /"),
        _record("source", "local source for artifacts"),
        _record("other", "mount / from exec ./toolkit.run --install-path=/usr/local/Ascend"),
        _record("bbb", INSTALLER.replace("\\\n", "").replace("toolkit", "kernels")),
        "Reclaimable:\t2GB\nTotal:\t2GB\n",
    ]
)


def _asked(folder: Path, usage: str, code: int = 0) -> list[str]:
    (folder / "docker").write_text(RECORDER, encoding="utf-8")
    (folder / "docker").chmod(0o755)
    (folder / "usage").write_text(usage, encoding="utf-8")
    (folder / "code").write_text(str(code), encoding="utf-8")
    forget_cann(Builder(name="pool", local=False))
    return (folder / "asked").read_text(encoding="utf-8").splitlines()


def test_only_the_results_of_installers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _asked(tmp_path, USAGE) == [
        "buildx du --builder pool --verbose",
        "buildx prune --builder pool --force --filter id=aaa|bbb",
    ]


@pytest.mark.parametrize(("usage", "code"), [("", 0), (_record("x", "other"), 0), ("ERROR", 1)])
def test_where_there_is_none_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: str, code: int
) -> None:
    """Above all not everything, as without a filter."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _asked(tmp_path, usage, code) == ["buildx du --builder pool --verbose"]


@pytest.mark.slow
@pytest.mark.parametrize("emulated", [False, True])
def test_only_cann_steps_of_dockerfiles_are_matched(*, emulated: bool) -> None:
    project = Project(root=CHECKOUT)
    for target in project.matrix().targets.values():
        own = replace(target, cann=replace(target.cann, emulated=emulated))
        text = Renderer(project).render(own).files["Dockerfile"]
        runs = [each for each in parse(text) if each.word == "RUN"]
        components = {"toolkit", "kernels", "nnal"} & target.artifacts.keys()
        expected = {f"layer-{each}" for each in components}
        found = {each.stage for each in runs if CANN_STEPS.search(each.rest)}
        assert found == expected | (components if emulated else set())


def test_the_steps_taking_cann_from_an_image_are_matched() -> None:
    project = Project(root=CHECKOUT)
    target = replace(
        project.matrix().targets["py39-torch231-cann8t39"], vendor_image=f"x@sha256:{'0' * 64}"
    )
    text = Renderer(project).render(target).files["Dockerfile"]
    runs = [each for each in parse(text) if each.word == "RUN"]
    assert [each.stage for each in runs if CANN_STEPS.search(each.rest)] == [
        "layer-toolkit",
        "layer-kernels",
        "layer-nnal",
    ]
