# SPDX-License-Identifier: Apache-2.0
"""The usual way to build NPU images: one Dockerfile with one stage, entirely under emulation.

It has the steps of LLaMA-Factory's NPU Dockerfiles and of their base, the CANN images: apt;
copying, running and deleting the installers; pip for CANN's requirements, then for torch and
torch_npu, then for everything else. The contents are those of our target: the same Debian packages,
the same locked wheels, the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jinja2

from cannery.common.bases import PythonSource
from cannery.common.errors import UsageError
from cannery.common.files import link_or_copy
from cannery.common.model import Target
from cannery.image.environment import environment_of, python_paths
from cannery.image.layers import wheel_groups
from cannery.lock.lock_file import Lock, LockedWheel, parse_lock
from cannery.lock.requirements import Requirements

TEMPLATE = Path(__file__).parent / "Dockerfile.j2"

CHECK = "import torch, torch_npu"
"""The program that must work in an image of either side before it is compared."""

PACKAGES = (
    "ca-certificates",
    "g++",
    "libaio-dev",
    "libnuma-dev",
    "make",
    "net-tools",
    "openssh-client",
    "pciutils",
    "procps",
)
PYTHON_PACKAGES = ("libpython3-dev", "python3", "python3-dev", "python3-distutils", "python3-pip")

_FIRST = ("cann",)
_SECOND = ("torch", "torch_npu")


def files(target: Target, lock: str) -> dict[str, str]:
    """Name to text of the files that the baseline of ``target`` is built from, less artifacts.

    Raises:
        UsageError: the target has no torch.
    """
    if not target.torch:
        raise UsageError(f"{target.id} has no torch; the baseline is for images with torch only.")
    parsed = parse_lock(lock)
    groups, application = requirements(target, parsed), target.application
    values: dict[str, Any] = {
        "target": target,
        "packages": _packages(target),
        "env": {**environment_of(target).cann, **(application.environment if application else {})},
        "sources": application.sources if application else (),
        "pip": parsed.version("pip"),
        "last": [name for name in ("rest", "sdists") if name in groups],
        "sdists": [wheel.name for wheel in groups.get("sdists", ())],
        "wheels": [target.artifacts[name].name for name in target.vendor_wheels],
        **asdict(python_paths(target)),
    }
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - a Dockerfile is no HTML
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    texts = {f"{name}.txt": _text(wheels) for name, wheels in groups.items()}
    return {"Dockerfile": template.render(values), **texts}


def requirements(target: Target, lock: Lock) -> dict[str, list[LockedWheel]]:
    """The locked wheels of each ``pip install``; packages built from source come last."""
    needed = Requirements(target)
    built = {*needed.sdists}
    groups: dict[str, list[LockedWheel]] = {"cann": [], "torch": [], "rest": [], "sdists": []}
    for each in wheel_groups(needed, lock):
        name = "cann" if each.group in _FIRST else "torch" if each.group in _SECOND else "rest"
        for wheel in each.wheels:
            if wheel.name != "pip":
                groups["sdists" if wheel.name in built else name].append(wheel)
    return {name: sorted(each, key=lambda w: w.name) for name, each in groups.items() if each}


def write(folder: Path, target: Target, lock: str, artifacts: Path) -> None:
    """Make ``folder`` the build context of the baseline; ``artifacts`` holds the vendor's files.

    Raises:
        UsageError: as ``files``.
    """
    texts: Mapping[str, str] = files(target, lock)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for file in target.artifacts.values():
        link_or_copy(artifacts / file.name, folder / file.name)


def _packages(target: Target) -> list[str]:
    debian = PYTHON_PACKAGES if target.python.source is PythonSource.BASE else ()
    return sorted(
        {*PACKAGES, *debian, *(target.application.packages if target.application else ())}
    )


def _text(wheels: list[LockedWheel]) -> str:
    return "".join(f"{wheel.requirement}\n" for wheel in wheels)
