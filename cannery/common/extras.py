# SPDX-License-Identifier: Apache-2.0
"""Components that a target names by themselves: most are one package of a package index each."""

from __future__ import annotations

from collections.abc import Mapping

TRITON_ASCEND = "triton_ascend"
"""Its module has the name of triton's, whose files must not be installed over it; so it is last."""

HCCL_TEST = "hccl_test"
"""The toolkit's tests of collective communication: no package, but compiled from its sources."""

BESIDE_TORCH: Mapping[str, str] = {"torchvision": "torchvision", "torchaudio": "torchaudio"}
"""Component to its package; these are built for one torch."""

PAIRED = "paired"
"""In place of a version: the one that its maker made for the target's torch, by compat.yaml."""

TOOLS: Mapping[str, str] = {
    "msprobe": "mindstudio-probe",
    "mooncake": "mooncake-transfer-engine-npu",
    "ray": "ray",
}
"""Component to its package; these are installed before the application."""

EXTRAS: Mapping[str, str] = {**BESIDE_TORCH, **TOOLS, TRITON_ASCEND: "triton-ascend"}
"""Every such component, in the order of installation."""


def requirement_of(component: str, version: str) -> str:
    """The requirement by which an index has ``component``, as in ``torchvision==0.25.0``."""
    return f"{EXTRAS[component]}=={version}"
