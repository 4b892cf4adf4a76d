# SPDX-License-Identifier: Apache-2.0
"""The targets and CANN releases of a valid matrix. Nothing here reads or writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from urllib.parse import quote

from cannery.common.bases import Address, Base, File, Python, Source
from cannery.common.errors import Span, some_of
from cannery.common.wheels import BuiltWheel, TorchIndex, VendorWheel


class Layout(StrEnum):
    """The layout of a CANN release below /usr/local/Ascend."""

    ASCEND_TOOLKIT = "ascend-toolkit"
    """``ascend-toolkit/latest``: every release before 8.5."""
    CANN = "cann"
    """``cann-VERSION``: 8.5 and later."""


@dataclass(frozen=True, kw_only=True)
class CannPackages:
    """The packages of a release for one machine. ``kernels`` maps a chip to its package."""

    toolkit: File
    kernels: Mapping[str, File]
    nnal: File | None

    @property
    def files(self) -> tuple[File, ...]:
        return (self.toolkit, *self.kernels.values(), *([self.nnal] if self.nnal else []))


@dataclass(frozen=True, kw_only=True)
class CannRelease:
    """One CANN release, with the requirements of its Python parts.

    ``packages`` maps a machine (aarch64 or x86_64) to its packages, ``images`` a chip to the
    reference of the vendor's image. ``emulated`` installers run on the target's machine.
    """

    version: str
    layout: Layout
    emulated: bool = False
    interim: bool
    nearest_public: str
    packages: Mapping[str, CannPackages]
    images: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...]

    @property
    def chips(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(chip for packages in self.packages.values() for chip in packages.kernels)
        )

    @property
    def has_nnal(self) -> bool:
        return any(packages.nnal for packages in self.packages.values())


TRITON_ASCEND = "triton_ascend"
"""Installed last, so that triton's files, of the same names, do not replace it."""

HCCL_TEST = "hccl_test"
"""The toolkit's tests of collective communication, compiled from its sources."""

TORCH_COMPANIONS: Mapping[str, str] = {"torchvision": "torchvision", "torchaudio": "torchaudio"}
"""Packages that are built for one torch."""

PAIRED = "paired"
"""In place of a version: the one for the target's torch in compat.yaml."""

TOOLS: Mapping[str, str] = {
    "msprobe": "mindstudio-probe",
    "mooncake": "mooncake-transfer-engine-npu",
    "ray": "ray",
}
"""These are installed before the application."""

EXTRAS: Mapping[str, str] = {**TORCH_COMPANIONS, **TOOLS, TRITON_ASCEND: "triton-ascend"}
"""Component to its package of an index, in the order of installation."""


def requirement_of(component: str, version: str) -> str:
    """As in ``torchvision==0.25.0``."""
    return f"{EXTRAS[component]}=={version}"


CHIPS = ("310b", "310p", "910", "910b", "950", "a3")
"""Every chip that a release of CANN has had kernels for."""

USUAL_CHIP = "910b"
"""The chip of a target that names none."""

SIMULATED_CHIPS = ("910b", "a3", "310p", "910", "950")
"""The chips that the software device simulates."""

MACHINE_OF = {"arm64": "aarch64", "amd64": "x86_64"}
"""The engine's architecture to the vendor's machine."""


class DeviceKind(StrEnum):
    """The kind of device in a container. A pass on one kind proves nothing about another."""

    NONE = "none"
    SIMULATED = "simulated"
    NPU = "npu"


class Flavour(StrEnum):
    """What an image is for. The flavours of an environment have the same layers but the first."""

    RUNTIME = "runtime"
    """For running only: the first layer has no compiler and no header files."""
    DEVEL = "devel"
    """With a compiler, for extensions that are built on first use."""
    APP = "app"
    """DEVEL with an application."""


@dataclass(frozen=True, kw_only=True)
class Application:
    """A trainer, a server or an evaluator on an environment.

    ``name`` is its key in matrix.yaml, ``component`` the folder of its image tests. ``overrides``
    replace requirements of other packages, ``sdists`` have no wheel, ``wheels`` are in no index or
    built with torch, ``packages`` are the base's. ``ports`` and ``volumes`` (host to container) go
    into its compose file.
    """

    name: str
    component: str
    version: str
    title: str = ""
    """As in LLaMA-Factory 0.9.5."""
    requirements: tuple[str, ...]
    overrides: tuple[str, ...]
    sdists: tuple[str, ...]
    wheels: Mapping[str, VendorWheel | BuiltWheel]
    packages: tuple[str, ...]
    environment: Mapping[str, str]
    sources: tuple[Source, ...]
    ports: tuple[str, ...]
    volumes: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Chip:
    """How clusters name the cards of a chip; an empty field is as it usually is.

    ``resource`` is the device plugin's name, ``ring`` is for ring-controller.atlas. ``hosts`` maps
    the number of cards of a kind of host, the usual one first, to the node label accelerator-type;
    empty if the sources have none.
    """

    resource: str = ""
    ring: str = ""
    hosts: Mapping[int, str] = field(default_factory=dict)

    @property
    def cards(self) -> int:
        return max(self.hosts)

    def accelerator(self, cards: int) -> str:
        """The accelerator-type of the first host with at least ``cards`` cards."""
        return next(label for most, label in self.hosts.items() if cards <= most)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One environment, whose id has no meaning; ``requirements`` has the application's, too."""

    id: str
    summary: str
    platform: str
    base: Base
    build_base: Base
    python: Python
    cann: CannRelease
    chip: str
    own_chip: Chip = Chip()
    """What the project says of the cards of this chip, in place of what is usual."""
    with_nnal: bool
    kernels_release: CannRelease | None = None
    """The release that the kernels are of, where that is not the toolkit's."""
    nnal_release: CannRelease | None = None
    """The release that NNAL is of, where that is not the toolkit's."""
    cxx_abi: int | None = None
    """The libstdc++ ABI of torch or MindSpore, which NNAL's must be; None if it is not known."""
    torch: str
    torch_npu: str
    torch_index: TorchIndex | None = None
    """The package index that torch is taken from, where that is not the one of all wheels."""
    torch_wheel: VendorWheel | None = None
    torch_npu_wheel: VendorWheel | None = None
    apex: VendorWheel | None
    deepspeed: str
    deepspeed_wheel: VendorWheel | BuiltWheel | None = None
    deepspeed_plugin: VendorWheel | None
    extras: Mapping[str, str] = field(default_factory=dict)
    """Component of ``cannery.common.model`` to its version, in the order of installation."""
    triton_ascend_wheel: VendorWheel | None = None
    application: Application | None = None
    requirements: tuple[str, ...]
    packages: tuple[str, ...] = ()
    """Packages of the operating system, besides those that its components need."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the image sets, besides those of its components."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels besides those of all images."""
    leave_out: tuple[str, ...] = ()
    """Patterns of paths that its layers go without; ``*`` matches a '/' too."""
    vendor_image: str = ""
    """The image from which a build takes CANN; empty if it installs CANN's packages."""
    without_compiler: bool = False
    hccl_test: bool = False
    """Whether it has the toolkit's tests of collective communication, compiled, and MPI."""
    recommended: str = ""
    """What it is recommended for."""
    unverified: str = ""
    """Why it is built although compat.yaml does not know that it works; shown wherever it is."""
    span: Span

    @property
    def flavour(self) -> Flavour:
        if self.without_compiler:
            return Flavour.RUNTIME
        return Flavour.APP if self.application else Flavour.DEVEL

    @property
    def docker_arch(self) -> str:
        """``arm64`` or ``amd64``."""
        return self.platform.split("/")[1]

    @property
    def machine(self) -> str:
        """``aarch64`` or ``x86_64``."""
        return MACHINE_OF[self.docker_arch]

    @property
    def kernels(self) -> CannRelease:
        return self.kernels_release or self.cann

    @property
    def nnal(self) -> CannRelease:
        return self.nnal_release or self.cann

    @property
    def kernels_file(self) -> File:
        return self._packages(self.kernels).kernels[self.chip]

    @property
    def toolkit_file(self) -> File:
        return self._packages(self.cann).toolkit

    @property
    def nnal_file(self) -> File | None:
        return self._packages(self.nnal).nnal if self.with_nnal else None

    def _packages(self, release: CannRelease) -> CannPackages:
        return release.packages[self.machine]

    @property
    def emulated(self) -> bool:
        return any(release.emulated for release in (self.cann, self.kernels, self.nnal))

    @property
    def operators(self) -> str:
        """The folder of the chip's operator kernels below the toolkit's ``kernel`` folder."""
        return {"a3": "ascend910_93"}.get(self.chip, f"ascend{self.chip}")

    @property
    def torch_minor(self) -> tuple[int, int]:
        major, minor = self.torch.split(".")[:2]
        return int(major), int(minor)

    @property
    def components(self) -> dict[str, str]:
        """Component to version, in the order of installation."""
        versions = {
            "base": self.base.name,
            "python": self.python.version,
            "toolkit": self.cann.version,
            "kernels": f"{self.kernels.version} ({self.chip})",
            "nnal": self.nnal.version if self.with_nnal else "",
            "torch": self.torch,
            "torch_npu": self.torch_npu,
            "apex": self.apex.version if self.apex else "",
            "deepspeed": self.deepspeed,
            "deepspeed_plugin": self.deepspeed_plugin.version if self.deepspeed_plugin else "",
        }
        versions |= {name: text for name, text in self.extras.items() if name != TRITON_ASCEND}
        versions[HCCL_TEST] = self.cann.version if self.hccl_test else ""
        if self.application:
            versions[self.application.component] = self.application.version
        versions[TRITON_ASCEND] = self.extras.get(TRITON_ASCEND, "")
        return {name: version for name, version in versions.items() if version}

    @cached_property
    def artifacts(self) -> Mapping[str, File]:
        """Component to its file in the build context ``artifacts``."""
        files: dict[str, File] = {}
        if archive := self.python.archives.get(self.machine):
            files["python"] = archive
        files |= {"toolkit": self.toolkit_file, "kernels": self.kernels_file}
        if nnal := self.nnal_file:
            files["nnal"] = nnal
        for component, wheel in self.vendor_wheels.items():
            tags = {"tag": self.python.tag, "abi": self.python.abi, "machine": self.machine}
            name = wheel.file.format(**tags)
            files[component] = File(
                name=name,
                origin=wheel.origin,
                sha256=wheel.sha256.get(name, ""),
                addresses=tuple(Address(url=f"{each}/{quote(name)}") for each in wheel.download),
            )
        sources = self.application.sources if self.application else ()
        return files | {source.folder: source.file for source in sources}

    @property
    def real_artifacts(self) -> dict[str, File]:
        """The artifacts without a simulated package."""
        stand_ins = {"toolkit", "kernels", "nnal", "apex"}
        return {name: file for name, file in self.artifacts.items() if name not in stand_ins}

    @cached_property
    def vendor_wheels(self) -> Mapping[str, VendorWheel]:
        """Component to its wheel from the vendor."""
        return {name: w for name, w in self._wheels.items() if isinstance(w, VendorWheel)}

    @cached_property
    def built_wheels(self) -> Mapping[str, BuiltWheel]:
        """Component to the wheel that the build makes from an sdist."""
        return {name: w for name, w in self._wheels.items() if isinstance(w, BuiltWheel)}

    @cached_property
    def _wheels(self) -> dict[str, VendorWheel | BuiltWheel | None]:
        return {
            "torch": self.torch_wheel,
            "torch_npu": self.torch_npu_wheel,
            "apex": self.apex,
            "deepspeed": self.deepspeed_wheel,
            "deepspeed_plugin": self.deepspeed_plugin,
            TRITON_ASCEND: self.triton_ascend_wheel,
            **(self.application.wheels if self.application else {}),
        }


_NAMES = {
    "910b": r"a2|910b[0-9]?",
    "a3": r"a3|910c|910_93([0-9][0-9])?",
    "950": r"a5|950([dp][rt])?(_[0-9]+)?",
    "910": r"910|910(pro)?a",
    "310p": r"310p[0-9]?",
    "310b": r"310b[0-9]?",
}
"""Chip to its other names.

Source: npu-smi and CANN's SOC_VERSION (Ascend910B1, Ascend910_9391), and the series of products in
CANN's release notes (A2, A3); vllm-ascend calls the 950 A5.
"""


def chip_named(text: str) -> str:
    """The chip ``text`` in matrix.yaml's spelling; ValueError for an unknown one."""
    name = re.sub(r"^(ascend|atlas)[ _-]?", "", text.strip().lower()).replace("-", "_")
    for chip, pattern in _NAMES.items():
        if re.fullmatch(pattern, name):
            return chip
    raise ValueError(f"unknown chip {text!r}. Known: {some_of(CHIPS, 20)}.")


def chip_hint(text: str, known: Collection[str]) -> str:
    """The correction of the chip ``text``: its name in ``known``, or all of them."""
    try:
        chip = chip_named(text)
    except ValueError:
        chip = ""
    if chip in known and chip != text:
        return f"Write {chip}."
    return f"Known: {some_of(sorted(known), 20)}." if known else ""
