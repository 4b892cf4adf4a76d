# SPDX-License-Identifier: Apache-2.0
"""Tags by the naming schemes of other publishers, as publish.yaml lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.matrix.matrix import Matrix
from cannery.publish.policy import Publishing, load
from tests.unit import matrices

START = 'schema: 1\nrepository: ascend\ntags: {immutable: "{target}-{key}", moving: "{target}"}\n'
NEWER = """\
  newer:
    summary: the newer torch on the same CANN
    platform: linux/arm64
    base: debian-11
    python: base-python
    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}
    torch: 2.10.0
    torch_npu: 2.10.0
    unverified: only for the name of its tag
"""
SHORT = "{cann}-{chip}-{os}-py{python}"


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return matrices.load(tmp_path, matrices.MATRIX + NEWER)


def read(folder: Path, matrix: Matrix, *schemes: str, more: str = "") -> Publishing:
    path = folder / "publish.yaml"
    listed = "".join(f'  - "{scheme}"\n' for scheme in schemes)
    path.write_text(f"{START}{more}schemes:\n{listed}", encoding="utf-8")
    return load(path, matrix)


def test_a_tag_goes_to_the_target_with_the_newest_torch(tmp_path: Path, matrix: Matrix) -> None:
    found = read(tmp_path, matrix, SHORT)
    assert found.moving_tags("newer", simulate=False) == ("newer", "8.0.RC2-910b-debian11-py3.9")
    assert found.moving_tags("full", simulate=False) == ("full",)


def test_a_simulated_image_has_no_such_tag(tmp_path: Path, matrix: Matrix) -> None:
    assert read(tmp_path, matrix, SHORT).moving_tags("newer", simulate=True) == ("newer-sim",)


def test_only_targets_with_all_fields_of_a_scheme_have_its_tag(
    tmp_path: Path, matrix: Matrix
) -> None:
    found = read(tmp_path, matrix, "torch{torch}-deepspeed{deepspeed}")
    with_both = {t.id for t in matrix.targets.values() if t.deepspeed and t.torch}
    assert {*found.by_scheme.values()} <= with_both
    assert "torch2.10.0-deepspeed" not in "".join(found.by_scheme)
    assert not read(tmp_path, matrix, "{application}-{cann}").by_scheme


def test_an_alias_gives_such_a_tag_to_another_target(tmp_path: Path, matrix: Matrix) -> None:
    tag = "8.0.RC2-910b-debian11-py3.9"
    found = read(tmp_path, matrix, SHORT, more=f"aliases: {{{tag}: full}}\n")
    assert tag in found.moving_tags("full", simulate=False)
    assert tag not in found.moving_tags("newer", simulate=False)


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("ascend", "'ascend' must contain fields in braces"),
        ("{cann", "'{cann' must contain fields in braces"),
        ("{cann!r}", "must contain fields in braces"),
        ("{can}-{chip}", "there is no field 'can'. Did you mean 'cann'?"),
        ("{cann}/{chip}", "'8.0.RC2/910b' would be an invalid tag of"),
    ],
)
def test_wrong_schemes(tmp_path: Path, matrix: Matrix, scheme: str, said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        read(tmp_path, matrix, scheme)
    assert said in str(caught.value)
    assert re.search(r"publish\.yaml:\d+", str(caught.value))


def test_the_tag_of_another_target_is_refused(tmp_path: Path) -> None:
    text = matrices.MATRIX + NEWER.replace("  newer:", "  full-910b:")
    matrix = matrices.load(tmp_path, text)
    with pytest.raises(MatrixError, match=r"'full-910b' of .* is already the tag of target"):
        read(tmp_path, matrix, "full-{chip}")
