# SPDX-License-Identifier: Apache-2.0
"""A target that takes torch from an index of its makers, in a build for another device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.image.render import Renderer
from cannery.lock.requirements import Requirements
from tests.unit.matrices import Checkout, edited, load, lock_for

INDEX = "torch_indexes:\n  cpu: {url: https://example.com/whl/cpu, local: cpu}\n\ntargets:\n"
TEXT = edited("targets:\n", INDEX)
TEXT = edited("    torch: 2.3.1\n", "    torch: 2.3.1\n    torch_index: cpu\n", TEXT)


def test_torch_has_the_local_version_of_its_index(tmp_path: Path) -> None:
    targets = load(tmp_path, TEXT).targets
    full, without = targets["full"], replace(targets["full"], torch_index=None)
    assert Requirements(full).groups["torch"] == ("torch==2.3.1+cpu",)
    assert Requirements(without).groups["torch"] == ("torch==2.3.1",)
    assert full.components == without.components
    assert Requirements(full).digest != Requirements(without).digest
    beside = replace(full, extras={"torchvision": "0.18.1", "ray": "2.40.0"})
    groups = Requirements(beside).groups
    assert groups["torchvision"] == ("torchvision==0.18.1+cpu",)
    assert groups["ray"] == ("ray==2.40.0",)


def test_wheels_are_looked_for_in_both_indexes(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    full = load(tmp_path / "other", TEXT).targets["full"]
    checkout.lock(full, lock_for(full).replace("torch==2.3.1 ", "torch==2.3.1+cpu "))
    text = Renderer(checkout.project).render(full).files["Dockerfile"]
    options = " ".join(Requirements(full).index_options)
    assert options == "--index https://example.com/whl/cpu --index-strategy unsafe-best-match"
    installs = [line for line in text.splitlines() if "install-wheels --lock " in line]
    assert installs
    assert all(f" {options}" in line for line in installs)


def test_a_lock_of_the_other_build_is_out_of_date(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    full = load(tmp_path / "other", TEXT).targets["full"]
    checkout.lock(full, lock_for(full))
    with pytest.raises(MatrixError, match=r"torch==2.3.1\+cpu is locked as 2.3.1"):
        Renderer(checkout.project).render(full)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("torch_index: cpu", "torch_index: cpp", "there is no index of torch 'cpp'. Did you mean"),
        (
            "https://example.com/whl/cpu",
            "example.com/cpu",
            "'example.com/cpu' is not a web address",
        ),
        ("local: cpu", "local: +cpu", "'+cpu' is not a local version. Write it as in"),
    ],
)
def test_a_wrong_index(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        load(tmp_path, edited(old, new, TEXT))
    assert said in str(caught.value)


def test_an_unused_index_is_reported(tmp_path: Path) -> None:
    text = edited("    torch_index: cpu\n", "", TEXT)
    assert "torch_indexes: cpu" in load(tmp_path, text).unused
