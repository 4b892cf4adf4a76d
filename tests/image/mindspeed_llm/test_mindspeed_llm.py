# SPDX-License-Identifier: Apache-2.0
"""MindSpeed-LLM, with MindSpeed and Megatron at matching commits."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]


def test_imports(probe: Any) -> None:
    """MindSpeed, Megatron and MindSpeed-LLM import, MindSpeed first as it patches the others."""
    names = ("torch", "torch_npu", "mindspeed.megatron_adaptor", "megatron.core", "mindspeed_llm")
    answer = probe("imports", *names)
    assert [answer[name]["error"] for name in names] == [""] * len(names)
