# SPDX-License-Identifier: Apache-2.0
"""``build --record``: what a run leaves in verified/, and what the keys there are compared with."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cannery.building.plan import Action
from cannery.common.errors import FileError, MatrixError, VerificationError
from cannery.common.files import write_files
from cannery.common.model import DeviceKind, Target
from cannery.image.content_key import KeyInputs
from cannery.verify import results as verify_results
from cannery.verify.results import (
    Basis,
    Result,
    Verified,
    known_results,
    path_of,
    read_verified,
    record,
    state_keys,
)
from tests.unit.verifications import NOT_RUN, REPORT
from tests.unit.world import BOTH, World, make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return make_world(tmp_path, monkeypatch)


def recorded(world: World) -> dict[str, tuple[Verified, ...]]:
    return read_verified(world.checkout.project.root, BOTH)


def image_of(target: Target) -> KeyInputs:
    """What a simulated image of ``target`` is built from."""
    return KeyInputs.committed(target, {"Dockerfile": "FROM scratch"}, simulator="0" * 64)


def results(world: World) -> list[Result]:
    """The results of ``full``."""
    project = world.checkout.project
    targets = project.matrix().targets.values()
    return [*known_results(project, targets, (), state_keys(project))["full"]]


def test_a_record_has_the_key_device_and_date_of_a_run(world: World) -> None:
    world.run(record=True)
    [found] = recorded(world)["full"]
    tested = found.tested
    assert (found.simulated, tested.device, tested.date) == (False, "none", "2026-11-21")
    assert (tested.passed, tested.failed, tested.not_run) == (1, 0, 0)
    target = world.checkout.matrix.targets["full"]
    assert found.key == state_keys(world.checkout.project)(target, False)
    assert found.checks == 0
    assert [each.basis for each in results(world)] == [Basis.CURRENT]
    assert len({each.key for [each] in recorded(world).values()}) == 2


def test_a_result_is_older_once_a_file_of_the_target_has_changed(world: World) -> None:
    world.run(record=True)
    folder = world.checkout.project.images
    before = (folder / "bare" / "target.json").read_text(encoding="utf-8")
    write_files({folder / "bare" / "target.json": before + "\n"})
    assert [each.basis for each in results(world)] == [Basis.CURRENT]
    write_files({folder / "full" / "target.json": before + "\n"})
    [found] = results(world)
    assert (found.basis, found.moved) == (Basis.OLDER, ("contents",))


def test_a_result_is_older_with_another_version_of_the_checks(world: World) -> None:
    world.run(record=True)
    folder = world.checkout.project.root / "tests" / "image"
    write_files({folder / "conftest.py": "# another text of the same version\n"})
    assert [each.basis for each in results(world)] == [Basis.CURRENT]
    write_files({folder / "VERSION": "1\n"})
    [found] = results(world)
    assert (found.basis, found.moved) == (Basis.OLDER, ("checks",))
    world.run(record=True)
    assert [each.basis for each in results(world)] == [Basis.CURRENT]
    write_files({folder / "VERSION": "one\n"})
    with pytest.raises(FileError, match=r"VERSION does not begin with a number\. Write"):
        results(world)


def test_record_checks_a_verified_image_again(world: World) -> None:
    world.run()
    world.forget()
    [step] = world.plan(["full"], record=True).steps
    assert step.action is Action.VERIFY
    assert step.why == "cannery:full is up to date, and --record checks it again"
    world.run(["full"], record=True)
    assert (world.baked, world.checked) == ([], ["full"])
    assert len(recorded(world)["full"]) == 1
    assert world.plan(["full"], record=True, test=False).steps[0].action is Action.SKIP


def test_a_failure_is_recorded_as_one(world: World) -> None:
    world.run(["full"], record=True)
    world.bad.add("full")
    with pytest.raises(VerificationError):
        world.run(["full"], record=True)
    [found] = recorded(world)["full"]
    assert (found.tested.passed, found.tested.failed) == (0, 1)


def test_an_invalid_record_file_stops_a_run_before_any_build(world: World) -> None:
    path = path_of(world.checkout.project.root, "bare")
    write_files({path: "schema: 3\nresults: none\n"})
    with pytest.raises(MatrixError, match=r"verified/bare\.yaml:2:10"):
        world.run(record=True)
    assert (world.baked, world.checked) == ([], [])
    world.run()
    assert path.read_text(encoding="utf-8") == "schema: 3\nresults: none\n"


def test_a_simulated_run_leaves_the_results_of_real_packages_alone(world: World) -> None:
    project = world.checkout.project
    target = world.checkout.matrix.targets["full"]
    keep = partial(record, project, target, image=image_of(target))
    keep(replace(REPORT, simulated=True))
    runs = (REPORT.runs[0], replace(REPORT.runs[1], device=DeviceKind.NPU, checks=(NOT_RUN,)))
    keep(replace(REPORT, runs=runs))
    found = [(each.simulated, each.tested.device) for each in recorded(world)["full"]]
    # Nothing was run on the NPU, so nothing is said of it.
    assert found == [(False, "none"), (True, "none"), (True, "simulated")]


def test_the_results_of_runs_at_once_are_all_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(root: Path, targets: Iterable[str]) -> dict[str, tuple[Verified, ...]]:
        found = read_verified(root, targets)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(verify_results, "read_verified", slowly)
    project = world.checkout.project
    target = world.checkout.matrix.targets["full"]
    keep = partial(record, project, target, image=image_of(target))
    both = [replace(REPORT, runs=REPORT.runs[:1], simulated=each) for each in (False, True)]
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(keep, each) for each in both]:
            done.result()
    assert [each.simulated for each in recorded(world)["full"]] == [False, True]
