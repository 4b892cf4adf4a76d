# SPDX-License-Identifier: Apache-2.0
"""A target for two platforms, by the command line: built, pushed under one tag, pulled, checked.

The images are Debian with a few files, which no program of another platform has to make; the
checks run programs of the image's platform, emulated where the machine has another.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cannery.common.files import write_files
from cannery.engine.base import building_architecture
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from cannery.registry.oci import manifest_contents
from tests.engine.bases import ROOT, allow_stand_ins
from tests.engine.engines import registry
from tests.faults.small_checkout import commit, make_small_checkout, toolkit, with_hashes
from tests.unit.matrices import edited, lock_for

pytestmark = pytest.mark.engine

BASE = Project(root=ROOT).matrix().targets["py311-torch2130-cann920"].base.image
TARGETS = {"linux/arm64": "tiny", "linux/amd64": "tiny-amd64"}
CHECK = """\
import json

def test_programs_are_of_the_platform(host, request):
    with open(request.config.getoption("--record")) as record:
        target = json.load(record)
    assert host.check_output("uname -m") == target["machine"]
    assert host.check_output("dpkg --print-architecture") == target["platform"].split("/")[1]
    assert host.check_output("head -n 1 /opt/toolkit") == "#!/bin/sh"
"""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A committed checkout whose target is for both platforms, and the address of a registry."""

    project: Project
    host: str

    def build_py(self, *words: str) -> str:
        """Run build.py, which must end well; what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.child", str(self.project.root), *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("both")
    root = folder / "checkout"
    project = make_small_checkout(root, BASE)
    allow_stand_ins(root)
    platforms = f"platforms: [{', '.join(TARGETS)}]"
    text = project.matrix_file.read_text(encoding="utf-8")
    one = f"platform: linux/{building_architecture()}"
    project.matrix_file.write_text(edited(one, platforms, text), encoding="utf-8")
    (project.checks / "os" / "test_os.py").write_text(CHECK, encoding="utf-8")
    for target in project.matrix().targets.values():
        for file in target.artifacts.values():
            (project.artifacts / file.name).write_bytes(toolkit(0))
        write_files({project.lock(target): with_hashes(lock_for(target))})
        write_files(Renderer(project).render(target).paths(project))
    commit(root)
    try:
        with registry(folder) as host:
            yield Site(project=project, host=host)
    finally:
        remove(*(f"cannery:{name}" for name in TARGETS.values()))


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def remove(*images: str) -> None:
    argv = ["docker", "image", "rm", "--force", *images]
    subprocess.run(argv, capture_output=True, check=False)


@pytest.fixture(scope="module")
def tag(site: Site) -> str:
    """The tag for both platforms, which a push of both targets has written."""
    site.build_py("build", *TARGETS.values())
    said = site.build_py("push", *TARGETS.values(), "--registry", site.host)
    assert "tiny-multi" in said
    return f"{site.host}/ascend:tiny-multi"


def test_one_tag_has_an_image_for_both_platforms(site: Site, tag: str) -> None:
    document = Repository(site.host, "ascend").manifest("tiny-multi")
    assert document
    assert {e.platform for e in manifest_contents(document).manifests} >= {*TARGETS}


@pytest.mark.parametrize("platform", TARGETS)
def test_the_image_pulled_for_a_platform_passes_its_checks(
    site: Site, tag: str, platform: str
) -> None:
    remove(tag)
    docker("pull", "--quiet", "--platform", platform, tag)
    try:
        read = ("image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", tag)
        assert docker(*read) == platform
        said = site.build_py("test", TARGETS[platform], "--image", tag)
        assert "1 passed, 0 failed" in said
    finally:
        remove(tag)
