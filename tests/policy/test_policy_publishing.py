# SPDX-License-Identifier: Apache-2.0
"""What holds for the tags of the real targets."""

from __future__ import annotations

import re
from collections import Counter

from cannery.publish.policy import load
from tests.policy.conftest import PROJECT, TARGETS

POLICY = load(PROJECT.root / "publish.yaml", PROJECT.matrix())
KEY = "sha256:" + "0123456789abcdef" * 4
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def every_tag() -> list[str]:
    """Each tag once for each target that would write it."""
    found = [*POLICY.indexes]
    for target in TARGETS:
        for simulate in (False, True):
            found.append(POLICY.immutable_tag(target, KEY, simulate=simulate))
            found += POLICY.moving_tags(target, simulate=simulate)
    return found


def test_every_tag_has_one_owner() -> None:
    assert [tag for tag, count in Counter(every_tag()).items() if count > 1] == []


def test_every_tag_is_valid_for_registries() -> None:
    assert [tag for tag in every_tag() if not TAG.fullmatch(tag)] == []


def test_every_alias_is_moved_by_its_owner_only() -> None:
    for alias, owner in POLICY.aliases.items():
        movers = [
            target for target in TARGETS if alias in POLICY.moving_tags(target, simulate=False)
        ]
        assert movers == [owner]


def test_an_immutable_tag_names_one_content() -> None:
    other = KEY.replace("0123", "3210", 1)
    for target in TARGETS:
        tag = POLICY.immutable_tag(target, KEY, simulate=False)
        assert "0123456789ab" in tag
        assert tag != POLICY.immutable_tag(target, other, simulate=False)


def test_nothing_simulated_can_take_a_real_image_s_tag() -> None:
    for target in TARGETS:
        simulated = {POLICY.immutable_tag(target, KEY, simulate=True)}
        simulated |= {*POLICY.moving_tags(target, simulate=True)}
        assert all(tag.endswith("-sim") for tag in simulated)
