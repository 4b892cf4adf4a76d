# SPDX-License-Identifier: Apache-2.0
"""What is in an image as a target, so that the rules for targets can judge it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version

from cannery.common.bases import Base, Distribution, PackageManager, Python, PythonSource
from cannery.common.cann import CannPackages, CannRelease, Layout
from cannery.common.errors import Span
from cannery.common.model import MACHINE_OF, Target
from cannery.common.sources import File
from cannery.common.specifiers import normal_name
from cannery.common.wheels import TorchIndex, VendorWheel
from cannery.compat.facts import Compat
from cannery.verify.audit.cann import Cann
from cannery.verify.audit.config import ImageConfig
from cannery.verify.audit.found import Found

_FILE = File(name="installed.run", origin="")
_ARCHIVE = File(name="installed.tar.gz", origin="")
_SYSTEM = Distribution(
    name="",
    package_manager=PackageManager.APT,
    packages={},
    site_packages="",
    bootstrapped=False,
    native_python=False,
)
"""The rules for bases are about matrix.yaml's, and what they say is left out."""

_INDEX = TorchIndex(name="image", url="", local="")
"""Where the torch of an image is from cannot be seen."""

_TAGS = "py3-none-any"
_FULL = 3


def as_target(
    found: Found,
    config: ImageConfig,
    cann: Cann,
    compat: Compat,
    known: Mapping[str, CannRelease],
) -> Target:
    """The contents of an image as a target.

    ``known`` are the releases of matrix.yaml, for the public release that an interim one is like.
    Files, which an image does not show any more, have names that no rule is about.
    """
    chip = cann.chips[0] if cann.chips else ""
    releases = {v: _release(v, cann.layout, chip, known) for v in _versions(cann)}
    base = _base(found)
    torch = _public(found.versions.get("torch", ""))
    more: dict[str, Any] = {}
    if apex := found.versions.get("apex"):
        more["apex"] = VendorWheel(version=apex, file=f"apex-{apex}-{_TAGS}.whl", origin="")
    if plugin := found.versions.get("deepspeed-npu"):
        name = f"deepspeed_npu-{plugin}-{_TAGS}.whl"
        more["deepspeed_plugin"] = VendorWheel(version=plugin, file=name, origin="")
    if cann.kernels:
        more["kernels_release"] = releases[cann.kernels]
    if cann.nnal:
        more["nnal_release"] = releases[cann.nnal]
    defaults: dict[str, Any] = {"apex": None, "deepspeed_plugin": None}
    return Target(
        **(defaults | more),
        id=config.reference,
        summary="",
        platform=config.platform,
        base=base,
        build_base=base,
        python=python_of(found),
        cann=releases[cann.toolkit],
        chip=chip,
        with_nnal=bool(cann.nnal),
        torch=torch,
        torch_index=_INDEX,
        torch_npu=torch_npu_version(found, compat),
        deepspeed=_public(found.versions.get("deepspeed", "")),
        requirements=tuple(_requirements(found, compat)),
        span=Span(file=config.reference, line=1, column=1),
    )


def _base(found: Found) -> Base:
    named = re.fullmatch(r"glibc ([0-9]+\.[0-9]+)", found.libc, re.ASCII)
    glibc = named[1] if named else ""
    return Base(name="image", image="", suite="", glibc=glibc, distribution=_SYSTEM)


def _versions(cann: Cann) -> set[str]:
    return {cann.toolkit, cann.kernels, cann.nnal} - {""}


def _release(
    version: str, layout: Layout, chip: str, known: Mapping[str, CannRelease]
) -> CannRelease:
    public = known[version].nearest_public if version in known else ""
    return CannRelease(
        version=version,
        layout=layout,
        interim=bool(public) and public != version,
        nearest_public=public or version,
        packages=dict.fromkeys(
            MACHINE_OF.values(), CannPackages(toolkit=_FILE, kernels={chip: _FILE}, nnal=_FILE)
        ),
        requirements=(),
    )


def python_of(found: Found) -> Python:
    """The interpreter that ``python3`` starts, with an archive that no rule is about."""
    version = found.python or "0.0.0"
    archives = dict.fromkeys(MACHINE_OF.values(), _ARCHIVE)
    return Python(name=version, version=version, source=PythonSource.STANDALONE, archives=archives)


def torch_npu_version(found: Found, compat: Compat) -> str:
    """The torch_npu of the image; without a local part, unless a row names it with that part."""
    text = found.versions.get("torch-npu", "")
    return text if any(row.torch_npu == text for row in compat.pairings) else _public(text)


def _public(text: str) -> str:
    """``text`` as sources write it; empty if it is no full version, as of a build from a commit."""
    try:
        version = Version(text)
    except InvalidVersion:
        return ""
    return version.public if len(version.release) >= _FULL else ""


def _requirements(found: Found, compat: Compat) -> Iterator[str]:
    """Each installed package that some row is about, as a requirement for its version."""
    named = {normal_name(row.package) for row in compat.packages}
    for row in compat.packages:
        for condition in (row.when.requirement, row.when.without):
            named |= {normal_name(condition.name)} if condition else set()
    for name in sorted(named | {"mindspore", "triton-ascend", "vllm-ascend"}):
        try:
            version = Version(found.versions.get(name, ""))
        except InvalidVersion:
            continue
        yield f"{name}=={version}"
