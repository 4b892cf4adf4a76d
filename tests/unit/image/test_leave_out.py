# SPDX-License-Identifier: Apache-2.0
"""What images go without, and targets that keep it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.image.render import Renderer
from tests.unit.described import described
from tests.unit.matrices import MATRIX, edited, load, make_checkout

LEAVE_OUT = """
leave_out:
  tests: ["*-packages/numpy/tests", usr/lib/test]
  static: ["usr/lib/*.a"]
"""


def with_keep(keep: str) -> str:
    return edited("    torch: 2.3.1\n", f"    torch: 2.3.1\n    keep: {keep}\n") + LEAVE_OUT


def test_a_target_leaves_out_everything_except_its_kept_parts(tmp_path: Path) -> None:
    target = load(tmp_path, MATRIX + LEAVE_OUT).targets["full"]
    assert target.leave_out == ("*-packages/numpy/tests", "usr/lib/test", "usr/lib/*.a")
    target = load(tmp_path, with_keep("[tests]")).targets["full"]
    assert target.leave_out == ("usr/lib/*.a",)
    assert load(tmp_path, MATRIX).targets["full"].leave_out == ()


def test_the_patterns_by_which_the_layers_are_made(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path, with_keep("[static]"))
    files = Renderer(checkout.project).render(checkout.target()).files
    assert described(files)["leave-out"] == "*-packages/numpy/tests\nusr/lib/test\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_keep("[test]"), "there is no part to leave out 'test'. Did you mean 'tests'?"),
        (with_keep("tests"), "targets.full.keep: this must be a list."),
        (MATRIX + "\nleave_out: {all: [/usr]}\n", "'/usr' is not a pattern of paths"),
        (MATRIX + "\nleave_out: {all: ['usr/a b']}\n", "'usr/a b' is not a pattern of paths"),
        (MATRIX + "\nleave_out: {all: usr}\n", "leave_out.all: this must be a list."),
        (MATRIX + "\nleave_out: [usr]\n", "leave_out: this must be a mapping"),
    ],
    ids=["unknown", "no list", "absolute", "space", "no patterns", "no mapping"],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        load(tmp_path, text)
    [problem] = caught.value.problems
    assert said in problem.what + " " + problem.fix
    assert problem.where
