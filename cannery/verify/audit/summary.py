# SPDX-License-Identifier: Apache-2.0
"""What an image is: in words, and as the record that the image tests read."""

from __future__ import annotations

from typing import Any

from cannery.common.model import MACHINE_OF
from cannery.verify.audit.config import ImageConfig, Origin
from cannery.verify.audit.found import Found

_COMPONENTS = {
    "torch": "torch",
    "torch_npu": "torch-npu",
    "apex": "apex",
    "deepspeed": "deepspeed",
    "mindspore": "mindspore",
}
"""Component of the image tests to its Python package."""

_SHOWN = ("triton", "triton-ascend", "vllm", "vllm-ascend", "transformers", "numpy")


def describe(found: Found, config: ImageConfig) -> dict[str, str]:
    """What the image is, for people, in the order of a report."""
    cann = found.cann
    what = {
        "image": _origin(config),
        "architecture": found.machine or config.architecture,
        "system": found.os.get("pretty_name") or found.os.get("id", ""),
        "libc": found.libc,
        "python": f"{found.python} ({found.interpreter})" if found.python else "",
        "CANN toolkit": f"{cann.toolkit} ({cann.folder})" if cann else "",
        "kernels": f"{cann.kernels} for {', '.join(cann.chips)}".strip() if cann else "",
        "NNAL": cann.nnal if cann else "",
        "stand-ins": "CANN is simulated" if cann and cann.stand_ins else "",
        **{name: found.versions.get(each, "") for name, each in _COMPONENTS.items()},
        **{name: found.versions.get(name, "") for name in _SHOWN},
        "user": config.user or "root",
        "entrypoint": " ".join(config.entrypoint),
        "not found out": "; ".join(f"{n}: {why}" for n, why in found.failed.items()),
    }
    return {name: text for name, text in what.items() if text}


def _origin(config: ImageConfig) -> str:
    target = config.label("target")
    if config.origin is Origin.FOREIGN:
        return "not made by cannery"
    if config.origin is Origin.OURS:
        return f"target {target} of cannery"
    steps = config.later_steps
    if steps is None:
        return f"made from target {target} of cannery, or it; the history does not say"
    return f"made from target {target} of cannery, with {len(steps)} more steps"


def record_of(found: Found, config: ImageConfig) -> dict[str, Any]:
    """The record with which the image tests compare the image.

    That of a cannery image is in it, and is what it, and images made from it, must have; that of
    another image says what was found, so that only what can be used is tested.
    """
    if found.own_record and config.origin is not Origin.FOREIGN:
        return dict(found.own_record)
    cann = found.cann
    components = {name: found.versions.get(each, "") for name, each in _COMPONENTS.items()}
    components |= {"toolkit": cann.toolkit if cann else ""}
    torch = components["torch"].partition("+")[0]
    return {
        "id": config.reference,
        "platform": config.platform,
        "machine": MACHINE_OF.get(config.architecture, config.architecture),
        "components": {n: v for n, v in (components | {"torch": torch}).items() if v},
        "operators": cann.operators[0] if cann and cann.operators else "",
        "site_packages": found.folders.get("torch", ""),
    }
