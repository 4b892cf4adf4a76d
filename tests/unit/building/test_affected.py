# SPDX-License-Identifier: Apache-2.0
"""What ``affected`` says of commits that no git has made; test_ci_property.py has real ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.building.affected import Commit, affected, is_harmless, is_read
from cannery.common.model import Target
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import MATRIX, edited

SIM = "packages/ascend-sim"
TEXTS = {
    "matrix.yaml": MATRIX,
    "images/full/Dockerfile": "FROM x\n",
    "images/bare/Dockerfile": "FROM x\n",
    "images/bare/compose.yaml": "services: {}\n",
}
COMMIT = Commit(entries={**TEXTS, "setup.sh": "1", "README.md": "1"}, texts=TEXTS)


def changed(path: str, text: str | None) -> Commit:
    """The commit with one file changed, or gone."""

    def put(files: dict[str, str]) -> dict[str, str]:
        without = {name: each for name, each in files.items() if name != path}
        return without if text is None else {**without, path: text}

    texts = put({**COMMIT.texts}) if is_read(path) else COMMIT.texts
    return Commit(entries=put({**COMMIT.entries}), texts=texts)


def said(before: Commit, after: Commit, *, simulate: bool = False) -> dict[str, str]:
    targets = parse_matrix(after.texts["matrix.yaml"], "matrix.yaml").targets.values()
    return affected(before, after, targets, simulate=simulate, stand_in=lambda each: each.id)


def test_what_has_not_changed_concerns_nobody() -> None:
    assert said(COMMIT, COMMIT) == said(COMMIT, COMMIT, simulate=True) == {}
    assert said(COMMIT, changed("README.md", "2")) == {}
    assert said(COMMIT, changed("README.md", None)) == {}
    assert said(COMMIT, changed("images/bare/compose.yaml", "other")) == {}


def test_the_reason_says_what_has_changed() -> None:
    assert said(COMMIT, changed("images/full/Dockerfile", "FROM y")) == {
        "full": "changed: Dockerfile"
    }
    assert said(COMMIT, changed("images/bare/Dockerfile", None)) == {"bare": "changed: Dockerfile"}
    other = edited("file: toolkit_8.0.RC2_linux", "file: toolkit_8.0.RC2.1_linux")
    assert said(COMMIT, changed("matrix.yaml", other)) == {"full": "changed: toolkit"}
    new = edited("  bare:\n", "  new:\n")
    assert said(COMMIT, changed("matrix.yaml", new)) == {"new": "new target"}
    other = edited("image: debian:11@", "image: debian:11.1@")
    found = said(COMMIT, changed("matrix.yaml", other))
    assert found == {"full": "changed: BASE_IMAGE", "bare": "changed: BASE_IMAGE"}


@pytest.mark.parametrize("text", ["2", None])
def test_a_file_that_is_not_known_concerns_all(text: str | None) -> None:
    why = "setup.sh may affect any image"
    assert said(COMMIT, changed("setup.sh", text)) == {"full": why, "bare": why}
    both = replace(COMMIT, entries={"matrix.yaml": MATRIX, "build.py": "1"})
    assert said(COMMIT, both)["full"] == "build.py and 1 more file may affect any image"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "the earlier commit has no matrix.yaml"),
        ("[]", "the earlier matrix is invalid: matrix.yaml:1:1: "),
        ("", "the earlier matrix is invalid: matrix.yaml:1:1: the file is empty."),
        ("\udcff", "the earlier matrix is invalid: matrix.yaml:1:1: this is not UTF-8 text."),
        (edited("schema: 2", "schema: 3"), "the earlier matrix is invalid: matrix.yaml:1:"),
    ],
)
def test_an_earlier_matrix_that_cannot_be_read_means_all(text: str | None, why: str) -> None:
    found = said(changed("matrix.yaml", text), COMMIT)
    assert found.keys() == {"full", "bare"}
    assert all(each.startswith(why) for each in found.values())


def test_only_what_is_asked_for_is_answered() -> None:
    targets = [parse_matrix(MATRIX, "matrix.yaml").targets["full"]]
    changes = changed("setup.sh", "2")
    found = affected(COMMIT, changes, targets, simulate=False, stand_in=lambda _: "")
    assert found.keys() == {"full"}


def test_another_stand_in_counts_only_where_it_is_used() -> None:
    names = iter("abcdefgh")

    def stand_in(_: Target) -> str:
        return next(names)

    targets = [*parse_matrix(MATRIX, "matrix.yaml").targets.values()]
    found = affected(COMMIT, COMMIT, targets, simulate=True, stand_in=stand_in)
    assert found == {"full": "changed: simulator", "bare": "changed: simulator"}
    assert not affected(COMMIT, COMMIT, targets, simulate=False, stand_in=stand_in)


@pytest.mark.parametrize(
    "path",
    [
        *("a.md", "docs/x.py", "docs/a/b", "publish.yaml", "noxfile.py", "new.txt"),
        *(".github/workflows/npu.yml", ".ci/run", "bench/x.py", "packages/ascend-doctor/a.py"),
        *("tests/unit/x", "tests/new/__init__.py", "tests/workflow_jobs/a.py"),
        *("tests/faults/site.py", "tests/copies.py", "tests/imagex/a.py"),
        *(
            "cannery/catalog/page.py",
            "cannery/publish/advisories.py",
            "cannery/publish/scan/findings.py",
        ),
        *("cannery/cli/cmd_list.py", "cannery/image/templates/Dockerfile.j2"),
        *(f"{SIM}/tools/archive.py", f"{SIM}/ascend_sim/packages/README.md", f"{SIM}/tests/a.py"),
    ],
)
def test_harmless(path: str) -> None:
    assert is_harmless(path)
    assert not is_read(path)


@pytest.mark.parametrize(
    "path",
    [
        *("tests/image/x.md", "build.py", "setup.sh", "requirements.txt"),
        *(".github/workflows/ci.yml", ".gitlab-ci.yml", "cannery/__init__.py"),
        *("cannery/engine/bake.py", "cannery/cli/cmd_build.py"),
        *("cannery/verify/probe/probe.py", "cannery/image/vendor/take-cann"),
        *("cannery/matrix/distributions.yaml", "cannery/common/new.py"),
        *(f"{SIM}/device/hccl/a.cpp", f"{SIM}/Dockerfile", f"{SIM}/ascend_sim/packages/pack.py"),
    ],
)
def test_not_harmless(path: str) -> None:
    assert not is_harmless(path)


def test_a_comment_in_the_tests_of_frameworks_concerns_nobody() -> None:
    before = changed("tests/policy/conftest.py", "1")
    assert said(before, changed("tests/policy/conftest.py", "2"), simulate=True) == {}


PROGRAM = "cannery/image/context/seal-layer"


@pytest.mark.parametrize("simulate", [False, True])
def test_a_mode_of_a_program_of_the_build_is_a_change(simulate: bool) -> None:
    texts = {**TEXTS, PROGRAM: "#!/bin/sh"}
    found = [
        Commit(entries={**COMMIT.entries, PROGRAM: f"{mode} blob 1"}, texts=texts)
        for mode in ("100644", "100755")
    ]
    why = "changed: cannery/seal-layer"
    assert said(*found, simulate=simulate) == {"full": why, "bare": why}
