# SPDX-License-Identifier: Apache-2.0
"""The requirements of a target, in groups: one for each component that needs wheels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from cannery.common.model import TOOLS, TORCH_COMPANIONS, TRITON_ASCEND, Target, requirement_of
from cannery.common.wheels import WheelPlatform

PIP = "pip>=23"
"""The image's own pip, of a version that obeys constraints."""

SETUPTOOLS = "setuptools<81"
"""torch_npu up to 2.7.1 imports pkg_resources, which setuptools 82 removed."""

BUILT = "built-"
"""The beginning of the groups of wheels that are built from sdists; a component's name follows."""


def requirement_groups(target: Target) -> dict[str, tuple[str, ...]]:
    """Group name to its requirements. The group that changes most often is last."""
    groups = {
        "cann": target.cann.requirements,
        "torch": _torch(target),
        "torch_npu": _torch_npu(target),
        **_extras(target, TORCH_COMPANIONS),
        "pip": (PIP,),
        "py-spy": ("py-spy",),
        "deepspeed": _deepspeed(target),
        **_extras(target, TOOLS),
        **{BUILT + name: (built.requirement,) for name, built in target.built_wheels.items()},
        "application": target.requirements,
        **_extras(target, () if target.triton_ascend_wheel else (TRITON_ASCEND,)),
    }
    return {name: requirements for name, requirements in groups.items() if requirements}


def overrides(target: Target) -> tuple[str, ...]:
    """Requirements that replace those of other packages."""
    return target.application.overrides if target.application else ()


def sdists(target: Target) -> tuple[str, ...]:
    """Packages without a wheel for this image, which are installed from their sdist."""
    built = (wheel.package for wheel in target.built_wheels.values())
    own = target.application.sdists if target.application else ()
    return tuple(dict.fromkeys(("deepspeed", *own, *built)))


def build_requirement_groups(target: Target) -> dict[str, tuple[str, ...]]:
    """Component to what building its wheel needs, besides torch; empty if none is built."""
    built = {name: wheel.requirements for name, wheel in target.built_wheels.items()}
    return {"pip": (PIP,), **built} if built else {}


def wheel_platform(target: Target) -> WheelPlatform:
    """The platform of the image, for which its wheels are chosen."""
    return WheelPlatform(
        python=target.python.version,
        abi=target.python.abi,
        machine=target.machine,
        glibc=target.base.glibc,
    )


def inputs_digest(target: Target) -> str:
    """The sha256 of all inputs from which a lock of ``target`` is resolved."""
    inputs = {
        "groups": requirement_groups(target),
        "overrides": overrides(target),
        "sdists": sdists(target),
        "python": target.python.version,
        "platform": wheel_platform(target).uv_name,
    }
    if target.torch_index:
        inputs["torch_index"] = target.torch_index.url
    if target.torch_wheel:
        inputs["torch_wheel"] = target.torch_wheel.version
    return _digest(inputs)


def build_inputs_digest(target: Target) -> str:
    """The sha256 of all inputs from which the build requirements of ``target`` are resolved."""
    inputs = {
        "groups": build_requirement_groups(target),
        "python": target.python.version,
        "platform": wheel_platform(target).uv_name,
    }
    return _digest(inputs)


def _digest(inputs: Mapping[str, object]) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _deepspeed(target: Target) -> tuple[str, ...]:
    if not target.deepspeed or target.deepspeed_wheel:
        return ()
    return (f"deepspeed=={target.deepspeed}",)


def _extras(target: Target, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Component to its requirement, for those of ``names`` that the target has."""
    versions = target.extras
    found = {name: requirement_of(name, versions[name]) for name in names if name in versions}
    return {
        name: (requirement + (_local(target) if name in TORCH_COMPANIONS else ""),)
        for name, requirement in found.items()
    }


def _local(target: Target) -> str:
    """The local version of the builds of torch, as in ``+cpu``."""
    return f"+{target.torch_index.local}" if target.torch_index else ""


def index_options(target: Target) -> tuple[str, ...]:
    """The options of uv for the package index of torch, besides the one of all wheels.

    That has other packages too, so neither index goes before the other.
    """
    if target.torch_index is None:
        return ()
    return "--index", target.torch_index.url, "--index-strategy", "unsafe-best-match"


def _torch(target: Target) -> tuple[str, ...]:
    if not target.torch:
        return ()
    wheel = target.torch_wheel
    torch = wheel.requirements if wheel else (f"torch=={target.torch}{_local(target)}",)
    # On Python 3.9, the oldest that it has wheels for, torch from 2.6 on imports importlib_metadata
    # without declaring it (torch/distributed/elastic/rendezvous/registry.py), and torch_npu imports
    # that module of torch.
    undeclared = target.torch_minor >= (2, 6) and target.python.minor == "3.9"
    return (*torch, "importlib-metadata") if undeclared else torch


def _torch_npu(target: Target) -> tuple[str, ...]:
    if not target.torch_npu:
        return ()
    # torch_npu imports yaml, but does not declare it before 2.7.1.
    undeclared = ("pyyaml", SETUPTOOLS)
    return undeclared if target.torch_npu_wheel else (f"torch-npu=={target.torch_npu}", *undeclared)
