# SPDX-License-Identifier: Apache-2.0
"""Which targets can be recommended: by one source for all of it, and nothing that has ended."""

from __future__ import annotations

import re

from packaging.version import Version

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.model import TRITON_ASCEND, Target
from cannery.compat.facts import Compat, MindSpore, Pairing
from cannery.compat.finding import lifetimes_of
from cannery.compat.requested import requested
from cannery.compat.sources import Kind

_UNSOURCED = ("apex", "msprobe")
"""Components that no source names beside a torch_npu and a CANN."""


def whole_source(target: Target, compat: Compat) -> Pairing | MindSpore | None:
    """The row of a maker or a project that has all of ``target`` together; None for none.

    All is: the chip, where the row names chips; Python, CANN, torch, torch_npu, DeepSpeed,
    triton-ascend, Mooncake and the application; or MindSpore and CANN. A row may have more. What
    follows from torch's own metadata, as torchvision, is not asked for.
    """
    release = target.cann
    if release.interim or {target.kernels.version, target.nnal.version} != {release.version}:
        return None
    cann, minor = CannVersion.parse(release.version), target.python.minor
    if not target.torch:
        named = [each.requirement.specifier for each in requested(target).get("mindspore", ())]
        versions = [
            row
            for row in compat.mindspore
            if row.cann == cann and (not row.pythons or minor in row.pythons)
        ]
        return next((row for row in versions for each in named if row.version in each), None)
    if any(target.components.get(name) for name in _UNSOURCED):
        return None
    fitting = (row for row in compat.pairings if row.cann == cann and _has(row, target))
    return next(
        (row for row in fitting if any(s.kind is not Kind.REPORT for s in row.sources)), None
    )


def _has(row: Pairing, target: Target) -> bool:
    application, triton = target.application, target.extras.get(TRITON_ASCEND, "")
    return (
        (row.torch, row.torch_npu) == (target.torch, target.torch_npu)
        and not row.beta
        and target.python.minor in (row.wheels_pythons or row.pythons)
        and (not row.chips or target.chip in row.chips)
        and (not target.deepspeed or row.deepspeed == target.deepspeed)
        and (not triton or row.triton_ascend == triton)
        and target.extras.get("mooncake", "") in ("", row.mooncake)
        and (
            not application
            or plain_app(row.app) == plain_app(f"{application.component} v{application.version}")
        )
    )


def plain_app(app: str) -> str:
    """As in ``vllm v0.18.0`` for ``vllm-ascend v0.18.0``, the plugin of that vLLM."""
    return re.sub(r"[-_]", "", app.lower()).replace("vllmascend", "vllm")


def has_ended(target: Target, compat: Compat) -> bool:
    """Whether its base, its torch_npu or an archive's Python was no longer maintained.

    The day is the last one on which a document of compat.yaml was read, so that the files decide.
    """
    today = max((source.read for source in compat.sources.values()), default="")
    ends = lifetimes_of(target, compat)
    if target.python.source is PythonSource.BASE:
        ends.pop("python", None)
    return any(row is not None and "" < row.ends < today for row in ends.values())


def rank(target: Target) -> tuple[bool, CannVersion, Version, int]:
    """Those with DeepSpeed first, then the newest CANN, the newest torch, the most components."""
    cann = CannVersion.parse(target.cann.version)
    return bool(target.deepspeed), cann, Version(target.torch or "0"), len(target.components)
