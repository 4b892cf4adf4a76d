# SPDX-License-Identifier: Apache-2.0
"""publish.yaml: the tags it makes, and each wrong thing in it at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.matrix.matrix import Matrix
from cannery.publish.policy import Publishing, Trial, load
from tests.unit import matrices
from tests.unit.matrices import edited

TEXT = """\
schema: 1
repository: team/ascend
tags:
  immutable: "{target}-{key}"
  moving: "{target}"
aliases:
  latest: full
  newest: full
indexes: {}
trials:
  bare: {title: Try it, url: https://platform.example.com/trials/1}
"""
KEY = "sha256:" + "0123456789abcdef" * 4

TWO = """\
  full-x86:
    summary: everything there is
    platform: linux/amd64
    base: debian-11
    python: base-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}
    torch: 2.3.1
    torch_npu: 2.3.1.post2
    apex: 0.1+ascend
    deepspeed: 0.15.0
"""


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return matrices.load(tmp_path, matrices.MATRIX + TWO)


def read(folder: Path, matrix: Matrix, text: str = TEXT) -> Publishing:
    path = folder / "publish.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, matrix)


@pytest.mark.parametrize(
    ("named", "key"),
    [
        ("", ""),
        ("signed_with: keys/cosign.pub", "{folder}/keys/cosign.pub"),
        ("signed_with: /etc/cosign.pub", "/etc/cosign.pub"),
        ("signed_with: awskms:///alias/ascend", "awskms:///alias/ascend"),
    ],
)
def test_the_key_of_promoted_images_is_beside_the_file(
    tmp_path: Path, matrix: Matrix, named: str, key: str
) -> None:
    policy = read(tmp_path, matrix, TEXT + named)
    assert policy.signed_with == key.format(folder=tmp_path)


def test_the_tags_of_a_target(tmp_path: Path, matrix: Matrix) -> None:
    found = read(tmp_path, matrix)
    assert found.repository == "team/ascend"
    assert found.immutable_tag("full", KEY, simulate=False) == "full-0123456789ab"
    assert found.moving_tags("full", simulate=False) == ("full", "latest", "newest")
    assert found.moving_tags("bare", simulate=False) == ("bare",)
    assert found.trials == {
        "bare": Trial(title="Try it", url="https://platform.example.com/trials/1")
    }


def test_a_simulated_image_has_tags_of_its_own_and_no_alias(tmp_path: Path, matrix: Matrix) -> None:
    found = read(tmp_path, matrix)
    assert found.immutable_tag("full", KEY, simulate=True) == "full-0123456789ab-sim"
    assert found.moving_tags("full", simulate=True) == ("full-sim",)
    assert found.index_tag("both", simulate=True) == "both-sim"


def test_an_index_over_platforms(tmp_path: Path, matrix: Matrix) -> None:
    text = edited("indexes: {}", "indexes:\n  both: [full, full-x86]", TEXT)
    assert read(tmp_path, matrix, text).indexes == {"both": ("full", "full-x86")}


def of_both_platforms(folder: Path) -> Matrix:
    summary = "    summary: everything there is\n"
    text = matrices.MATRIX.replace(
        f"{summary}    platform: linux/arm64\n",
        f"{summary}    platforms: [linux/arm64, linux/amd64]\n",
    )
    return matrices.load(folder, text)


def test_a_target_of_two_platforms_has_one_more_tag_for_both(tmp_path: Path) -> None:
    matrix = of_both_platforms(tmp_path)
    found = read(tmp_path, matrix)
    assert found.indexes == {"full-multi": ("full", "full-amd64")}
    assert found.moving_tags("full", simulate=False)[0] == "full"
    text = edited('moving: "{target}"', 'moving: "{target}"\n  platforms: "{target}-all"', TEXT)
    assert [*read(tmp_path, matrix, text).indexes] == ["full-all"]


def test_the_tag_for_both_platforms_must_be_free(tmp_path: Path) -> None:
    text = edited("newest: full", "full-multi: full", TEXT)
    with pytest.raises(MatrixError, match="'full-multi' is already the tag of the alias"):
        read(tmp_path, of_both_platforms(tmp_path), text)


def test_optional_keys_may_be_missing(tmp_path: Path, matrix: Matrix) -> None:
    found = read(tmp_path, matrix, TEXT.partition("aliases:")[0])
    assert (found.aliases, found.indexes, found.trials) == ({}, {}, {})


# old text, new text, what is said
WRONG = {
    "schema": ("schema: 1", "schema: 2", "publish.yaml:1:9: schema: schema 2 is of a newer"),
    "repository": (
        "team/ascend",
        "Team/ascend",
        "2:13: repository: invalid repository name",
    ),
    "registry": ("team/ascend", "host:5000/ascend", "invalid repository name 'host:5000/ascend'"),
    "no key": (
        '"{target}-{key}"',
        '"{target}"',
        "4:14: tags.immutable: '{target}' must contain {target} and {key}",
    ),
    "other": ('"{target}"', '"{target}{date}"', "must contain {target}, and nothing else"),
    "form": ('"{target}"', '"{target!r}"', "must contain {target}, and nothing else"),
    "brace": ('"{target}"', '"{target"', "must contain {target}, and nothing else"),
    "owner": (
        "latest: full",
        "latest: ful",
        "7:11: aliases.latest: there is no target 'ful'.",
    ),
    "alias": ("latest: full", "-latest: full", "invalid tag '-latest'"),
    "invalid": (
        '"{target}-{key}"',
        '"{target}+{key}"',
        "'full+000000000000' would be an invalid tag",
    ),
    "clash": (
        "latest: full",
        "bare: full",
        "7:9: aliases.bare: 'bare' is already the tag",
    ),
    "clash with -sim": (
        "latest: full",
        "bare-sim: full",
        "'bare-sim' is already the tag of target bare",
    ),
    "later": ("latest: full", "bare-0123456789ab: full", "could be the immutable tag of an image"),
    "same rules": ('moving: "{target}"', 'moving: "{target}-0123456789ab"', "could be the immu"),
    "index": (
        "indexes: {}",
        "indexes: {both: [full, full-x8]}",
        "there is no target 'full-x8'. Did",
    ),
    "one": ("indexes: {}", "indexes: {both: [full]}", "the index 'both' needs two or more targets"),
    "platform": (
        "indexes: {}",
        "indexes: {both: [full, bare]}",
        "needs one target for each platform",
    ),
    "content": ("indexes: {}", "indexes: {both: [bare, full-x86]}", "differ in more than their"),
    "index clash": (
        "indexes: {}",
        "indexes: {latest: [full, full-x86]}",
        "already the tag of the alias",
    ),
    "trial": ("  bare: {", "  bar: {", "there is no target 'bar'. Did you mean 'bare'?"),
    "link": ("https://platform", "javascript:platform", "invalid URL"),
}


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_one_problem(tmp_path: Path, matrix: Matrix, old: str, new: str, said: str) -> None:
    text = TEXT.replace(old, new, 1) if old == '"{target}"' else edited(old, new, TEXT)
    with pytest.raises(MatrixError) as caught:
        read(tmp_path, matrix, text)
    assert said in str(caught.value)


def test_all_problems_at_once(tmp_path: Path, matrix: Matrix) -> None:
    text = edited("team/ascend", "Team", edited("latest: full", "latest: none", TEXT))
    with pytest.raises(MatrixError) as caught:
        read(tmp_path, matrix, text)
    assert len(caught.value.problems) == 2


def test_without_the_file_a_target_has_the_usual_tags_and_no_repository(
    tmp_path: Path, matrix: Matrix
) -> None:
    usual = load(tmp_path / "publish.yaml", matrix)
    assert usual.repository == ""
    assert usual.moving_tags("full", simulate=False) == ("full",)
    assert usual.immutable_tag("full", "0123456789abcdef", simulate=True) == "full-0123456789ab-sim"
    (tmp_path / "publish.yaml").write_text("schema: 1\nrepository: ascend\n", encoding="utf-8")
    least = load(tmp_path / "publish.yaml", matrix)
    assert (least.immutable, least.moving) == (usual.immutable, usual.moving)
