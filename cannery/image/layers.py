# SPDX-License-Identifier: Apache-2.0
"""The layers of a target: which other targets have the same ones, and what makes them anew.

Nothing here reads a Dockerfile: all follows from what the target says and from its locked wheels.
Names are those of the Dockerfile's stages, but for CANN's ``layer-toolkit`` and so on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cannery.errors import UsageError, did_you_mean
from cannery.image.lock import group_of
from cannery.image.render import interpreter_paths
from cannery.model import PythonSource, Target

_ALIASES = {"cann": ("toolkit", "kernels", "nnal")}
"""A name for several components that only move together."""

_EVERYWHERE = ("build_base",)
"""What every layer is made with: the base and the programs of the building machine."""

_WHEELS_OF = {"cann": "toolkit", "application": ""}
"""The component that a group of wheels is for, where it is not called like the group."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer. Parts of equal ``identity`` are made once, for however many targets.

    ``needs`` are the components whose change makes it anew.
    """

    name: str
    identity: str
    needs: frozenset[str]


def layers_of(target: Target, files: Mapping[str, str]) -> tuple[Layer, ...]:
    """The layers of ``target`` in their order; ``files`` are its rendered files by their names."""
    return (*_system(target), *_cann(target), *_wheels(target, files), _guard(target, files))


def _part(name: str, content: object, needs: Iterable[str]) -> Layer:
    text = json.dumps([name, content], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Layer(name=name, identity=digest, needs=frozenset((*needs, *_EVERYWHERE)))


def _build_base(target: Target) -> list[str]:
    """What every layer is made with; what it leaves out of all of them belongs to it."""
    return [target.build_base.image, *target.leave_out]


def _system(target: Target) -> list[Layer]:
    build_base = _build_base(target)
    python = target.python
    debian = python.source is PythonSource.DEBIAN
    content = [build_base, target.base.image, target.platform, python.version if debian else ""]
    needs = ["base", *(["python"] if debian else [])]
    found = [_part("os", content, needs)]
    if target.application and target.application.packages:
        more = [*content, *sorted(target.application.packages)]
        component = target.application.component
        found.append(_part("packages-application", more, [*needs, component]))
    if archive := python.archive:
        found.append(_part("python", [build_base, archive.name, archive.sha256], ["python"]))
    return found


def _cann(target: Target) -> list[Layer]:
    found: list[Layer] = []
    content: list[object] = [_build_base(target), target.platform]
    needs: list[str] = []
    for component in ("toolkit", "kernels", "nnal"):
        file = target.artifacts.get(component)
        if file is None:
            continue
        # Each is installed on top of the one before it.
        content = [*content, target.cann.version, file.name, file.sha256]
        needs = [*needs, component]
        found.append(_part(component, content, needs))
    return found


def _wheels(target: Target, files: Mapping[str, str]) -> list[Layer]:
    interpreter = [*interpreter_paths(target).values(), target.python.version]
    where = [_build_base(target), target.machine, target.base.glibc, *interpreter]
    found = []
    for name, text in files.items():
        if not name.startswith("wheels/"):
            continue
        layer = name.removeprefix("wheels/").removesuffix(".txt")
        group = group_of(layer)
        component = _WHEELS_OF.get(group, group)
        if not component and target.application:
            component = target.application.component
        plugin = target.deepspeed_plugin if layer == "deepspeed" else None
        needs = ["base", "python", *([component] if component else [])]
        needs += ["deepspeed_plugin"] if plugin else []
        found.append(_part(f"wheels-{layer}", [*where, text, bool(plugin)], needs))
    for component in target.vendor_wheels:
        file = target.artifacts[component]
        needs = ["base", "python", component]
        found.append(_part(f"wheels-vendor-{component}", [*where, file.name, file.sha256], needs))
    for source in target.application.sources if target.application else ():
        assert target.application
        content = [*where, source.file.name, source.file.sha256]
        needs = ["python", target.application.component]
        found.append(_part(f"source-{source.folder}", content, needs))
    return found


def _guard(target: Target, files: Mapping[str, str]) -> Layer:
    """What says what the image is; it moves with everything."""
    names = ("constraints.txt", "target.json")
    texts = [text for name, text in files.items() if name in names or name.startswith("guard/")]
    return _part("guard", texts, _names(target))


def _names(target: Target) -> set[str]:
    """What of ``target`` can change."""
    groups = {"pip"}
    return {*target.components, *groups}


def components_named(name: str, targets: Sequence[Target]) -> frozenset[str]:
    """The components that ``name`` stands for.

    Raises:
        UsageError: none of ``targets`` has it.
    """
    known = {each for target in targets for each in _names(target)} | {*_EVERYWHERE, *_ALIASES}
    if name not in known:
        raise UsageError(f"no selected target has a {name!r}. {did_you_mean(name, known)}")
    return frozenset(_ALIASES.get(name, (name,)))


def shared(parts: Mapping[str, Sequence[Layer]]) -> dict[Layer, tuple[str, ...]]:
    """Every part that several of the targets have, with their ids; ``parts`` is by target."""
    users: dict[Layer, list[str]] = {}
    for name, each in parts.items():
        for part in each:
            users.setdefault(part, []).append(name)
    return {part: tuple(names) for part, names in users.items() if len(names) > 1}
