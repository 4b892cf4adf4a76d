# SPDX-License-Identifier: Apache-2.0
"""The real image, by the command line: pushed, pulled elsewhere, checked there, promoted.

Needs the engine and the simulated main image, checked, which 'nox -s image' leaves behind.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery.matrix.project import Project
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES
from cannery.registry.records import Record, read_records
from cannery.verify.results import report_path
from tests.engine.bases import allow_stand_ins
from tests.engine.engines import engine

from .goods import tags_of
from .servers import PASSWORD, USER, Authority, Server, registry

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
MAIN = "py39-torch231-cann8t39"
ONLY = ("torch_npu",)
ENGINE_NUMBER = 9
"""Tells the engine of these tests from those of others."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A committed copy of the checkout, and two registries.

    The first has TLS and wants a password, which docker has; the second has neither.
    """

    root: Path
    ca: Path
    login: Path
    first: Server
    second: Server

    def run(self, *words: str, **env: str) -> str:
        """Run build.py, which must end well, and return what it prints."""
        done = subprocess.run(
            [sys.executable, str(self.root / "build.py"), *words],
            env={**os.environ, "DOCKER_CONFIG": str(self.login), **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True)

    @property
    def record(self) -> Record:
        [result] = read_records(self.root / "releases")
        return result


def _copy(root: Path) -> None:
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    message = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in message.split("\0"):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    allow_stand_ins(root)
    shutil.rmtree(root / "releases", ignore_errors=True)
    # What the build of the image has left: the simulated driver, and the report on the image.
    (root / ".cannery").symlink_to(ROOT / ".cannery")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "checkout").mkdir()
    _copy(folder / "checkout")
    with (
        registry(folder / "first", authority=authority, login=True) as first,
        registry(folder / "second") as second,
    ):
        auth = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        (folder / "docker").mkdir()
        text = json.dumps({"auths": {first.host: auth}})
        (folder / "docker" / "config.json").write_text(text, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_CONFIG", str(folder / "docker"))
            result = Site(
                root=folder / "checkout",
                ca=authority.file,
                login=folder / "docker",
                first=first,
                second=second,
            )
            # The link is no folder, which the project's own .gitignore speaks of.
            (result.root / ".git").mkdir()
            result.git("init", "--quiet")
            (result.root / ".git" / "info" / "exclude").write_text(".cannery\n", encoding="utf-8")
            result.git("add", "--all")
            result.git("commit", "--quiet", "--message", "all")
            yield result


def _repository(site: Site, server: Server, name: str = "ascend") -> Repository:
    return Repository(server.host, name, ca=site.ca, retries=RETRIES)


@pytest.fixture(scope="module")
def pushed(site: Site) -> str:
    """What push prints: what to pull."""
    words = ["push", "--target", MAIN, "--simulate", "--allow", "simulated"]
    message = site.run(*words, "--registry", site.first.host, "--ca", str(site.ca))
    return message.strip()


def test_the_tags_name_the_pushed_image(site: Site, pushed: str) -> None:
    repository = _repository(site, site.first)
    digest = pushed.rpartition("@")[2]
    record = site.record
    assert tags_of(repository) == dict.fromkeys(sorted([record.tag, f"{MAIN}-sim"]), digest)
    assert record.digest == digest


def test_the_record_describes_the_image(site: Site, pushed: str) -> None:
    record = site.record
    assert record.tag == f"{MAIN}-{record.key[7:19]}-sim"
    assert (record.simulated, record.signed, record.tags) == (True, False, (f"{MAIN}-sim",))
    assert (record.registry, record.repository) == (site.first.host, "ascend")
    assert record.packages["wheels"]["torch"] == "2.3.1"
    assert "libc6" in record.packages["debian"]
    assert record.packages["vendor"]["toolkit"] == "8.0.T39"
    assert [*record.attestations] == ["provenance", "sbom"]
    [image] = record.platforms.values()
    named = [layer.name for layer in image.layers]
    assert named[0] == "base"
    assert {"os", "toolkit", "wheels-torch", "guard"} <= {*named}
    assert image.size > sum(layer.size for layer in image.layers)
    assert {each.device for each in record.verified} == {"none", "simulated"}
    for each in record.verified:
        assert each.passed > 0
        assert each.failed == 0
        assert "NPU" in each.hardware
        assert each.date


@pytest.mark.ci("layers as zstd passed all else, and an engine of containerd could not run them")
def test_an_empty_engine_pulls_and_checks_the_image(
    site: Site, pushed: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # The path of a socket may have 107 characters.
    with engine(tmp_path_factory.mktemp("other"), ENGINE_NUMBER, containerd=False) as other:
        assert other.docker("image", "ls", "--quiet") == ""
        other.docker("--config", str(site.login), "pull", "--platform", "linux/arm64", pushed)
        words = ["test", "--target", MAIN, "--simulate", "--image", pushed]
        # 'image' runs all checks of the same bytes; one that needs the device is enough here.
        site.run(*words, "--component", *ONLY, DOCKER_HOST=other.host)
    project = Project(root=ROOT)
    target = project.matrix().targets[MAIN]
    report = report_path(project, target, pushed, simulated=True, only=ONLY)
    assert json.loads(report.read_text(encoding="utf-8"))["image"] == pushed
    report.unlink()


def test_it_is_promoted_with_the_same_digest(site: Site, pushed: str) -> None:
    place = f"{site.second.host}/team/ascend"
    message = site.run("promote", pushed, place, "--ca", str(site.ca))
    digest = pushed.rpartition("@")[2]
    assert message.strip() == f"{place}@{digest}"
    there = _repository(site, site.second, "team/ascend")
    assert tags_of(there) == tags_of(_repository(site, site.first))
    assert there.resolve(f"{MAIN}-sim") == digest


def test_diff_compares_its_record_with_the_local_image(site: Site, pushed: str) -> None:
    result = json.loads(site.run("diff", pushed, f"{MAIN}-sim", "--format", "json"))
    assert [result[side]["kind"] for side in ("before", "after")] == ["record", "image"]
    assert {layer["state"] for layer in result["layers"]} == {"equal"}
