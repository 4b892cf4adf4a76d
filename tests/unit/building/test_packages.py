# SPDX-License-Identifier: Apache-2.0
"""packages.lock is an input of a build: refreshed by update, part of keys and layers, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cannery.building import packages
from cannery.building.packages import update_packages
from cannery.common.errors import BuildError
from cannery.common.files import write_files
from cannery.common.package_index import PackageIndex
from cannery.engine import containers
from cannery.engine.builder import Builder
from cannery.engine.images import ImageFiles
from cannery.image.bake_file import ImageBuild
from cannery.image.drift import compare
from cannery.image.render import Rendered, Renderer
from tests.unit.world import BOTH, World, make_world

NOW = PackageIndex(ca=None, index_url="")
OLD = f"{'a' * 64}  curl_7.74.0-1_arm64.deb\n"
NEW = f"{'b' * 64}  curl_7.74.0-2_arm64.deb\n"


@dataclass
class Apt:
    """What apt resolves, and installs; ``builds`` are those in which it was asked."""

    world: World
    lists: str = OLD
    installed: str = OLD
    broken: str = ""
    builds: list[ImageBuild] = field(default_factory=list)

    def stage_texts(self, build: ImageBuild, *_: object) -> dict[str, str]:
        self.builds.append(build)
        if build.id == f"{self.broken}-packages":
            raise BuildError(f"{self.broken}: the build failed")
        files = re.findall(r"--list /lists/(\S+\.txt)", build.text)
        return dict.fromkeys(files, self.lists)

    def files(self, *_: object) -> Iterator[tuple[str, bytes]]:
        yield "debs/os.txt", self.installed.encode()

    def update(self, *names: str, write: bool = True) -> int:
        targets = [self.world.checkout.matrix.targets[name] for name in names or BOTH]
        project = self.world.checkout.project
        count = update_packages(project, targets, NOW, write=write)
        if write:
            for each in self.rendered().values():
                write_files(each.paths(project))
        return count

    def rendered(self) -> dict[str, Rendered]:
        project = self.world.checkout.project
        return Renderer(project).render_all(project.matrix().targets.values())

    def lock(self, name: str) -> Path:
        project = self.world.checkout.project
        return project.packages_lock(project.matrix().targets[name])


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    found = Apt(world=make_world(tmp_path, monkeypatch))

    @contextmanager
    def unstarted(*_: object) -> Iterator[object]:
        yield None

    monkeypatch.setattr(packages, "find_builder", lambda _: Builder(name="default", local=True))
    monkeypatch.setattr(packages, "stage_texts", found.stage_texts)
    monkeypatch.setattr(ImageFiles, "files", found.files)
    monkeypatch.setattr(containers, "unstarted", unstarted)
    return found


def keys(world: World) -> dict[str, str]:
    return {step.id: step.key for step in world.plan().steps}


def test_update_records_resolved_apt_packages(apt: Apt, capsys: pytest.CaptureFixture[str]) -> None:
    assert apt.update("full") == 1
    assert f"[os]\ncurl=7.74.0-1 arm64 sha256:{'a' * 64}\n" in apt.lock("full").read_text()
    assert not apt.lock("bare").exists()
    assert "full: 1 package of debian-11\n  not recorded yet for 1 target\n" in (
        capsys.readouterr().out
    )
    assert apt.update("full") == 0
    assert "full: 1 package of debian-11, as recorded\n" in capsys.readouterr().out
    apt.lists = NEW
    assert apt.update("full", write=False) == 1
    assert "  curl 7.74.0-1 -> 7.74.0-2\n" in capsys.readouterr().out
    assert "curl=7.74.0-1 " in apt.lock("full").read_text()


def test_targets_with_equal_packages_are_resolved_once(apt: Apt) -> None:
    matrix = apt.world.checkout.project.matrix_file
    text = matrix.read_text(encoding="utf-8")
    twin = text[text.index("  full:\n") : text.index("  bare:\n")].replace("full:", "twin:")
    matrix.write_text(text + twin, encoding="utf-8")
    project = apt.world.checkout.project
    targets = project.matrix().targets
    apt.world.checkout.lock(targets["twin"], project.lock(targets["full"]).read_text())
    assert update_packages(project, [*targets.values()], NOW, write=True) == 3
    assert len(apt.builds) == 2
    assert apt.lock("twin").read_bytes() == apt.lock("full").read_bytes()


def test_a_failed_target_does_not_stop_the_others(apt: Apt) -> None:
    apt.broken = "full"
    with pytest.raises(BuildError, match="full: the build failed"):
        apt.update()
    assert apt.lock("bare").exists()
    assert not apt.lock("full").exists()


def test_a_record_is_no_stray_file_and_goes_with_its_target(apt: Apt) -> None:
    apt.update()
    project = apt.world.checkout.project
    rendered = {p: t for each in apt.rendered().values() for p, t in each.paths(project).items()}
    assert not compare(project, rendered, BOTH).strays
    only = apt.rendered()["bare"].paths(project)
    assert apt.lock("full") in compare(project, only, ["bare"]).orphans


def test_a_refreshed_list_is_another_image_with_another_first_layer(apt: Apt) -> None:
    apt.update()
    before, old = keys(apt.world), apt.rendered()
    assert keys(apt.world) == before
    apt.lists = NEW
    apt.update("full")
    after, new = keys(apt.world), apt.rendered()
    assert after["bare"] == before["bare"]
    assert after["full"] != before["full"]
    moved = [
        layer.name
        for layer, was in zip(new["full"].layers, old["full"].layers, strict=True)
        if layer.identity != was.identity
    ]
    assert moved == ["os"]
    [then, now] = (each["full"].files["Dockerfile"].splitlines() for each in (old, new))
    changed = {*then} ^ {*now}
    assert {each.partition("=")[0] for each in changed} == {"ARG PACKAGES_SHA256"}


@pytest.mark.parametrize("installed", [OLD, NEW])
def test_a_build_says_which_packages_are_not_as_recorded(
    apt: Apt, capsys: pytest.CaptureFixture[str], installed: str
) -> None:
    apt.update()
    apt.installed = installed
    apt.world.run(["full"])
    told = "full: 1 package not as in packages.lock: curl 7.74.0-1 -> 7.74.0-2"
    assert (told in " ".join(capsys.readouterr().err.split())) == (installed == NEW)
