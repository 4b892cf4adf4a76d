# SPDX-License-Identifier: Apache-2.0
"""The layers of an image, in the order of its Dockerfile. This is the only list of them.

The template, plans, shards, records, the catalogue and the documents of an image read them here.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from cannery.common.bases import MPI, PythonSource
from cannery.common.errors import UsageError, did_you_mean
from cannery.common.model import HCCL_TEST, TRITON_ASCEND, Flavour, Target
from cannery.common.sources import File
from cannery.common.wheels import BuiltWheel
from cannery.image.environment import full_environment
from cannery.image.record import compiled_folders, interpreter_paths
from cannery.lock.lock_file import Lock, LockedWheel
from cannery.lock.requirements import BUILT, requirement_groups, sdists

_WEIGHTS = {
    "os": 30.0,
    "toolkit": 15.0,
    "kernels": 10.0,
    "nnal": 10.0,
    "cann-python": 10.0,
    "wheels-torch": 20.0,
    "wheels-torch_npu": 10.0,
    "wheels-cann": 15.0,
    "wheels-jieba": 12.0,
    "wheels-mindspore": 25.0,
    "wheels-application": 15.0,
    "hccl_test": 20.0,
    "guard": 1.0,
}
"""Seconds per layer, on two cores under emulation; only the proportions matter."""

_OTHER_WEIGHT = 5.0

SYSTEM = "os"
"""The name of the first layer."""

EVERY_LAYER = "build_base"
"""The component of every layer: the base image of the ``build`` stage."""

_ALIASES = {"cann": ("toolkit", "kernels", "nnal")}
"""A name for several components that always change together."""


class LayerKind(StrEnum):
    """How a layer is made. The template has one block for each kind."""

    SYSTEM = "system"
    """Packages of the base's distribution in every image, and the mount points of the driver."""
    PYTHON = "python"
    """An interpreter from a python-build-standalone archive."""
    CANN = "cann"
    """The files that one of CANN's packages installs."""
    CANN_PYTHON = "cann-python"
    """CANN's Python files, compiled by the image's Python."""
    WHEELS = "wheels"
    """Wheels from a package index."""
    BUILT_WHEEL = "built-wheel"
    """A wheel that is built from an sdist of a package index, where torch is importable."""
    VENDOR_WHEEL = "vendor-wheel"
    """A wheel that is in no package index."""
    PACKAGES = "packages"
    """Packages of the base's distribution for an application, and MPI for the HCCL tests."""
    HCCL_TEST = "hccl-test"
    """Programs that are compiled from the toolkit's sources, with MPI."""
    SOURCE = "source"
    """A source archive, unpacked into /opt."""
    GUARD = "guard"
    """The files that keep the installed versions and describe the image."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer of an image. Layers of equal ``identity`` have equal content.

    ``inputs`` are all that the content depends on, as JSON has it.
    ``stage`` is the Dockerfile's stage that has the layer's files below /layer. A change of any of
    ``components`` makes the layer anew. ``weight`` is its cost in seconds.
    ``artifact`` is the key of ``Target.artifacts`` whose ``file`` the layer is made from, ``after``
    the stage that a CANN package is installed on, or that has MPI for the HCCL tests, and
    ``packages`` are the base's, for which ``recorded`` is a hash of what apt resolved, if that is
    known. ``built`` is a wheel that is built from an sdist, with the wheels
    of the stages ``importable``. With ``plugin`` DeepSpeed's launcher is made to import its NPU
    plugin.
    """

    name: str
    stage: str
    kind: LayerKind
    inputs: tuple[object, ...]
    components: frozenset[str]
    wheels: tuple[LockedWheel, ...] = ()
    sdists: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    recorded: str = ""
    artifact: str = ""
    file: File | None = None
    after: str = ""
    built: BuiltWheel | None = None
    importable: tuple[str, ...] = ()
    plugin: bool = False

    @cached_property
    def identity(self) -> str:
        """The sha256 of the name and the inputs."""
        text = json.dumps([self.name, *self.inputs], sort_keys=True, default=_as_json)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def weight(self) -> float:
        return _WEIGHTS.get(self.name, _OTHER_WEIGHT)


def _as_json(value: object) -> str:
    assert isinstance(value, LockedWheel)
    return value.requirement


def layers_of(target: Target, lock: Lock) -> tuple[Layer, ...]:
    """The layers of ``target``, whose wheels ``lock`` holds, in the order of the Dockerfile."""
    groups = wheel_groups(target, lock)
    early = [each for each in groups if each.group in ("cann", "torch", "torch_npu")]
    last = [each for each in groups if each.name == "application"]
    built = [each for each in groups if each.group.startswith(BUILT)]
    triton = [each for each in groups if each.group == TRITON_ASCEND]
    placed = {each.name for each in (*early, *built, *last, *triton)}
    between = [each for each in groups if each.name not in placed]
    late = [name for name in target.vendor_wheels if name == TRITON_ASCEND]
    where = _wheel_inputs(target)
    return (
        _system(target, lock),
        *_python(target),
        *_cann(target),
        *_cann_python(target),
        *(_wheels(target, where, each) for each in early),
        *_vendor_wheels(target, where, (e for e in target.vendor_wheels if e not in late)),
        *_built_wheels(target, where, lock, early, built),
        *(_wheels(target, where, each) for each in between),
        *_more_packages(target, lock),
        *_hccl_test(target, lock),
        *(_wheels(target, where, each) for each in last),
        *_sources(target),
        *(_wheels(target, where, each) for each in triton),
        *_vendor_wheels(target, where, late),
        _guard(target, lock),
    )


def _layer(
    name: str, kind: LayerKind, inputs: Sequence[object], components: Iterable[str], **more: Any
) -> Layer:
    return Layer(
        name=name,
        **({"stage": name} | more),
        kind=kind,
        inputs=tuple(inputs),
        components=frozenset((*components, EVERY_LAYER)),
    )


def _system(target: Target, lock: Lock) -> Layer:
    more = {"packages": _system_packages(target), "recorded": _recorded(lock, SYSTEM)}
    inputs, components = _system_inputs(target, lock), _system_components(target)
    return _layer(SYSTEM, LayerKind.SYSTEM, inputs, components, **more)


def _more_packages(target: Target, lock: Lock) -> Iterable[Layer]:
    """One layer, because each has the package manager's list of all that is installed."""
    if wanted := _wanted_packages(target):
        packages = target.base.distribution.packages_for(*sum(wanted.values(), ()))
        name = f"packages-{HCCL_TEST}" if [*wanted] == [HCCL_TEST] else "packages-application"
        recorded = _recorded(lock, name)
        inputs = [*_system_inputs(target, lock), packages, recorded]
        components = [*_system_components(target), *wanted]
        more = {"packages": packages, "recorded": recorded}
        yield _layer(name, LayerKind.PACKAGES, inputs, components, **more)


def _recorded(lock: Lock, layer: str) -> str:
    return lock.debs.digest(layer) if lock.debs else ""


def _hccl_test(target: Target, lock: Lock) -> Iterable[Layer]:
    if target.hccl_test:
        [mpi], [toolkit, *_] = _more_packages(target, lock), _cann(target)
        inputs, components = [mpi.inputs, toolkit.inputs], [HCCL_TEST, "toolkit"]
        components += _system_components(target)
        yield _layer(HCCL_TEST, LayerKind.HCCL_TEST, inputs, components, after=mpi.stage)


def _python(target: Target) -> Iterable[Layer]:
    if archive := target.artifacts.get("python"):
        inputs = [_build_inputs(target), archive.name, archive.sha256]
        name = "python"
        yield _layer(name, LayerKind.PYTHON, inputs, [name], artifact=name, file=archive)


def _cann(target: Target) -> Iterable[Layer]:
    """Toolkit, kernels and NNAL, in the vendor's order. Each is installed on top of the one before.

    For several chips of a release NNAL's step runs again, and gives a layer with the same digest.
    """
    inputs: list[object] = [_build_inputs(target), target.platform]
    inputs += ["emulated"] if target.emulated else []
    components: list[str] = []
    after = "installer"
    releases = {"toolkit": target.cann, "kernels": target.kernels, "nnal": target.nnal}
    for name, release in releases.items():
        if file := target.artifacts.get(name):
            source = [file.name, file.sha256]
            if target.vendor_image:
                source = [target.vendor_image.rpartition("@")[2]]
            inputs = [*inputs, release.version, *source]
            components = [*components, name]
            more = {"stage": f"layer-{name}", "artifact": name, "file": file, "after": after}
            yield _layer(name, LayerKind.CANN, inputs, components, **more)
            after = name if target.emulated else f"layer-{name}"


def _cann_python(target: Target) -> Iterable[Layer]:
    """CANN's Python files, compiled: images with different Pythons share all else of CANN."""
    if compiled_folders(target):
        *_, last = _cann(target)
        inputs = [*last.inputs, target.python.version]
        components = ["base", "python", *(each.name for each in _cann(target))]
        yield _layer("cann-python", LayerKind.CANN_PYTHON, inputs, components)


def _wheel_inputs(target: Target) -> Sequence[object]:
    """Inputs of every layer of wheels: where they are installed."""
    paths = [*interpreter_paths(target).values()]
    where = [target.machine, target.base.glibc, *paths, target.python.version]
    return [_build_inputs(target), *where]


def _wheel_components(component: str, *, plugin: bool) -> list[str]:
    return ["base", "python", component, *(["deepspeed_plugin"] if plugin else [])]


def _wheels(target: Target, where: Sequence[object], group: WheelGroup) -> Layer:
    # A target without an application can have its own requirements.
    own = target.application.component if target.application else "requirements"
    component = {"cann": "toolkit", "application": own}.get(group.group, group.group)
    plugin = group.name == "deepspeed" and target.deepspeed_plugin is not None
    built = sdists(target)
    return _layer(
        f"wheels-{group.name}",
        LayerKind.WHEELS,
        [*where, group.wheels, plugin],
        _wheel_components(component, plugin=plugin),
        wheels=group.wheels,
        sdists=tuple(wheel.name for wheel in group.wheels if wheel.name in built),
        plugin=plugin,
    )


def _vendor_wheels(
    target: Target, where: Sequence[object], names: Iterable[str]
) -> Iterable[Layer]:
    for component in names:
        file = target.artifacts[component]
        plugin = component == "deepspeed" and target.deepspeed_plugin is not None
        inputs = [*where, file.name, file.sha256, plugin]
        components = _wheel_components(component, plugin=plugin)
        more = {"artifact": component, "file": file, "plugin": plugin}
        name = f"wheels-vendor-{component}"
        yield _layer(name, LayerKind.VENDOR_WHEEL, inputs, components, **more)


def _built_wheels(
    target: Target,
    where: Sequence[object],
    lock: Lock,
    early: Iterable[WheelGroup],
    groups: Sequence[WheelGroup],
) -> Iterable[Layer]:
    """The wheels of ``groups``, which are built where those of ``early`` are importable."""
    if not groups:
        return
    # torch would import torch_npu, which needs CANN.
    importable = [_wheels(target, where, each) for each in early if each.group != "torch_npu"]
    needed = [lock.build.wheels if lock.build else (), *((e.name, e.inputs) for e in importable)]
    for group in groups:
        component = group.group.removeprefix(BUILT)
        built = target.built_wheels[component]
        plugin = component == "deepspeed" and target.deepspeed_plugin is not None
        made = [group.wheels, dict(built.environment), built.local, plugin]
        yield _layer(
            f"wheels-{group.name}",
            LayerKind.BUILT_WHEEL,
            [_system_inputs(target, lock), where, made, needed],
            [*_wheel_components(component, plugin=plugin), "toolkit", "torch"],
            wheels=group.wheels,
            built=built,
            importable=("build-requirements", *(each.stage for each in importable)),
            plugin=plugin,
        )


def _sources(target: Target) -> Iterable[Layer]:
    # Sources are equal for every machine and every glibc.
    python = [*interpreter_paths(target).values(), target.python.version]
    for source in target.application.sources if target.application else ():
        assert target.application
        inputs = [_build_inputs(target), *python, source.file.name, source.file.sha256]
        components = ["python", target.application.component]
        more = {"artifact": source.folder, "file": source.file}
        yield _layer(f"source-{source.folder}", LayerKind.SOURCE, inputs, components, **more)


def _guard(target: Target, lock: Lock) -> Layer:
    """The layer that describes the image; it changes with every component."""
    described = [target.id, target.platform, target.chip, target.components, lock.digest]
    inputs = [_build_inputs(target), *described, full_environment(target)]
    return _layer("guard", LayerKind.GUARD, inputs, _components_of(target))


def _build_inputs(target: Target) -> list[str]:
    """Inputs of every layer: the build stage's base, and the paths that all layers leave out."""
    return [target.build_base.image, *target.leave_out]


def _uses_base_python(target: Target) -> bool:
    """Whether the interpreter is the base's own."""
    return target.python.source is PythonSource.BASE


def _system_packages(target: Target) -> tuple[str, ...]:
    """The packages of the first layer."""
    own, compiler = _uses_base_python(target), target.flavour is not Flavour.RUNTIME
    return target.base.distribution.first_packages(own_python=own, compiler=compiler)


def _system_inputs(target: Target, lock: Lock) -> list[object]:
    """All that the first layer depends on."""
    version = target.python.version if _uses_base_python(target) else ""
    where = [_build_inputs(target), target.base.image, target.platform, version]
    return [*where, _system_packages(target), _recorded(lock, SYSTEM)]


def _system_components(target: Target) -> list[str]:
    """The components that the first layer has."""
    return ["base", *(["python"] if _uses_base_python(target) else [])]


def _wanted_packages(target: Target) -> dict[str, tuple[str, ...]]:
    """Component to what it asks for beside the first layer's packages."""
    wanted: dict[str, tuple[str, ...]] = {HCCL_TEST: (MPI,)} if target.hccl_test else {}
    application = target.application
    if application and application.packages:
        wanted[application.component] = application.packages
    return wanted


def _components_of(target: Target) -> set[str]:
    """The names of the components of ``target``."""
    own = [] if target.application else ["requirements"]
    return {*target.components, "pip", "py-spy", *(own if target.requirements else [])}


def components_named(name: str, targets: Sequence[Target]) -> frozenset[str]:
    """The components with the name ``name``, which may be an alias for several.

    Raises:
        UsageError: none of ``targets`` has it.
    """
    known = {each for target in targets for each in _components_of(target)}
    known |= {EVERY_LAYER, *_ALIASES}
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"no selected target has a component {name!r}. {hint}")
    return frozenset(_ALIASES.get(name, (name,)))


@dataclass(frozen=True, kw_only=True)
class SharedLayer:
    """A layer that several targets have; ``targets`` are their ids."""

    layer: Layer
    targets: tuple[str, ...]


def shared(layers: Mapping[str, Sequence[Layer]]) -> tuple[SharedLayer, ...]:
    """The layers that several targets have; ``layers`` maps ids of targets to their layers."""
    first: dict[str, Layer] = {}
    users: dict[str, list[str]] = {}
    for name, each in layers.items():
        for layer in each:
            first.setdefault(layer.identity, layer)
            users.setdefault(layer.identity, []).append(name)
    return tuple(
        SharedLayer(layer=first[identity], targets=tuple(names))
        for identity, names in users.items()
        if len(names) > 1
    )


_OWN_LAYER: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"torch"}),
    "torch_npu": frozenset({"torch-npu"}),
    "deepspeed": frozenset({"deepspeed"}),
    "ray": frozenset({"ray"}),
    TRITON_ASCEND: frozenset({"triton-ascend"}),
    "application": frozenset(
        {
            *("fonttools", "jieba", "matplotlib", "mindspore", "opencv-python-headless", "pandas"),
            *("pillow", "pyarrow", "transformers"),
        }
    ),
}
"""Group to the wheels that have their own layer: the components themselves, and wheels of 20 MB or
more that several applications need. Targets with different wheels still share these layers."""


@dataclass(frozen=True, kw_only=True)
class WheelGroup:
    """The wheels of one layer: ``name`` is the layer's, ``group`` the requirement group's."""

    name: str
    group: str
    wheels: tuple[LockedWheel, ...]


def wheel_groups(target: Target, lock: Lock) -> tuple[WheelGroup, ...]:
    """The wheels of each layer, in the order of the image.

    A wheel that several groups need is in the first of them.
    """
    children: dict[str, list[str]] = defaultdict(list)
    roots: dict[str, list[str]] = defaultdict(list)
    for wheel in lock.wheels:
        for parent in wheel.parents:
            children[parent].append(wheel.name)
        for group in wheel.groups:
            roots[group].append(wheel.name)
    left = {**lock.by_name}
    found: list[WheelGroup] = []
    for group in requirement_groups(target):
        taken: dict[str, LockedWheel] = {}
        waiting = [*roots.get(group, ())]
        while waiting:
            name = waiting.pop()
            # What an earlier group has taken, it has taken with all that this needs.
            if name in left:
                taken[name] = left.pop(name)
                waiting += children.get(name, ())
        found += _divided(group, [taken[name] for name in sorted(taken)])
    return tuple(found)


def _divided(group: str, wheels: Sequence[LockedWheel]) -> Sequence[WheelGroup]:
    """The layers of one group. The last one has the wheels that change with every lock.

    That of triton-ascend is after its requirements: up to 3.2.1 it replaces files of triton.
    """
    apart = _OWN_LAYER.get(group, frozenset())
    own = [wheel for wheel in wheels if wheel.name in apart]
    rest = tuple(wheel for wheel in wheels if wheel.name not in apart)
    names = {wheel.name: wheel.name.replace("-", "_") for wheel in own}
    alone = [WheelGroup(name=names[each.name], group=group, wheels=(each,)) for each in own]
    if not rest:
        return alone
    # torch itself may be a file of the vendor's, with a layer of its own.
    name = f"{group}-deps" if group in (*names.values(), "torch") else group
    others = WheelGroup(name=name, group=group, wheels=rest)
    return [others, *alone] if group == TRITON_ASCEND else [*alone, others]
