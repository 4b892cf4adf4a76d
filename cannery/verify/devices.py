# SPDX-License-Identifier: Apache-2.0
"""The devices on which images are checked, and the simulated driver of a target."""

from __future__ import annotations

from pathlib import Path

from cannery.common.errors import EngineError, Problem
from cannery.common.model import SIMULATED_CHIPS, DeviceKind, Target
from cannery.common.package_index import PackageIndex, package_index
from cannery.deploy.run_spec import RunSpec, no_device, npu_device, simulated_device
from cannery.engine.simulator import make_simulated, simulated
from cannery.image.simulator_spec import DEVICES
from cannery.matrix.project import Project
from cannery.verify.audit.facts import ImageFacts
from cannery.verify.audit.report import Result, Standing


def made_host(project: Project, target: Target) -> Path | None:
    """The simulated driver tree that containers of ``target`` mount; None if it does not exist."""
    host = simulated(project, target).host
    return host if host.is_dir() else None


def simulated_host(project: Project, target: Target, source: PackageIndex) -> Path:
    """The simulated driver tree that containers of ``target`` mount, made if it does not exist."""
    return made_host(project, target) or make_simulated(project, target, source).host


def device_specs(host: Path | None) -> list[RunSpec]:
    """The containers in which an image is checked: one without a driver and one with a device.

    The device is simulated if ``host``, the simulated driver tree, is given; otherwise it is this
    machine's NPUs, if it has any.
    """
    device = simulated_device(host) if host else npu_device()
    return [no_device(), device] if device else [no_device()]


def device_kinds(*, simulate: bool) -> frozenset[str]:
    """The kinds of device on which a run checks images."""
    real = npu_device()
    kind = DeviceKind.SIMULATED if simulate else real.kind if real else DeviceKind.NONE
    return frozenset({str(DeviceKind.NONE), str(kind)})


def device_for(
    project: Project, machine: str, facts: ImageFacts, *, simulate: bool
) -> tuple[RunSpec | None, list[Result]]:
    """A container with a device that the image can use, or a result with the reason for none."""
    stand_ins = bool(facts.cann and facts.cann.stand_ins)
    why, fix = "This machine has no NPU.", ""
    if simulate and stand_ins:
        return simulated_device(_host_for(project, machine, facts)), []
    if simulate:
        why = "The CANN of the image is Huawei's, which cannot use the simulated driver."
        why = why if facts.cann else "The image has no CANN."
        fix = "Test it on a machine with an NPU, without --simulate."
    elif stand_ins:
        why = "The CANN of the image is simulated, and needs the simulated driver."
        fix = "Add --simulate."
    elif real := npu_device():
        return real, []
    text = f"{why} Checks that need a device were not run."
    return None, [Result(check="device/used", standing=Standing.NOT_RUN, text=text, fix=fix)]


def cards_of_spec(spec: RunSpec) -> int:
    """The number of cards that a container with ``spec`` has."""
    if spec.kind is DeviceKind.SIMULATED:
        return DEVICES
    names = [Path(path).name.removeprefix("davinci") for path in spec.devices]
    return sum(name.isdigit() for name in names)


def _host_for(project: Project, machine: str, facts: ImageFacts) -> Path:
    """The simulated driver tree for the image's chip, which is made if there is none yet."""
    chips = facts.cann.chips if facts.cann else ()
    targets = [
        target
        for target in project.matrix().targets.values()
        if target.machine == machine and target.chip in {*chips} & {*SIMULATED_CHIPS}
    ]
    # Its target first: the driver is that of a chip, but the simulator is tested by target.
    targets.sort(key=lambda target: target.id != facts.own_record.get("id"))
    made = filter(None, (made_host(project, target) for target in targets))
    if targets:
        return next(made, None) or simulated_host(project, targets[0], package_index(None, ""))
    known = ", ".join(SIMULATED_CHIPS)
    what = f"there is no simulated device for {machine} and chip {', '.join(chips) or 'unknown'}."
    raise EngineError(Problem(what=what, fix=f"There are devices for {known} in matrix.yaml."))
