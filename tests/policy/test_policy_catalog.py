# SPDX-License-Identifier: Apache-2.0
"""The table is what the matrix and the releases say; the files of the page are small."""

from __future__ import annotations

from cannery.matrix.project import VERIFIED, Project
from cannery.publish.catalog import MARKERS, gather, inserted, table
from cannery.verify.image_checks import checks_digest
from cannery.verify.results import path_of, read_verified, state_keys
from tests.policy.test_policy_sources import ROOT


def test_the_table_is_in_sync(project: Project) -> None:
    text = (ROOT / "docs" / "targets.md").read_bytes().decode()
    found = gather(project, state_keys(project))
    wanted = inserted(text, table(found), "docs/targets.md", MARKERS)
    assert text == wanted, "run: python build.py catalog"


def test_every_recorded_result_is_of_a_target(project: Project) -> None:
    targets = project.matrix().targets
    read_verified(ROOT, targets)
    files = {path.name for path in (ROOT / VERIFIED).glob("*")}
    assert files <= {path_of(ROOT, name).name for name in targets}


def test_the_version_of_the_checks_was_considered(project: Project) -> None:
    path = project.checks / "VERSION"
    _, digest = path.read_text(encoding="utf-8").split()
    changed = (
        "The files of tests/image have changed. If a check proves something else now, add 1 to "
        f"the number in {path}: recorded results are older then. In any case write this digest "
        f"into its second line: {checks_digest(project)}"
    )
    assert digest == checks_digest(project), changed
