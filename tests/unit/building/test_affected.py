# SPDX-License-Identifier: Apache-2.0
"""What ``affected`` says of commits that no git has made; test_ci_property.py has real ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.building.affected import affected, is_read
from cannery.building.git import Commit
from cannery.common.model import Target
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import MATRIX, edited

SIM = "packages/ascend-sim"
BUILD, RENDER = "cannery/cli/cmd_build.py", "cannery/cli/cmd_render.py"
BAKE, HOOK = "cannery/engine/bake.py", "cannery/engine/hook"
CODE = {
    BUILD: "from cannery.engine import bake\nfrom cannery.image.text import x\n",
    RENDER: "import cannery.image.text\n",
    BAKE: '"""Bakes."""\n\n\ndef bake():\n    """Bake."""\n    return "hook"  # now\n',
    HOOK: "#!/bin/sh\n# A hook.\nexit 0\n",
    "cannery/engine/other": "1\n",
    "cannery/image/text.py": "x = 1\n",
    "cannery/deploy/clusters.py": "x = 1\n",
    "build.py": "import cannery\n",
    "requirements.txt": "docker==1\n",
    ".github/workflows/ci.yml": "jobs: {check: {steps: [1]}, build: {steps: [2]}}\n",
    "tests/image/os/test_os.py": "x = 1\n",
    "tests/image/nnal/test_nnal.py": "x = 1\n",
    "tests/image/probes/train.py": "x = 1\n",
    "tests/image/README.md": "x\n",
}
TEXTS = {
    **CODE,
    "matrix.yaml": MATRIX,
    "images/full/Dockerfile": "FROM x\n",
    "images/bare/Dockerfile": "FROM x\n",
    "images/bare/compose.yaml": "services: {}\n",
}
OTHERS = {"setup.sh": "1", "README.md": "1", f"{SIM}/device/build.sh": "1"}
COMMIT = Commit(entries={**TEXTS, **OTHERS}, texts=TEXTS)


def changed(path: str, text: str | None) -> Commit:
    """The commit with one file changed, or gone."""

    def put(files: dict[str, str]) -> dict[str, str]:
        without = {name: each for name, each in files.items() if name != path}
        return without if text is None else {**without, path: text}

    texts = put({**COMMIT.texts}) if is_read(path) else COMMIT.texts
    return Commit(entries=put({**COMMIT.entries}), texts=texts)


def said(before: Commit, after: Commit, *, simulate: bool = False) -> dict[str, str]:
    targets = [*parse_matrix(after.texts["matrix.yaml"], "matrix.yaml").targets.values()]
    return affected(before, after, targets, simulate=simulate, stand_in=lambda each: each.id)


def test_unrelated_changes_affect_no_target() -> None:
    assert said(COMMIT, COMMIT) == said(COMMIT, COMMIT, simulate=True) == {}
    assert said(COMMIT, changed("README.md", "2")) == {}
    assert said(COMMIT, changed("README.md", None)) == {}
    assert said(COMMIT, changed("images/bare/compose.yaml", "other")) == {}


def test_the_reason_names_the_change() -> None:
    assert said(COMMIT, changed("images/full/Dockerfile", "FROM y")) == {
        "full": "changed: Dockerfile"
    }
    new = edited("  bare:\n", "  new:\n")
    assert said(COMMIT, changed("matrix.yaml", new)) == {"new": "new target"}
    other = edited("image: debian:11@", "image: debian:11.1@")
    found = said(COMMIT, changed("matrix.yaml", other))
    assert found == {"full": "changed: BASE_IMAGE", "bare": "changed: BASE_IMAGE"}


KIND = "for which one target of each kind is built"

SAME = {
    BAKE: 'def bake():\n    return ("hook")\n',
    BUILD: CODE[BUILD] + "# Imports.\n",
    HOOK: "#!/bin/bash\n\n  # Another comment.\nexit 0\n",
    "cannery/engine/other": "2\n",
    "cannery/image/text.py": "x = 2\n",
    RENDER: CODE[RENDER] + "x = 2\n",
    "cannery/deploy/clusters.py": "x = 2\n",
    "build.py": "import cannery  # all of it\n",
    "requirements.txt": "# pinned\ndocker==1\n",
    "requirements-dev.txt": "pytest==2\n",
    "setup.sh": "2",
    ".gitlab-ci.yml": "2",
    ".github/workflows/ci.yml": "# x\njobs:\n  build:\n    steps: [2]\n  check: {steps: [3]}\n",
    "tests/image/os/test_os.py": '"""Tests."""\n\nx = 1  # one\n',
    "tests/image/README.md": "y\n",
    "cannery/image/templates/Dockerfile.j2": "x",
}


@pytest.mark.parametrize("path", SAME)
def test_changes_without_effect_on_images_affect_no_target(path: str) -> None:
    assert said(COMMIT, changed(path, SAME[path]), simulate=True) == {}


OTHER = {
    BAKE: CODE[BAKE].replace("bake", "made"),
    BUILD: CODE[BUILD] + "x = 1\n",
    HOOK: "#!/bin/sh\n# A hook.\nexit 1\n",
    "build.py": "import cannery.cli\n",
    "requirements.txt": "docker==2\n",
    ".github/workflows/ci.yml": "jobs: {check: {steps: [1]}, build: {steps: [3]}}\n",
}


@pytest.mark.parametrize("path", OTHER)
@pytest.mark.parametrize("gone", [False, True])
def test_build_code_affects_one_target_of_each_kind(path: str, gone: bool) -> None:
    found = said(COMMIT, changed(path, None if gone else OTHER[path]))
    assert found == {"full": f"changed: {path}, {KIND}", "bare": f"changed: {path}, {KIND}"}


def test_an_already_affected_target_stands_for_its_kind() -> None:
    targets = [*parse_matrix(MATRIX, "matrix.yaml").targets.values()]
    again = replace(targets[0], id="again")
    after = changed(BAKE, OTHER[BAKE])
    # No earlier commit has the target 'again', which is new then.
    texts = {**after.texts, "matrix.yaml": MATRIX + "\n"}
    after = Commit(entries={**after.entries, "matrix.yaml": "2"}, texts=texts)
    found = affected(COMMIT, after, [*targets, again], simulate=False, stand_in=lambda _: "")
    assert found.keys() == {"again", "bare"}
    assert found["again"] == "new target"


def test_sources_of_simulated_packages_count_where_those_are_used() -> None:
    path = f"{SIM}/device/build.sh"
    why = f"changed: {path}, {KIND}"
    assert said(COMMIT, changed(path, "2"), simulate=True) == {"full": why, "bare": why}
    assert said(COMMIT, changed(path, "2")) == {}
    both = changed(BAKE, OTHER[BAKE])
    both = replace(both, entries={**both.entries, path: "2"})
    assert f"changed: {BAKE} and 1 more file, {KIND}" in said(COMMIT, both, simulate=True).values()


def test_a_check_affects_its_own_targets_only() -> None:
    everybody = {"full", "bare"}
    assert said(COMMIT, changed("tests/image/os/test_os.py", "x = 2")).keys() == everybody
    assert said(COMMIT, changed("tests/image/probes/train.py", "x = 2")).keys() == everybody
    assert said(COMMIT, changed("tests/image/nnal/test_nnal.py", None)) == {
        "full": "changed: tests/image/nnal/test_nnal.py, which checks it"
    }


def test_another_schema_of_keys_concerns_all() -> None:
    path = "cannery/image/content_key.py"
    why = "changed: the schema of content keys"
    before = changed(path, "_SCHEMA = 2\n")
    assert said(before, changed(path, "_SCHEMA = 3\n")) == {"full": why, "bare": why}
    assert said(before, changed(path, "x = 1\n_SCHEMA = 2\n")) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "the earlier commit has no matrix.yaml"),
        ("[]", "the earlier matrix is invalid: matrix.yaml:1:1: "),
        ("\udcff", "the earlier matrix is invalid: matrix.yaml:1:1: this is not UTF-8 text."),
    ],
)
def test_an_unreadable_earlier_matrix_affects_every_target(text: str | None, why: str) -> None:
    found = said(changed("matrix.yaml", text), COMMIT)
    assert found.keys() == {"full", "bare"}
    assert all(each.startswith(why) for each in found.values())


def test_other_simulated_packages_count_only_where_they_are_used() -> None:
    after = changed("matrix.yaml", MATRIX + "# more\n")
    targets = [*parse_matrix(MATRIX, "matrix.yaml").targets.values()]

    def stand_in(target: Target) -> str:
        return "new" if any(target is each for each in targets) else "old"

    found = affected(COMMIT, after, targets, simulate=True, stand_in=stand_in)
    assert found == {"full": "changed: simulator", "bare": "changed: simulator"}
    assert not affected(COMMIT, after, targets, simulate=False, stand_in=stand_in)


PROGRAM = "cannery/image/context/seal-layer"


@pytest.mark.parametrize("simulate", [False, True])
def test_a_mode_of_a_program_of_the_build_is_a_change(simulate: bool) -> None:
    copied = "FROM x\nCOPY --from=cannery seal-layer /bin/\n"
    dockerfiles = {f"images/{name}/Dockerfile": copied for name in ("full", "bare")}
    texts = {**TEXTS, **dockerfiles, PROGRAM: "#!/bin/sh"}
    found = [
        Commit(entries={**COMMIT.entries, **dockerfiles, PROGRAM: f"{mode} blob 1"}, texts=texts)
        for mode in ("100644", "100755")
    ]
    why = "changed: cannery/seal-layer"
    assert said(*found, simulate=simulate) == {"full": why, "bare": why}
