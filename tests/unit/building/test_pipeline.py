# SPDX-License-Identifier: Apache-2.0
"""Whole runs, with stand-ins for the engine, for buildx and for the checks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cannery.building import running
from cannery.building.planning import make_plan
from cannery.building.running import build_all
from cannery.common.errors import (
    ArtifactError,
    BuildError,
    CanneryError,
    UsageError,
    VerificationError,
)
from cannery.common.option import Shard
from cannery.engine.bake import Failures
from cannery.image.bake_file import ImageBuild
from cannery.options import PlanOptions
from tests.unit.world import BOTH, OTHER_FILE, World, make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return make_world(tmp_path, monkeypatch)


def test_new_targets_are_built_checked_and_tagged(world: World) -> None:
    world.run()
    assert world.baked == [BOTH]
    assert world.checked == BOTH
    assert world.names == {"cannery:full", "cannery:bare"}


@pytest.mark.parametrize("force", [True, False])
def test_a_forced_build_reads_no_cache(
    world: World, monkeypatch: pytest.MonkeyPatch, *, force: bool
) -> None:
    builds: list[ImageBuild] = []

    def bake(given: Sequence[ImageBuild], *others: Any) -> Failures:
        builds.extend(given)
        return world.bake(given, *others)

    monkeypatch.setattr(running, "bake", bake)
    world.run(["full"], force=force)
    assert [build.no_cache for build in builds] == [force]


def test_the_cache_loses_installers_once_all_is_built(world: World) -> None:
    world.broken = {"full"}
    with pytest.raises(CanneryError):
        world.run()
    assert world.forgotten == []
    world.broken = set()
    world.run()
    world.run()
    assert world.forgotten == ["default"]


def test_an_up_to_date_target_is_not_built(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.run()
    world.forget()
    capsys.readouterr()
    world.run(["full"])
    assert (world.baked, world.checked) == ([], [])
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("full: cannery:full is up to date")
    world.run(["full"], force=True)
    assert world.baked == [["full"]]


def test_one_changed_file_builds_one_target(world: World) -> None:
    world.run()
    world.forget()
    name = world.checkout.matrix.targets["full"].artifacts["toolkit"].name
    (world.artifacts / name).write_text(OTHER_FILE, encoding="utf-8")
    world.run()
    assert (world.baked, world.checked) == ([["full"]], ["full"])


def remove_toolkit(world: World, name: str) -> str:
    file = world.checkout.matrix.targets[name].artifacts["toolkit"].name
    (world.artifacts / file).unlink()
    return file


def test_an_unnamed_target_is_skipped_without_its_files(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    file = remove_toolkit(world, "bare")
    world.run(named=[])
    assert world.baked == [["full"]]
    [line] = [line for line in capsys.readouterr().err.splitlines() if "skipped" in line]
    assert "bare" in line and file in line


def test_a_named_target_without_its_files_is_an_error(world: World) -> None:
    file = remove_toolkit(world, "bare")
    with pytest.raises(ArtifactError) as caught:
        world.run(named=["bare"])
    assert world.baked == [["full"]]
    assert f"{file} is missing" in str(caught.value)
    assert all(problem.what.startswith("[bare] ") for problem in caught.value.problems)
    assert world.names == {"cannery:full"}


def test_nothing_can_be_built(world: World) -> None:
    for name in BOTH:
        remove_toolkit(world, name)
    with pytest.raises(ArtifactError, match=r"(?s)\[full\].*\[bare\]"):
        world.run(named=[])
    with pytest.raises(ArtifactError, match=r"^/"):
        world.run(["full"], named=[])
    assert world.baked == []


def test_a_damaged_file_is_an_error_however_the_target_was_chosen(world: World) -> None:
    file = world.checkout.matrix.targets["bare"].artifacts["toolkit"].name
    (world.artifacts / file).write_text("", encoding="utf-8")
    with pytest.raises(ArtifactError, match="is empty"):
        world.run(named=[])
    assert world.baked == [["full"]]


def test_a_failed_target_does_not_stop_the_others(world: World) -> None:
    world.broken = {"full"}
    with pytest.raises(BuildError, match=r"\[full\] full: no"):
        world.run()
    assert world.names == {"cannery:bare"}
    world.forget()
    world.broken = set()
    world.run()
    assert (world.baked, world.checked) == ([["full"]], ["full"])


def test_an_image_is_checked_and_named_while_others_are_built(world: World) -> None:
    def wait_for_name(target: str) -> None:
        for _ in range(500):
            if f"cannery:{target}" in world.store:
                return
            time.sleep(0.01)
        raise AssertionError(f"{target} got no name while the next one was built")

    world.between = wait_for_name
    world.run()
    assert world.checked == BOTH


def test_a_failed_cache_export_fails_a_target_and_keeps_its_image(world: World) -> None:
    world.uncached = {"full"}
    with pytest.raises(BuildError, match=r"\[full\] full: no"):
        world.run()
    assert world.names == {"cannery:full", "cannery:bare"}


def test_a_failed_check_moves_no_name(world: World) -> None:
    world.run()
    before = world.store["cannery:full"]
    world.forget()
    world.bad = {"full"}
    with pytest.raises(VerificationError, match="a check failed"):
        world.run(force=True)
    assert world.store["cannery:full"] == before


def test_failures_of_several_kinds_have_a_code_of_their_own(world: World) -> None:
    world.broken, world.bad = {"full"}, {"bare"}
    with pytest.raises(CanneryError) as caught:
        world.run()
    assert caught.value.exit_code == 1
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("bad", "stops_at", "error"),
    [({"bare"}, "", VerificationError), (set(), "bare", KeyboardInterrupt)],
    ids=["a failure", "a stop"],
)
def test_several_images_are_checked_at_a_time(
    world: World, bad: set[str], stops_at: str, error: type[BaseException]
) -> None:
    world.bad, world.stops_at = bad, stops_at
    with pytest.raises(error):
        world.run(check_jobs=2)
    assert "cannery:bare" not in world.names
    assert bad == set() or (sorted(world.checked), world.names) == (sorted(BOTH), {"cannery:full"})


def test_a_run_after_a_stop_while_building_builds_all(world: World) -> None:
    world.stops_at = "bake"
    with pytest.raises(KeyboardInterrupt):
        world.run()
    assert not world.names
    world.forget()
    world.run()
    assert world.names == {"cannery:full", "cannery:bare"}


def test_a_run_after_a_stop_while_checking_does_the_rest(world: World) -> None:
    world.stops_at = "bare"
    with pytest.raises(KeyboardInterrupt):
        world.run()
    assert world.names == {"cannery:full"}
    world.forget()
    world.run()
    assert (world.baked, world.checked) == ([["bare"]], ["bare"])
    assert world.names == {"cannery:full", "cannery:bare"}


def test_shards_are_all_there_is(world: World) -> None:
    found = []
    for index in (1, 2, 3):
        selection = replace(world.selection(BOTH), shard=Shard(index, 3))
        plan = make_plan(world.checkout.project, selection, world.options())
        names = [step.id for step in plan.steps]
        assert sorted([*names, *plan.other_shards]) == sorted(BOTH)
        found += names
    assert sorted(found) == sorted(BOTH)


def test_an_empty_shard_is_no_error(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for index in (1, 2, 3):
        selection = replace(world.selection(BOTH), shard=Shard(index, 3))
        planned = make_plan(world.checkout.project, selection, world.options())
        build_all(world.checkout.project, selection, world.options(), planned)
    assert " has no targets" in capsys.readouterr().err


def test_an_unknown_component_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="Did you mean 'torch'"):
        make_plan(
            world.checkout.project,
            world.selection(BOTH),
            world.options(),
            PlanOptions(if_changed="torhc"),
        )
