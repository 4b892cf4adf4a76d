# SPDX-License-Identifier: Apache-2.0
"""A checkout with vendor files, and stand-ins for the engine, for buildx and for the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cannery.building import assembly, planning
from cannery.building import running as building
from cannery.building.plan import Plan
from cannery.building.planning import Selection, make_plan
from cannery.building.running import build_all
from cannery.common.errors import BuildError, VerificationError
from cannery.common.files import write_files
from cannery.common.model import DeviceKind, Target
from cannery.engine import base, containers
from cannery.engine import client as engine
from cannery.engine.bake import Built, Failures
from cannery.engine.builder import Builder
from cannery.engine.images import LocalImage
from cannery.image.bake_file import ImageBuild
from cannery.image.render import Renderer
from cannery.options import BuildOptions
from cannery.publish import push_checks
from cannery.verify import devices
from cannery.verify.image_checks import checks_digest
from cannery.verify.run_checks import ImageChecks, Subject
from cannery.verify.verification import DeviceRun, Verification
from tests.fetch.run_files import run_file
from tests.unit.matrices import DIGEST, Checkout, edited, make_checkout
from tests.unit.verifications import PASSED

BOTH = ["full", "bare"]
FILE = run_file(b"archive\n").decode()
"""The content of every vendor file."""
OTHER_FILE = run_file(b"other\n").decode()


@dataclass
class World:
    """What there is outside of the checkout, and what a run has done to it."""

    checkout: Checkout
    artifacts: Path
    store: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    baked: list[list[str]] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    uncached: set[str] = field(default_factory=set)
    """Targets whose image is built, and whose cache cannot be kept."""
    markers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of an image to the paths in it that say that it holds stand-ins."""
    bad: set[str] = field(default_factory=set)
    between: Callable[[str], None] = lambda _: None
    """Is called when a target has been built, before the next one is."""
    stops_at: str = ""
    number: int = 0
    forgotten: list[str] = field(default_factory=list)
    """The builders whose cache has lost the results of the steps that install CANN."""

    @property
    def names(self) -> set[str]:
        return {name for name in self.store if name.startswith("cannery:")}

    def local_images(self, references: Iterable[str]) -> dict[str, LocalImage]:
        return {
            name: LocalImage(id=image, architecture="arm64", labels=labels)
            for name in references
            if name in self.store
            for image, labels in [self.store[name]]
        }

    def stand_ins(self, image: str, _: Target) -> tuple[str, ...]:
        found = [labels for each, labels in self.store.values() if each == image]
        labelled = any(labels["io.cannery.simulated"] == "true" for labels in found)
        return (*(["label"] if labelled else []), *self.markers.get(image, ()))

    def tag_image(self, image: str, name: str) -> None:
        self.store[name] = self.store[image]

    def bake(self, builds: Sequence[ImageBuild], _: object, __: object, built: Built) -> Failures:
        self.baked.append([build.id for build in builds])
        if self.stops_at == "bake":
            raise KeyboardInterrupt
        for build in builds:
            if build.id not in self.broken:
                self.number += 1
                image = f"sha256:{self.number}"
                self.store[image] = (image, dict(build.labels))
                built(build.id, image)
                self.between(build.id)
        without_cache = self.broken | self.uncached
        return {b.id: BuildError(f"{b.id}: no") for b in builds if b.id in without_cache}

    def check(
        self,
        _: object,
        subject: Subject,
        __: object,
        options: ImageChecks,
    ) -> None:
        target, name = subject.target, subject.name
        self.checked.append(target.id)
        if self.stops_at == target.id:
            raise KeyboardInterrupt
        outcome = "failed" if target.id in self.bad else "passed"
        run = DeviceRun(device=DeviceKind.NONE, checks=(replace(PASSED, outcome=outcome),))
        result = Verification(
            target=target.id,
            image=name,
            image_id=subject.image,
            runs=(run,),
            checks=checks_digest(self.checkout.project),
            date="2026-11-21",
        )
        options.record(result)
        if result.failed:
            raise VerificationError(f"{target.id}: a check failed")
        place = self.checkout.project.state / "reports" / f"{name.replace(':', '_')}.json"
        write_files({place: result.to_json()})

    def selection(self, names: Sequence[str], named: Sequence[str] | None = None) -> Selection:
        targets = tuple(self.checkout.matrix.targets[name] for name in names)
        chosen = frozenset(names if named is None else named)
        return Selection(matrix=self.checkout.matrix, targets=targets, named=chosen)

    def options(self, **more: Any) -> BuildOptions:
        return replace(BuildOptions(artifacts=self.artifacts), **more)

    def plan(self, names: Sequence[str] = BOTH, **more: Any) -> Plan:
        return make_plan(self.checkout.project, self.selection(names), self.options(**more))

    def run(
        self, names: Sequence[str] = BOTH, named: Sequence[str] | None = None, **more: Any
    ) -> None:
        selection, options = self.selection(names, named), self.options(**more)
        plan = make_plan(self.checkout.project, selection, options)
        build_all(self.checkout.project, selection, options, plan)

    def forget(self) -> None:
        self.baked.clear()
        self.checked.clear()
        self.stops_at = ""


def make_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which nothing has been built."""
    root = tmp_path / "checkout"
    root.mkdir()
    digest = sha256(FILE.encode()).hexdigest()
    checkout = make_checkout(root, edited(f"sha256: {DIGEST}", f"sha256: {digest}"))
    artifacts = tmp_path / "vendor"
    artifacts.mkdir()
    renderer = Renderer(checkout.project)
    for target in checkout.matrix.targets.values():
        write_files(renderer.render(target).paths(checkout.project))
        for file in target.artifacts.values():
            (artifacts / file.name).write_text(FILE, encoding="utf-8")
    found = World(checkout=checkout, artifacts=artifacts)
    stand_in(found, monkeypatch)
    return found


def stand_in(found: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``found`` be the engine, buildx and the checks from now on."""
    for module in (planning, assembly, push_checks):
        monkeypatch.setattr(module, "local_images", found.local_images)
    monkeypatch.setattr(push_checks, "stand_ins", found.stand_ins)
    monkeypatch.setattr(engine, "tag_image", found.tag_image)
    monkeypatch.setattr(containers, "remove_abandoned", lambda: None)
    monkeypatch.setattr(base, "pull", lambda *_: None)
    monkeypatch.setattr(devices, "npu_device", lambda: None)
    monkeypatch.setattr(building, "bake", found.bake)
    monkeypatch.setattr(building, "check", found.check)
    builder = Builder(name="default", local=True)
    monkeypatch.setattr(building, "find_builder", lambda _: builder)
    monkeypatch.setattr(building, "forget_cann", lambda b: found.forgotten.append(b.name))
