# SPDX-License-Identifier: Apache-2.0
"""What projects pin in their own images: compat.yaml allows it, or says why it cannot work.

The pins are those of the files and commits that are named; read on 2026-11-21. Images for A3 build
vllm-ascend from its sources.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cannery.compat import Verdict
from tests.policy.conftest import PROJECT
from tests.unit.compat_targets import cann, changed, findings, problems, python

UBUNTU = next(
    target.base for target in PROJECT.matrix().targets.values() if "ubuntu2204" in target.id
)
"""The base of most of these images."""

NO_WHEEL = "package indexes have no wheel of triton-ascend 3.2.2"
"""These files take it from the vendor's index; a target declares its wheel."""


@dataclass(frozen=True, kw_only=True)
class Pins:
    """What a file installs. ``refused`` has a part of each message, where it cannot work."""

    python: str
    cann: str
    torch: str
    torch_npu: str
    chip: str = "910b"
    deepspeed: str = ""
    extras: dict[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


MAKERS = {
    "vllm-ascend Dockerfile@000c02a": Pins(
        python="3.12",
        cann="9.1.0",
        torch="2.10.0",
        torch_npu="2.10.0.post4",
        extras={"mooncake": "0.3.11.post1", "ray": "2.48.0", "triton_ascend": "3.2.2"},
        refused=(NO_WHEEL,),
    ),
    "verl Dockerfile.ascend_9.1.0_a3@1b0be36, with the index's wheel of vllm-ascend": Pins(
        python="3.12",
        cann="9.1.0",
        chip="a3",
        torch="2.10.0",
        torch_npu="2.10.0.post4",
        extras={"triton_ascend": "3.2.2"},
        requirements=("vllm-ascend==0.23.0",),
        refused=(
            NO_WHEEL,
            "are for 910b (A2), and on another chip check_ascend_device_type() stops",
        ),
    ),
    "verl sglang_8.5.0_a3@2c49b2a, with SGLang's own pin of torch": Pins(
        python="3.11",
        cann="8.5.0",
        chip="a3",
        torch="2.9.1",
        torch_npu="2.8.0.post2",
        refused=("was built for torch 2.8.0 and cannot be imported with torch 2.9.1",),
    ),
    "sglang docker/npu.Dockerfile@066209d": Pins(
        python="3.11",
        cann="8.5.0",
        chip="a3",
        torch="2.8.0",
        torch_npu="2.10.0",
        refused=("was built for torch 2.10.0 and cannot be imported with torch 2.8.0",),
    ),
    "LLaMA-Factory docker-npu@ff6d4d1": Pins(
        python="3.12",
        cann="9.1.0",
        torch="2.10.0",
        torch_npu="2.10.0.post2",
        deepspeed="0.18.4",
        extras={"torchvision": "0.25.0"},
    ),
    "VeOmni docker/ascend@5a46add, without triton-ascend": Pins(
        python="3.12",
        cann="9.1.0",
        chip="a3",
        torch="2.10.0",
        torch_npu="2.10.0.post4",
        requirements=("triton==3.5.0",),
        refused=("it is for CUDA and hides triton-ascend's module of the same name",),
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_pins_of_a_maker_are_allowed_or_refused_with_a_reason(name: str) -> None:
    pins = MAKERS[name]
    target = changed(
        base=UBUNTU,
        python=python(f"{pins.python}.1"),
        cann=cann(pins.cann, chip=pins.chip),
        chip=pins.chip,
        torch=pins.torch,
        torch_npu=pins.torch_npu,
        apex=None,
        deepspeed=pins.deepspeed,
        extras=pins.extras,
        requirements=pins.requirements,
    )
    said = problems(target)
    if pins.refused:
        assert len(said) == len(pins.refused), said
        assert all(any(part in each for each in said) for part in pins.refused), said
        return
    assert said == []
    shown = findings(target)["torch_npu"]
    assert shown.verdict in (Verdict.ALLOWED, Verdict.DISPUTED)
    assert shown.rows
