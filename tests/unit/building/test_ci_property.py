# SPDX-License-Identifier: Apache-2.0
"""CI builds the targets whose content key a change moves, and no other, whatever the change is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from cannery.building.ci_jobs import to_github
from cannery.cli.cmd_ci import CiOptions, plan_ci
from cannery.matrix.project import Project
from tests.cli.conftest import some_targets
from tests.copies import copy_tree
from tests.unit.changes import (
    Change,
    changes,
    commit,
    git,
    keys,
    render,
)
from tests.unit.examples import times
from tests.unit.matrices import CHECKOUT, make_checkout

SLOW = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)


def repository(root: Path) -> Project:
    """The project in ``root``, rendered and committed."""
    project = Project(root=root)
    render(project)
    git(root, "init", "--quiet", "--initial-branch", "main")
    (root / ".gitignore").write_text("/.cannery/\n/artifacts/\n", encoding="utf-8")
    commit(root)
    git(root, "tag", "first")
    return project


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("small") / "checkout"
    root.mkdir()
    make_checkout(root)
    return repository(root)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("real") / "checkout"
    root.mkdir()
    image = "cannery/image"
    for name in (
        "images",
        "cannery/data",
        f"{image}/templates",
        f"{image}/context",
        "matrix.yaml",
    ):
        copy_tree(CHECKOUT / name, root / name)
    matrix = root / "matrix.yaml"
    matrix.write_text(some_targets(matrix.read_text(encoding="utf-8")), encoding="utf-8")
    return repository(root)


def changed(project: Project, made: Sequence[Change]) -> str:
    """Make the changes, render and commit them."""
    for each in made:
        event(each.name.partition(" (")[0])
        each.make(project.root)
    render(project)
    return commit(project.root)


def listed(project: Project, since: str, *, simulate: bool) -> set[str]:
    """The targets that CI would build, if its runners had every file."""
    targets = [*project.matrix().targets.values()]
    artifacts = project.root / "artifacts"
    artifacts.mkdir(exist_ok=True)
    for target in targets:
        for file in target.artifacts.values():
            (artifacts / file.name).touch()
    options = CiOptions(format="names", simulate=simulate, artifacts=artifacts, since=since)
    jobs = plan_ci(project, targets, options)
    rows = json.loads(to_github(jobs))["include"]
    names = [name for row in rows for name in row["targets"].split()]
    assert len(names) == len({*names})
    return {*names}


@cache
def first_keys(project: Project, *, simulate: bool) -> dict[str, str]:
    """The content keys of the commit 'first', which must be checked out."""
    return keys(project, simulate=simulate)


def check(
    project: Project, before: Sequence[Change], after: Sequence[Change], *, simulate: bool
) -> None:
    git(project.root, "reset", "--quiet", "--hard", "first")
    git(project.root, "clean", "--quiet", "--force", "-d")
    base, old = "first", first_keys(project, simulate=simulate)
    if before:
        base = changed(project, before)
        old = keys(project, simulate=simulate)
    changed(project, after)
    new = keys(project, simulate=simulate)
    files = git(project.root, "diff", "--name-only", base).splitlines()
    wanted = {name for name in new if new[name] != old.get(name)}
    event(f"{len(wanted)} of {len(new)} targets")
    found = listed(project, base, simulate=simulate)
    if any(each.unsure and each.name.partition(" ")[2] in files for each in after):
        # One of each kind is enough of those whose keys are as they were.
        assert wanted <= found
        assert found or not simulate
    else:
        assert found == wanted


@pytest.mark.slow
@settings(times(0.25), suppress_health_check=SLOW)
@given(st.lists(changes(), max_size=2), st.lists(changes(), max_size=3), st.booleans())
def test_ci_lists_exactly_the_targets_whose_key_moves(
    small: Project, before: list[Change], after: list[Change], simulate: bool
) -> None:
    check(small, before, after, simulate=simulate)


@pytest.mark.slow
@settings(times(0.05), suppress_health_check=SLOW)
@given(st.lists(changes(), min_size=1, max_size=2), st.booleans())
def test_ci_lists_them_of_the_real_matrix(
    real: Project, after: list[Change], simulate: bool
) -> None:
    check(real, [], after, simulate=simulate)
