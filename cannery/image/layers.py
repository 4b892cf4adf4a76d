# SPDX-License-Identifier: Apache-2.0
"""The layers of an image, in the order of its Dockerfile. This is the only list of them.

The template, plans, shards, records, the catalogue and the documents of an image read them here.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from cannery.common.bases import MPI, File, PythonSource
from cannery.common.errors import UsageError, did_you_mean
from cannery.common.model import HCCL_TEST, TRITON_ASCEND, Flavour, Target
from cannery.common.wheels import BuiltWheel
from cannery.image.environment import PythonPaths
from cannery.lock.lock_file import Lock, LockedWheel
from cannery.lock.requirements import BUILT, Requirements

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

_SIZES = {
    "os": 250,
    "toolkit": 3000,
    "kernels": 1500,
    "nnal": 600,
    "wheels-torch": 450,
    "wheels-torch_npu": 100,
    "wheels-cann": 250,
    "wheels-mindspore": 1000,
    "wheels-application": 500,
    "wheels-transformers": 50,
    "wheels-pandas": 70,
    "wheels-pyarrow": 120,
    "wheels-built-vllm": 50,
}
"""MB per layer, unpacked. By them the distinct layers of 72 simulated
targets have 27.4 GB; they had 25.3 GB."""

_OTHER_SIZE = 20

SYSTEM = "os"
"""The name of the first layer."""

EVERY_LAYER = "build_base"
"""The component of every layer: the base image of the ``build`` stage."""

_PACKAGES = "packages"
"""The component of the packages of the operating system that a target itself asks for."""

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
    ``components`` rebuilds the layer. ``weight`` is its cost in seconds.
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
        content = [self.name, *self.inputs]
        text = json.dumps(content, sort_keys=True, default=lambda wheel: wheel.requirement)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def weight(self) -> float:
        return _WEIGHTS.get(self.name, _OTHER_WEIGHT)

    def size(self, *, simulated: bool) -> int:
        """Estimated bytes; the packages of a simulated CANN are small."""
        is_small = simulated and self.kind is LayerKind.CANN
        return 10**6 * (_OTHER_SIZE if is_small else _SIZES.get(self.name, _OTHER_SIZE))


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


def wheel_groups(requirements: Requirements, lock: Lock) -> tuple[WheelGroup, ...]:
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
    divided: list[WheelGroup] = []
    for group in requirements.groups:
        taken: dict[str, LockedWheel] = {}
        waiting = [*roots.get(group, ())]
        while waiting:
            name = waiting.pop()
            # What an earlier group has taken, it has taken with all that this needs.
            if name in left:
                taken[name] = left.pop(name)
                waiting += children.get(name, ())
        divided += _divided(group, [taken[name] for name in sorted(taken)])
    return tuple(divided)


def _divided(group: str, wheels: Sequence[LockedWheel]) -> Sequence[WheelGroup]:
    """The layers of one group. The last one has the wheels that change with every lock.

    That of triton-ascend is after its requirements: up to 3.2.1 it replaces files of triton.
    """
    apart = _OWN_LAYER.get(group, frozenset())
    single = [wheel for wheel in wheels if wheel.name in apart]
    rest = tuple(wheel for wheel in wheels if wheel.name not in apart)
    names = {wheel.name: wheel.name.replace("-", "_") for wheel in single}
    alone = [WheelGroup(name=names[wheel.name], group=group, wheels=(wheel,)) for wheel in single]
    if not rest:
        return alone
    # torch itself may be a file of the vendor's, with a layer of its own.
    name = f"{group}-deps" if group in (*names.values(), "torch") else group
    others = WheelGroup(name=name, group=group, wheels=rest)
    return [others, *alone] if group == TRITON_ASCEND else [*alone, others]


def layers_of(
    requirements: Requirements, lock: Lock, paths: PythonPaths, environment: Mapping[str, str]
) -> tuple[Layer, ...]:
    """The layers of a target, whose wheels ``lock`` holds, in the order of the Dockerfile.

    ``environment`` is the image's ENV.
    """
    target, groups = requirements.target, wheel_groups(requirements, lock)
    make = _Layers(requirements, lock, paths)
    late = [TRITON_ASCEND] if TRITON_ASCEND in target.vendor_wheels else []
    early_groups = ("cann", "torch", "torch_npu")
    early = [make.wheels(group) for group in groups if group.group in early_groups]
    # torch would import torch_npu, which needs CANN.
    importable = [make.wheels(group) for group in groups if group.group in ("cann", "torch")]
    built = [group for group in groups if group.group.startswith(BUILT)]
    others = [g for g in groups if g not in built and g.group not in early_groups]
    last = [group for group in others if group.name == "application"]
    triton = [group for group in others if group.group == TRITON_ASCEND]
    between = [group for group in others if group not in last and group not in triton]
    cann, packages = make.cann(), make.packages()
    return (
        make.operating_system(),
        *make.python(),
        *cann,
        *make.cann_python(cann),
        *early,
        *(make.vendor_wheel(name) for name in target.vendor_wheels if name not in late),
        *(make.built_wheel(group, importable) for group in built),
        *(make.wheels(group) for group in between),
        *packages,
        *make.hccl_test(packages, cann),
        *(make.wheels(group) for group in last),
        *make.sources(),
        *(make.wheels(group) for group in triton),
        *(make.vendor_wheel(name) for name in late),
        make.guard(environment),
    )


class _Layers:
    """Makes the layers of one target from the inputs that several of them share."""

    def __init__(self, requirements: Requirements, lock: Lock, paths: PythonPaths) -> None:
        target = self._target = requirements.target
        self._lock = lock
        base, python = target.base, target.python
        is_in_base = python.source is PythonSource.BASE
        # The build stage's base, and the paths that are removed from every layer.
        self._build = [target.build_base.image, *target.leave_out]
        self._packages = base.distribution.first_packages(
            own_python=is_in_base, compiler=target.flavour is not Flavour.RUNTIME
        )
        self._system: list[object] = [
            *(self._build, base.image, target.platform, python.version if is_in_base else ""),
            *(self._packages, self._recorded(SYSTEM)),
        ]
        self._system_components = ["base", "python"] if is_in_base else ["base"]
        self._python = [paths.prefix, paths.interpreter, paths.site_packages, python.version]
        self._compiled, self._sdists = paths.compiled, {*requirements.sdists}
        self._wheels = [self._build, target.machine, base.glibc, *self._python]

    def _recorded(self, layer: str) -> str:
        return self._lock.debs.digest(layer) if self._lock.debs else ""

    def operating_system(self) -> Layer:
        return _layer(
            *(SYSTEM, LayerKind.SYSTEM, self._system, self._system_components),
            packages=self._packages,
            recorded=self._recorded(SYSTEM),
        )

    def python(self) -> Iterator[Layer]:
        if archive := self._target.artifacts.get("python"):
            inputs = [self._build, archive.name, archive.sha256]
            yield _layer(
                *("python", LayerKind.PYTHON, inputs, ["python"]), artifact="python", file=archive
            )

    def cann(self) -> list[Layer]:
        """Toolkit, kernels and NNAL, in the vendor's order, each installed on the one before.

        For several chips of a release NNAL's step runs again, and gives a layer with the same
        digest.
        """
        target = self._target
        inputs: list[object] = [self._build, target.platform]
        inputs += ["emulated"] if target.emulated else []
        layers: list[Layer] = []
        after = "installer"
        releases = {"toolkit": target.cann, "kernels": target.kernels, "nnal": target.nnal}
        for name, release in releases.items():
            if file := target.artifacts.get(name):
                source = [file.name, file.sha256]
                if target.vendor_image:
                    source = [target.vendor_image.rpartition("@")[2]]
                inputs = [*inputs, release.version, *source]
                components = [*(layer.name for layer in layers), name]
                more = {"stage": f"layer-{name}", "artifact": name, "file": file, "after": after}
                layers.append(_layer(name, LayerKind.CANN, inputs, components, **more))
                after = name if target.emulated else f"layer-{name}"
        return layers

    def cann_python(self, cann: Sequence[Layer]) -> Iterator[Layer]:
        """CANN's Python files, compiled: images with different Pythons share all else of CANN."""
        if self._compiled:
            inputs = [*cann[-1].inputs, self._target.python.version]
            components = ["base", "python", *(layer.name for layer in cann)]
            yield _layer("cann-python", LayerKind.CANN_PYTHON, inputs, components)

    def wheels(self, group: WheelGroup) -> Layer:
        # A target without an application can have its own requirements.
        application = self._target.application
        requirements = application.component if application else "requirements"
        component = {"cann": "toolkit", "application": requirements}.get(group.group, group.group)
        plugin = self._has_plugin(group.name)
        return _layer(
            f"wheels-{group.name}",
            LayerKind.WHEELS,
            [*self._wheels, group.wheels, plugin],
            _wheel_components(component, plugin=plugin),
            wheels=group.wheels,
            sdists=tuple(wheel.name for wheel in group.wheels if wheel.name in self._sdists),
            plugin=plugin,
        )

    def vendor_wheel(self, component: str) -> Layer:
        file, plugin = self._target.artifacts[component], self._has_plugin(component)
        return _layer(
            f"wheels-vendor-{component}",
            LayerKind.VENDOR_WHEEL,
            [*self._wheels, file.name, file.sha256, plugin],
            _wheel_components(component, plugin=plugin),
            artifact=component,
            file=file,
            plugin=plugin,
        )

    def built_wheel(self, group: WheelGroup, importable: Sequence[Layer]) -> Layer:
        """A wheel that is built where those of ``importable`` can be imported."""
        component = group.group.removeprefix(BUILT)
        built = self._target.built_wheels[component]
        plugin = self._has_plugin(component)
        lock = self._lock.build
        needed = [lock.wheels if lock else (), *((e.name, e.inputs) for e in importable)]
        made = [group.wheels, dict(built.environment), built.local, plugin]
        return _layer(
            f"wheels-{group.name}",
            LayerKind.BUILT_WHEEL,
            [self._system, self._wheels, made, needed],
            [*_wheel_components(component, plugin=plugin), "toolkit", "torch"],
            wheels=group.wheels,
            built=built,
            importable=("build-requirements", *(layer.stage for layer in importable)),
            plugin=plugin,
        )

    def _has_plugin(self, component: str) -> bool:
        return component == "deepspeed" and self._target.deepspeed_plugin is not None

    def packages(self) -> list[Layer]:
        """One layer, because it has the package manager's list of all that is installed."""
        target, application = self._target, self._target.application
        packages_of: dict[str, tuple[str, ...]] = {HCCL_TEST: (MPI,)} if target.hccl_test else {}
        if application and application.packages:
            packages_of[application.component] = application.packages
        if target.packages:
            packages_of[_PACKAGES] = target.packages
        if not packages_of:
            return []
        packages = target.base.distribution.packages_for(*sum(packages_of.values(), ()))
        name = f"packages-{HCCL_TEST}" if [*packages_of] == [HCCL_TEST] else "packages-application"
        recorded = self._recorded(name)
        inputs = [*self._system, packages, recorded]
        components = [*self._system_components, *packages_of]
        more = {"packages": packages, "recorded": recorded}
        return [_layer(name, LayerKind.PACKAGES, inputs, components, **more)]

    def hccl_test(self, packages: Sequence[Layer], cann: Sequence[Layer]) -> Iterator[Layer]:
        if self._target.hccl_test:
            [mpi], [toolkit, *_] = packages, cann
            inputs = [mpi.inputs, toolkit.inputs]
            components = [HCCL_TEST, "toolkit", *self._system_components]
            yield _layer(HCCL_TEST, LayerKind.HCCL_TEST, inputs, components, after=mpi.stage)

    def sources(self) -> Iterator[Layer]:
        # Sources are equal for every machine and every glibc.
        application = self._target.application
        for source in application.sources if application else ():
            assert application
            inputs = [self._build, *self._python, source.file.name, source.file.sha256]
            components = ["python", application.component]
            more = {"artifact": source.folder, "file": source.file}
            yield _layer(f"source-{source.folder}", LayerKind.SOURCE, inputs, components, **more)

    def guard(self, environment: Mapping[str, str]) -> Layer:
        """The layer that describes the image; it changes with every component."""
        target = self._target
        described = [target.id, target.platform, target.chip, target.components, self._lock.digest]
        inputs = [self._build, *described, environment]
        return _layer("guard", LayerKind.GUARD, inputs, _components_of(target))


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


def _wheel_components(component: str, *, plugin: bool) -> list[str]:
    return ["base", "python", component, *(["deepspeed_plugin"] if plugin else [])]


def _components_of(target: Target) -> set[str]:
    requirements = ["requirements"] if target.requirements and not target.application else []
    requirements += [_PACKAGES] if target.packages else []
    return {*target.components, "pip", "py-spy", *requirements}


def components_named(name: str, targets: Sequence[Target]) -> frozenset[str]:
    """The components with the name ``name``, which may be an alias for several."""
    known = {name for target in targets for name in _components_of(target)}
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
    for name, layers_of_target in layers.items():
        for layer in layers_of_target:
            first.setdefault(layer.identity, layer)
            users.setdefault(layer.identity, []).append(name)
    return tuple(
        SharedLayer(layer=first[identity], targets=tuple(names))
        for identity, names in users.items()
        if len(names) > 1
    )
