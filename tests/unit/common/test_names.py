# SPDX-License-Identifier: Apache-2.0
"""The names of images, which users, workflows and registries know and which must not change."""

from __future__ import annotations

import pytest

from cannery.common.image_names import cache_name, image_name, image_tag, tag_end


@pytest.mark.parametrize(
    ("simulate", "end"), [(False, ""), (True, "-sim")], ids=["real", "simulated"]
)
def test_the_tag_of_a_simulated_image_has_an_ending(simulate: bool, end: str) -> None:
    assert tag_end(simulate=simulate) == end
    assert image_tag("full", simulate=simulate) == "full" + end
    assert image_name("full", simulate=simulate) == "cannery:full" + end


@pytest.mark.parametrize(
    ("cache", "name"),
    [
        ("r.test/cache", "r.test/cache:full-sim"),
        ("r.test:5000/cache", "r.test:5000/cache:full-sim"),
        ("r.test:5000/cache:v1", "r.test:5000/cache:v1-full-sim"),
        ("cache", "cache:full-sim"),
        ("r.test/{target}/cache", "r.test/full-sim/cache"),
        ("r.test/cache:{target}-1", "r.test/cache:full-sim-1"),
    ],
)
def test_each_target_has_a_cache_of_its_own(cache: str, name: str) -> None:
    assert cache_name(cache, "full-sim") == name
