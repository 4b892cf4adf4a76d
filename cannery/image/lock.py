# SPDX-License-Identifier: Apache-2.0
"""What pip would be asked for, and how a lock's wheels are divided among the image's layers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cannery.errors import MatrixError, Problem
from cannery.model import Target
from cannery.syntax.specifiers import normal_name, parse_requirements

PIP = "pip>=23"
"""The image's own pip: old enough for every target's Python, new enough to obey constraints."""

_OWN_LAYER: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"torch"}),
    "torch_npu": frozenset({"torch-npu"}),
    "deepspeed": frozenset({"deepspeed"}),
    "application": frozenset(
        {
            *("fonttools", "jieba", "matplotlib", "mindspore", "opencv-python-headless", "pandas"),
            *("pillow", "pyarrow", "transformers"),
        }
    ),
}
"""Group to the wheels of it that get a layer each, so that targets share them whatever else their
locks hold: the components themselves, and what takes 20 MB or more in several of the applications."""

_DEPS = "-deps"
"""Ends the name of the layer of what a component needs."""

_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)")
_VIA = re.compile(r"^    # (?:via |  )(?P<parent>(?:-r )?\S+)$")


@dataclass(frozen=True, kw_only=True)
class LockedWheel:
    """One package of a lock: its version, its lines, and who asked for it."""

    name: str
    version: str
    lines: tuple[str, ...]
    parents: frozenset[str]
    groups: frozenset[str]


def requirement_groups(target: Target) -> dict[str, tuple[str, ...]]:
    """Layer name to the requirements that the layer is for; what changes most comes last."""
    groups = {
        "cann": target.cann.requirements,
        "torch": (f"torch=={target.torch}",) if target.torch else (),
        "torch_npu": _torch_npu(target),
        "pip": (PIP,),
        "py-spy": ("py-spy",),
        "deepspeed": _deepspeed(target),
        "application": target.requirements,
    }
    return {name: wanted for name, wanted in groups.items() if wanted}


def _deepspeed(target: Target) -> tuple[str, ...]:
    if not target.deepspeed or target.deepspeed_wheel:
        return ()
    return (f"deepspeed=={target.deepspeed}",)


def sdists(target: Target) -> tuple[str, ...]:
    """Packages that have no wheel and become one on the building machine."""
    return ("deepspeed", *(target.application.sdists if target.application else ()))


def _torch_npu(target: Target) -> tuple[str, ...]:
    if not target.torch_npu:
        return ()
    # torch_npu imports yaml, and does not declare it before 2.7.1; and up to 2.7.1 pkg_resources,
    # which setuptools has no more from 82 on.
    needs = ("pyyaml", "setuptools<81")
    return needs if target.torch_npu_wheel else (f"torch-npu=={target.torch_npu}", *needs)


def parse_lock(text: str) -> list[LockedWheel]:
    """Read what ``uv pip compile --generate-hashes`` wrote, one ``GROUP.in`` file a group.

    Raises:
        MatrixError: a line is none that uv writes.
    """
    wheels: list[LockedWheel] = []
    lines: list[str] = []
    parents: set[str] = set()

    def close() -> None:
        if not lines:
            return
        match = _PACKAGE.match(lines[0])
        assert match, lines[0]
        groups = {p.removeprefix("-r ").removesuffix(".in") for p in parents if p.startswith("-r ")}
        wheels.append(
            LockedWheel(
                name=normal_name(match["name"]),
                version=match["version"],
                lines=tuple(lines),
                parents=frozenset(p for p in parents if not p.startswith("-r ")),
                groups=frozenset(groups),
            )
        )
        lines.clear()
        parents.clear()

    for line in text.splitlines():
        if line.startswith("    --hash="):
            lines.append(line)
        elif _PACKAGE.match(line):
            close()
            lines.append(line)
        elif via := _VIA.match(line):
            parents.add(via["parent"])
        elif line.strip() and not line.lstrip().startswith("#"):
            what = f"a lock has a line that uv did not write: {line.strip()!r}."
            raise MatrixError(Problem(what=what, fix="Restore it, or lock again."))
    close()
    return wheels


def check_lock(target: Target, wheels: list[LockedWheel]) -> None:
    """Raise MatrixError unless the lock holds, hashed, what ``target`` asks for."""
    locked = {wheel.name: wheel for wheel in wheels}
    problems = []
    for group, wanted in requirement_groups(target).items():
        for requirement in parse_requirements(wanted):
            name = normal_name(requirement.name)
            wheel = locked.get(name)
            if wheel is None or group not in wheel.groups:
                problems.append(f"{requirement} is not locked.")
            elif not requirement.specifier.contains(wheel.version, prereleases=True):
                problems.append(f"{requirement} is locked as {wheel.version}.")
    problems += [f"{w.name} has no hash." for w in wheels if len(w.lines) < 2]
    if problems:
        raise MatrixError(
            Problem(
                what=f"images/{target.id}/requirements.lock: {' '.join(problems)}",
                fix=f"Run 'python build.py lock --target {target.id}'.",
            )
        )


def divide(target: Target, wheels: list[LockedWheel]) -> dict[str, list[LockedWheel]]:
    """Layer name to its wheels: each goes to the first group that needs it."""
    children: dict[str, set[str]] = {}
    for wheel in wheels:
        for parent in wheel.parents:
            children.setdefault(normal_name(parent), set()).add(wheel.name)
    left = {wheel.name: wheel for wheel in wheels}
    divided: dict[str, list[LockedWheel]] = {}
    for group in requirement_groups(target):
        roots = {wheel.name for wheel in wheels if group in wheel.groups}
        names = _closure(roots, children) & left.keys()
        divided |= _layers(group, [left.pop(name) for name in sorted(names)])
    return {layer: members for layer, members in divided.items() if members}


def _layers(group: str, members: list[LockedWheel]) -> dict[str, list[LockedWheel]]:
    """The layers of a group; what moves with every lock is in the last one."""
    alone = _OWN_LAYER.get(group, frozenset())
    own = {_layer_of(wheel.name): [wheel] for wheel in members if wheel.name in alone}
    rest = [wheel for wheel in members if wheel.name not in alone]
    return {**own, f"{group}{_DEPS}" if group in own else group: rest}


def _layer_of(wheel: str) -> str:
    return wheel.replace("-", "_")


def group_of(layer: str) -> str:
    """The group that ``divide`` has made ``layer`` of."""
    owners = {_layer_of(name): group for group, names in _OWN_LAYER.items() for name in names}
    return owners.get(layer, layer.removesuffix(_DEPS))


def _closure(roots: set[str], children: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = set(roots)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= children.get(name, set()) - seen
    return seen
