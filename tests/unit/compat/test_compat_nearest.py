# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.model import Target
from cannery.compat.facts import Pairing
from cannery.compat.nearest import Suggestion, nearest
from tests.unit.compat_targets import COMPAT, cann, changed, problems, python

PAIRS = [row for row in COMPAT.pairings if row.torch_npu and not row.cann.is_interim]


def applied(target: Target, suggestion: Suggestion) -> Target:
    """``target`` with the changes made, and without what they are not about."""
    changes = dict(suggestion.changes)
    version = changes.get("cann", target.cann.version)
    release = cann(version, chip=target.chip)
    if "cann" not in changes:
        release = replace(release, interim=target.cann.interim)
        release = replace(release, nearest_public=target.cann.nearest_public)
    return replace(
        target,
        torch=changes.get("torch", target.torch),
        torch_npu=changes.get("torch_npu", target.torch_npu),
        python=python(changes["python"] + ".99") if "python" in changes else target.python,
        cann=release,
        with_nnal=False,
        apex=None,
        deepspeed="",
        deepspeed_plugin=None,
    )


@pytest.mark.parametrize(
    ("target", "first"),
    [
        (
            changed(torch_npu="2.3.1.post6"),
            "change torch_npu to 2.3.1.post2 (CANN 8.0.RC3, Ascend/pytorch@HEAD:COMPATIBILITY.md)",
        ),
        (changed(python=python("3.12.3")), "change python to 3.11 (CANN 8.0.RC3, "),
        (changed(cann=cann("8.0.RC1")), "change cann to 8.0.RC3 (Ascend/pytorch@HEAD"),
        (
            changed(torch="2.3.0", torch_npu="2.3.0"),
            "change torch_npu to 2.3.1.post2 and torch to 2.3.1 (CANN 8.0.RC3, ",
        ),
        (
            changed(cann=cann("8.0.T39", nearest_public="8.0.RC3"), torch_npu="2.3.1"),
            "change torch_npu to 2.3.1.post2 (CANN 8.0.RC3, ",
        ),
        (changed(torch="", torch_npu="nonsense"), "change torch_npu to"),
        (changed(cann=cann("nonsense")), "change cann to"),
    ],
)
def test_the_nearest_comes_first(target: Target, first: str) -> None:
    assert str(nearest(target, COMPAT)[0]).startswith(first)


def test_previews_and_builds_without_an_index_are_not_suggested() -> None:
    for each in nearest(changed(torch_npu="2.3.1.post6"), COMPAT, limit=99):
        combination = each.combination
        assert not combination.cann.is_preview
        assert "dev" not in combination.torch_npu
        assert "+" not in combination.torch_npu


@given(st.sampled_from(PAIRS), st.sampled_from(PAIRS), st.integers(7, 15))
def test_every_suggestion_works_and_is_the_same_each_time(
    row: Pairing, other: Pairing, minor: int
) -> None:
    release = cann(str(other.cann), chip="910b")
    versions = {"torch": row.torch, "torch_npu": row.torch_npu, "cann": release}
    target = changed(**versions, python=python(f"3.{minor}.9"))
    found = nearest(target, COMPAT)
    assert found == nearest(target, COMPAT)
    sizes = [len(each.changes) for each in found]
    assert sizes == sorted(sizes)
    for each in found:
        assert problems(applied(target, each)) == []
