# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.errors import MatrixError
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import Use, VersionChange, find_uses, rewrite
from tests.unit.compat_targets import changed

TEXT = """\
# Überschrift
families:
  both:
    id: "{torch}-{chip}"
    axes:
      torch:
        new: {torch_npu: 2.9.0, deepspeed: 0.18.4}   # both here: 2.9.0
        old: {torch_npu: "2.9.0"}
      chip:
        a: {summary: "ä", torch: 2.9.0}
        b: {torch: &torch 2.9.0}
    overrides:
      old-b: {torch_npu: {replace: 2.9.0}}

targets:
  one:   # the first
    torch: *torch
    torch_npu: 2.9.0
"""
NAMES = ("new-a", "new-b", "old-a", "old-b", "one", "elsewhere")
MATRIX = Matrix(targets={name: changed(id=name) for name in NAMES})


def uses(text: str = TEXT) -> dict[tuple[str, ...], Use]:
    found = find_uses(text, MATRIX, ["torch_npu", "deepspeed"])
    return {(use.key, *(target.id for target in use.targets)): use for use in found}


def test_every_place_of_a_version_with_its_targets() -> None:
    assert {names: (use.version, str(use.where)) for names, use in uses().items()} == {
        ("torch_npu", "new-a", "new-b"): ("2.9.0", "matrix.yaml:7:26"),
        ("torch_npu", "old-a"): ("2.9.0", "matrix.yaml:8:26"),
        ("torch_npu", "old-b"): ("2.9.0", "matrix.yaml:13:36"),
        ("torch_npu", "one"): ("2.9.0", "matrix.yaml:18:16"),
        ("deepspeed", "new-a", "new-b"): ("0.18.4", "matrix.yaml:7:44"),
    }


def test_an_anchor_and_its_aliases_are_one_place() -> None:
    [first, second] = find_uses(TEXT, MATRIX, ["torch"])
    assert [target.id for target in first.targets] == ["new-a", "old-a"]
    assert [target.id for target in second.targets] == ["new-b", "old-b", "one"]
    assert "{torch: &torch 2.9.1}" in rewrite(TEXT, [VersionChange(use=second, version="2.9.1")])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("names", "line"),
    [
        (("torch_npu", "new-a", "new-b"), 7),
        (("torch_npu", "old-a"), 8),
        (("torch_npu", "old-b"), 13),
        (("torch_npu", "one"), 18),
    ],
)
def test_only_the_version_changes(names: tuple[str, ...], line: int, newline: str) -> None:
    text = TEXT.replace("\n", newline)
    lines = text.splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace("2.9.0", "2.9.0.post12", 1)
    after = rewrite(text, [VersionChange(use=uses(text)[names], version="2.9.0.post12")])
    assert after == "".join(lines)


def test_two_versions_on_one_line() -> None:
    moves = [
        VersionChange(use=use, version=f"{use.version}.post1")
        for names, use in uses().items()
        if "new-a" in names
    ]
    assert len(moves) == 2
    assert (
        "new: {torch_npu: 2.9.0.post1, deepspeed: 0.18.4.post1}   # both here: 2.9.0\n"
        in rewrite(TEXT, moves)
    )


def test_an_escaped_version_cannot_be_changed() -> None:
    text = 'targets:\n  one: {torch_npu: "2.9\\u002e0"}\n'
    [use] = uses(text).values()
    assert use.version == "2.9.0"
    with pytest.raises(MatrixError, match=r"matrix\.yaml:2:20: cannot change torch_npu 2\.9\.0"):
        rewrite(text, [VersionChange(use=use, version="2.9.1")])
