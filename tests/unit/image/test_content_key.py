# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from cannery.image.content_key import content_key


@dataclass(frozen=True, kw_only=True)
class Content:
    files: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    simulate: bool = False

    def key(self) -> str:
        return content_key(self.files, self.artifacts, self.bases, simulate=self.simulate)


FULL = Content(
    files={"Dockerfile": "FROM x", "wheels/torch.txt": "torch"},
    artifacts={"toolkit": "01"},
    bases={"BASE_IMAGE": "debian@sha256:1"},
)

OTHERS = {
    "another text": replace(FULL, files={**FULL.files, "Dockerfile": "FROM y"}),
    "another file": replace(FULL, files={**FULL.files, "guard/uv": ""}),
    "a text under another name": replace(FULL, files={"Dockerfile": "FROM x", "w": "torch"}),
    "a file less": replace(FULL, files={"Dockerfile": "FROM x"}),
    "another artifact": replace(FULL, artifacts={"toolkit": "02"}),
    "an artifact of another component": replace(FULL, artifacts={"kernels": "01"}),
    "another base": replace(FULL, bases={"BASE_IMAGE": "sha256:2"}),
    "a base for something else": replace(FULL, bases={"TOOL_IMAGE": "debian@sha256:1"}),
    "simulated": replace(FULL, simulate=True),
    "nothing": Content(),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_everything_counts(other: Content) -> None:
    assert other.key() != FULL.key()


def test_keys_are_all_different_and_look_alike() -> None:
    keys = {each.key() for each in [FULL, *OTHERS.values()]}
    assert len(keys) == len(OTHERS) + 1
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", key) for key in keys)


def test_order_and_what_the_build_does_not_see_do_not_count() -> None:
    turned = dict(reversed([*FULL.files.items()]))
    assert replace(FULL, files=turned).key() == FULL.key()
    assert replace(FULL, files={**FULL.files, "compose.yaml": "x"}).key() == FULL.key()
