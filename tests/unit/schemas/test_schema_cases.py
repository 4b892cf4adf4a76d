# SPDX-License-Identifier: Apache-2.0
"""What a schema says of keys that are required only in some cases."""

from __future__ import annotations

import pytest

from tests.unit.families import FAMILY
from tests.unit.matrices import MATRIX, edited
from tests.unit.schemas.editors import validator, values

ARCHIVE = "{file: a.tar.gz, origin: its makers}"

# old text, new text; the matrix is refused with it
REFUSED = {
    "the base of a Debian Python": (
        "    source: debian\n    base: debian-11\n",
        "    source: debian\n",
    ),
    "an archive of a Debian Python": (
        "source: debian\n",
        f"source: debian\n    archive: {ARCHIVE}\n",
    ),
    "the public release of an interim one": ("    nearest_public: 8.0.RC3\n", ""),
    "torch_npu beside torch": ("    torch_npu: 2.3.1.post2\n", ""),
    "torch beside torch_npu": ("    torch: 2.3.1\n", ""),
    "an unknown platform": (
        "everything there is\n    platform: linux/arm64",
        "everything there is\n    platform: linux/aarch64",
    ),
    "an unknown layout": (
        "8.0.RC2:\n    layout: ascend-toolkit",
        "8.0.RC2:\n    layout: ascend-tools",
    ),
    "targets or families": ("\ntargets:\n", "\nfamilies: []\ntargets:\n"),
}
ACCEPTED = {
    "the release edition": (
        "8.0.RC2:\n    layout",
        "8.0.RC2:\n    edition: release\n    nearest_public: 8.0.RC2\n    layout",
    ),
    "no torch at all": ("    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n", ""),
    "families beside targets": ("\ntargets:\n", f"\n{FAMILY}\ntargets:\n"),
    "a number as a text": ("suite: bullseye", "suite: 11"),
    "a date as a text": ("suite: bullseye", "suite: 2026-08-21"),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_refused(old: str, new: str) -> None:
    assert not validator("matrix.yaml").is_valid(values(edited(old, new)))


@pytest.mark.parametrize(("old", "new"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(old: str, new: str) -> None:
    assert validator("matrix.yaml").is_valid(values(edited(old, new)))


def test_families_stand_for_targets() -> None:
    head = MATRIX.partition("targets:")[0]
    assert not validator("matrix.yaml").is_valid(values(head))
    assert validator("matrix.yaml").is_valid(values(head + FAMILY))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("summary: one of many", "sumary: one of many"),
        ("deepspeed: 0.15.0", "deepspeed: [0.15.0]"),
        ("requirements: [tqdm, einops]", "requirements: {apend: [tqdm]}"),
        ("requirements: [tqdm, einops]", "requirements: {append: [tqdm], replace: []}"),
        ('id: "{python}-{pair}"', "name: many"),
    ],
)
def test_refused_in_a_family(old: str, new: str) -> None:
    text = MATRIX.partition("targets:")[0] + FAMILY
    assert not validator("matrix.yaml").is_valid(values(edited(old, new, text)))
