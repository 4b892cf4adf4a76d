# SPDX-License-Identifier: Apache-2.0
"""The wheels that a target requires, in groups: one for each component that needs wheels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cannery.common.model import TOOLS, TORCH_COMPANIONS, TRITON_ASCEND, Target, requirement_of
from cannery.common.specifiers import applies, normal_name, parse_requirement
from cannery.common.wheels import WheelPlatform

PIP = "pip>=23"
"""The image's own pip, of a version that obeys constraints."""

SETUPTOOLS = "setuptools<81"
"""torch_npu up to 2.7.1 imports pkg_resources, which setuptools 82 removed."""

BUILT = "built-"
"""The beginning of the groups of wheels that are built from sdists; a component's name follows."""


@dataclass(frozen=True)
class Requirements:
    """All from which the locks of ``target`` are resolved. Each part is computed once."""

    target: Target

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Group name to its requirements. The group that changes most often is last."""
        target = self.target
        deepspeed = bool(target.deepspeed) and not target.deepspeed_wheel
        groups = {
            "cann": target.cann.requirements,
            "torch": self._torch(),
            "torch_npu": self._torch_npu(),
            **self._extras(TORCH_COMPANIONS, self._local),
            "pip": (PIP,),
            "py-spy": ("py-spy",),
            "deepspeed": (f"deepspeed=={target.deepspeed}",) if deepspeed else (),
            **self._extras(TOOLS),
            **{BUILT + name: (built.requirement,) for name, built in target.built_wheels.items()},
            "application": target.requirements,
            **self._extras(() if target.triton_ascend_wheel else (TRITON_ASCEND,)),
        }
        return {name: requirements for name, requirements in groups.items() if requirements}

    @cached_property
    def overrides(self) -> tuple[str, ...]:
        """Requirements that replace those of other packages.

        An application's cannot remove what the target itself names: that is an override, too.
        """
        application, own = self.target.application, self._own
        if application is None:
            return ()
        kept, named = [], dict[str, None]()
        for text in application.overrides:
            requirement = parse_requirement(text)
            name = normal_name(requirement.name)
            if name not in own or applies(requirement, self.target):
                kept.append(text)
            named |= dict.fromkeys(own.get(name, ()))
        return tuple(dict.fromkeys((*kept, *named)))

    @cached_property
    def _own(self) -> Mapping[str, Sequence[str]]:
        """Package to the requirements on it that are neither CANN's nor the application's."""
        application = self.target.application
        shared = len(application.requirements) if application else 0
        own: dict[str, list[str]] = {}
        for group, texts in self.groups.items():
            for text in texts[shared:] if group == "application" else texts:
                requirement = parse_requirement(text)
                if group != "cann" and applies(requirement, self.target):
                    own.setdefault(normal_name(requirement.name), []).append(text)
        return own

    @cached_property
    def sdists(self) -> tuple[str, ...]:
        """Packages without a wheel for this image, which are installed from their sdist."""
        built = (wheel.package for wheel in self.target.built_wheels.values())
        declared = self.target.application.sdists if self.target.application else ()
        return tuple(dict.fromkeys(("deepspeed", *declared, *built)))

    @cached_property
    def build_groups(self) -> Mapping[str, tuple[str, ...]]:
        """Component to what building its wheel needs, besides torch; empty if none is built."""
        built = {name: wheel.requirements for name, wheel in self.target.built_wheels.items()}
        return {"pip": (PIP,), **built} if built else {}

    @cached_property
    def platform(self) -> WheelPlatform:
        """The platform of the image, for which its wheels are chosen."""
        return WheelPlatform(
            python=self.target.python.version,
            abi=self.target.python.abi,
            machine=self.target.machine,
            glibc=self.target.base.glibc,
        )

    @property
    def index_options(self) -> tuple[str, ...]:
        """The options of uv for the package index of torch, besides the one of all wheels.

        That has other packages too, so neither index goes before the other.
        """
        if self.target.torch_index is None:
            return ()
        return "--index", self.target.torch_index.url, "--index-strategy", "unsafe-best-match"

    @cached_property
    def digest(self) -> str:
        """The sha256 of all inputs from which the lock is resolved."""
        target = self.target
        inputs: dict[str, object] = {"overrides": self.overrides, "sdists": self.sdists}
        if target.torch_index:
            inputs["torch_index"] = target.torch_index.url
        if target.torch_wheel:
            inputs["torch_wheel"] = target.torch_wheel.version
        return self._digest(self.groups, inputs)

    @cached_property
    def build_digest(self) -> str:
        """The sha256 of all inputs from which the lock of ``build_groups`` is resolved."""
        return self._digest(self.build_groups, {})

    def _digest(self, groups: Mapping[str, object], more: Mapping[str, object]) -> str:
        platform = {"python": self.target.python.version, "platform": self.platform.uv_name}
        text = json.dumps({"groups": groups, **platform, **more}, sort_keys=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    @property
    def _local(self) -> str:
        """The local version of the builds of torch, as in ``+cpu``."""
        return f"+{self.target.torch_index.local}" if self.target.torch_index else ""

    def _extras(self, names: Iterable[str], local: str = "") -> dict[str, tuple[str, ...]]:
        versions = self.target.extras
        return {
            name: (requirement_of(name, versions[name]) + local,)
            for name in names
            if name in versions
        }

    def _torch(self) -> tuple[str, ...]:
        target = self.target
        if not target.torch:
            return ()
        wheel = target.torch_wheel
        torch = wheel.requirements if wheel else (f"torch=={target.torch}{self._local}",)
        # On Python 3.9, the oldest that it has wheels for, torch from 2.6 on imports
        # importlib_metadata without declaring it, in a module that torch_npu imports:
        # torch/distributed/elastic/rendezvous/registry.py.
        undeclared = target.torch_minor >= (2, 6) and target.python.minor == "3.9"
        return (*torch, "importlib-metadata") if undeclared else torch

    def _torch_npu(self) -> tuple[str, ...]:
        if not self.target.torch_npu:
            return ()
        # torch_npu imports yaml, but does not declare it before 2.7.1.
        undeclared = ("pyyaml", SETUPTOOLS)
        locked = () if self.target.torch_npu_wheel else (f"torch-npu=={self.target.torch_npu}",)
        return (*locked, *undeclared)
