# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.compat import check_target
from cannery.model import Target, VendorWheel
from tests.unit.matrices import Checkout

PLUGIN = VendorWheel(version="0.9.2", file="plugin.whl", origin="its makers")


def changed(target: Target, changes: dict[str, Any]) -> Target:
    return replace(target, **changes)


@pytest.fixture
def full(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


@pytest.mark.parametrize(
    ("torch", "torch_npu"),
    [
        ("2.3.1", "2.3.1"),
        ("2.3.1", "2.3.1.post2"),
        ("2.6.0", "2.6.0rc1"),
        ("2.1.0", "2.1.0.post13"),
    ],
)
def test_a_pair_that_works(full: Target, torch: str, torch_npu: str) -> None:
    assert not [*check_target(replace(full, torch=torch, torch_npu=torch_npu))]


@pytest.mark.parametrize(
    ("torch", "torch_npu", "fix"),
    [
        ("2.1.0", "2.3.1.post2", "Take a torch_npu 2.1.0, or torch 2.3.1."),
        ("2.3.0", "2.3.1", "Take a torch_npu 2.3.0, or torch 2.3.1."),
        ("2.3.1", "2.1.0.post6", "Take a torch_npu 2.3.1, or torch 2.1.0."),
    ],
)
def test_a_pair_that_cannot_work(full: Target, torch: str, torch_npu: str, fix: str) -> None:
    [(key, problem)] = check_target(replace(full, torch=torch, torch_npu=torch_npu))
    assert (key, problem.fix) == ("torch_npu", fix)
    assert f"cannot be imported with torch {torch}" in problem.what


@pytest.mark.parametrize("key", ["torch", "torch_npu", "deepspeed"])
@pytest.mark.parametrize("text", ["latest", "2", "2.3", "v2.3.1", "02.3.1", "2.3.1-post2"])
def test_what_is_no_full_version(full: Target, key: str, text: str) -> None:
    [(where, problem)] = check_target(changed(full, {key: text}))
    assert where == key
    assert f"{text!r} is no full version" in problem.what


@pytest.mark.parametrize(
    ("deepspeed", "plugin", "said"),
    [
        ("", None, ""),
        ("0.6.0", PLUGIN, ""),
        ("0.9.2", PLUGIN, ""),
        ("0.10.1", None, ""),
        ("0.15.0", None, ""),
        ("0.6.0", None, "needs the deepspeed_npu plugin"),
        ("0.9.2", None, "needs the deepspeed_npu plugin"),
        ("0.9.3", None, "does not find the NPU, and no plugin exists"),
        ("0.10.0", None, "does not find the NPU, and no plugin exists"),
        ("0.9.3", PLUGIN, "takes none"),
        ("0.15.0", PLUGIN, "takes none"),
    ],
)
def test_which_deepspeed_takes_a_plugin(
    full: Target, deepspeed: str, plugin: VendorWheel | None, said: str
) -> None:
    found = [*check_target(replace(full, deepspeed=deepspeed, deepspeed_plugin=plugin))]
    assert len(found) == bool(said)
    assert all(key == "deepspeed" and said in problem.what for key, problem in found)
