# SPDX-License-Identifier: Apache-2.0
"""The last commits of history: CI leaves out no image that changes, and seldom selects them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import pytest

from cannery.building.affected import affected
from cannery.building.git import Commit
from cannery.cli.cmd_ci import stand_in
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.matrix.schema import parse_files
from tests.replay import truth
from tests.replay.history import Blobs, commit_at, is_shallow, pairs

COUNT = 300
LEAST = 20
"""How many of them must be readable today."""

BLOBS = Blobs()


@dataclass(frozen=True, kw_only=True)
class Step:
    """A commit with its parent, the targets that it has, and those that CI selects."""

    before: str
    after: str
    targets: frozenset[str]
    selected: frozenset[str]

    @property
    def share(self) -> str:
        if not self.selected:
            return "none"
        return "all" if self.selected == self.targets else "some"


@lru_cache(4)
def read(name: str) -> Commit:
    return commit_at(name, BLOBS)


@cache
def targets_of(matrix: tuple[tuple[str, str], ...]) -> Sequence[Target]:
    return [*parse_files(dict(matrix)).targets.values()]


def targets_at(commit: Commit) -> Sequence[Target]:
    data = {
        path: text
        for path, text in commit.texts.items()
        if path == "matrix.yaml" or path.startswith("cannery/data/")
    }
    return targets_of(tuple(sorted(data.items())))


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    if is_shallow():
        pytest.skip("this clone is shallow: 'git fetch --unshallow' gets the history")
    result = []
    for before, after in pairs(COUNT):
        earlier, now = read(before), read(after)
        try:
            targets = targets_at(now)
        except MatrixError:
            continue  # it has keys that are gone
        selected = affected(earlier, now, targets, simulate=True, stand_in=stand_in)
        ids = frozenset(target.id for target in targets)
        step = Step(before=before, after=after, targets=ids, selected=frozenset(selected))
        result.append(step)
    assert len(result) >= LEAST
    return result


def differing(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {name for name in after if after[name] != before.get(name)}


def test_no_target_whose_files_change_is_left_out(steps: list[Step]) -> None:
    missed = {}
    changing = 0
    for step in steps:
        changed = differing(
            truth.images(step.before, BLOBS), truth.images(step.after, BLOBS)
        ).intersection(step.targets)
        changing += bool(changed)
        if left := changed - step.selected:
            missed[step.after] = sorted(left)
    assert changing
    assert not missed


def test_all_changed_sets_of_simulated_packages_are_built(steps: list[Step]) -> None:
    missed = {}
    for step in steps:
        if truth.device(step.before) != truth.device(step.after):
            truth.images(step.after, BLOBS)
            made = truth.packages(step.after, BLOBS)
            built = {made[name] for name in step.selected}
            if left := {made[name] for name in step.targets} - built:
                missed[step.after] = sorted(left)
    assert not missed


def test_no_change_of_the_build_code_is_left_out(steps: list[Step]) -> None:
    changing = {
        step.after: step.share
        for step in steps
        if truth.builders(step.before, BLOBS) != truth.builders(step.after, BLOBS)
    }
    assert not [commit for commit, share in changing.items() if share == "none"]


def test_at_most_a_tenth_of_the_commits_selects_every_target(steps: list[Step]) -> None:
    shares = Counter(step.share for step in steps)
    print(f"\nof {len(steps)} commits: {dict(shares)}")
    assert shares["all"] <= len(steps) / 10, [s.after for s in steps if s.share == "all"]
