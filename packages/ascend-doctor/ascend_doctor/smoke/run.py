# SPDX-License-Identifier: Apache-2.0
"""Runs the smoke test in a container of an image, or in one that runs already."""

from __future__ import annotations

import json
import platform

from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.model import MACHINE_OF, DeviceKind
from cannery.deploy.run_spec import RunSpec, no_device
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.hardware import hardware
from cannery.image.simulated import ENVIRONMENT
from cannery.matrix.project import Project
from cannery.options.smoke import SECONDS, SIMULATED_SECONDS, SmokeOptions
from cannery.smoke.judge import NOTICE, NoDeviceError, device_in, judge_items, read_items
from cannery.smoke.model import Document
from cannery.verify.devices import cards_of_spec, device_for
from cannery.verify.probing import (
    NO_PYTHON,
    NoFactsError,
    probe,
    read_config,
    run_program,
)

_GRACE = 30.0
"""Seconds after the end of the script's own time in which its last words are waited for."""

_LAST = 15
"""Lines of output that an error shows."""


def smoke_image(project: Project, options: SmokeOptions) -> Document:
    """Test the cards of this host in a container of an image.

    Raises:
        EngineError: there is no such image, no device that it can use, or no result.
        UsageError: there are fewer cards.
        CanneryError: matrix.yaml cannot be read, or the simulated driver cannot be made.
    """
    config = read_config(options.image)
    machine = MACHINE_OF.get(config.architecture, config.architecture)
    console.say(f"{options.image}: finding out what is in it")
    with containers.container(config.id, config.platform, no_device(), None) as container:
        try:
            found = probe(container)
        except NoFactsError as error:
            raise EngineError(f"nothing can be run in {options.image}: {error}.") from error
    spec, missing = device_for(project, machine, found, simulate=options.simulate)
    if not spec:
        raise EngineError([Problem(what=each.text, fix=each.fix) for each in missing])
    _check_cards(options, spec)
    with containers.container(config.id, config.platform, spec, None) as container:
        simulated = spec.kind is DeviceKind.SIMULATED
        return _smoke(container, options.image, machine, options, simulated=simulated)


def smoke_container(options: SmokeOptions) -> Document:
    """Test the cards of a running container.

    Raises:
        EngineError: it does not run, has no card, or printed no result.
    """
    attributes = containers.check_running(options.container)
    marks = {f"{name}={value}" for name, value in ENVIRONMENT.items()}
    simulated = marks <= {*(attributes["Config"].get("Env") or ())}
    architecture = engine.image_architecture(str(attributes["Image"]))
    machine = MACHINE_OF.get(architecture, architecture)
    return _smoke(options.container, options.container, machine, options, simulated=simulated)


def _check_cards(options: SmokeOptions, spec: RunSpec) -> None:
    have = cards_of_spec(spec)
    if options.cards and options.cards > have:
        what = f"--cards {options.cards} is more than this host has, {have}."
        raise UsageError(Problem(what=what, fix=f"Use --cards {have} or fewer."))


def _smoke(
    container: str, where: str, machine: str, options: SmokeOptions, *, simulated: bool
) -> Document:
    seconds = options.seconds or (SIMULATED_SECONDS if simulated else SECONDS)
    settings = {"cards": options.cards or 0, "seconds": seconds, "simulated": simulated}
    console.say(f"{where}: testing its cards, for at most {seconds} s")
    environment = {"CANNERY_SMOKE": json.dumps(settings)}
    _, said = run_program(container, "smoke.py", seconds + _GRACE, environment)
    items = read_items(said)
    try:
        device = device_in(items, simulated=simulated or NOTICE in said)
    except NoDeviceError as error:
        raise _no_device(where, str(error), said) from error
    kind = DeviceKind.SIMULATED if device.simulated else DeviceKind.NPU
    return Document(
        host=platform.node(),
        hardware=hardware(kind, machine),
        where=where,
        device=device,
        checks=judge_items(items, device),
    )


def _no_device(where: str, why: str, said: str) -> EngineError:
    """The error for a script that found no card; ``said`` is all that it printed."""
    if NO_PYTHON in said:
        return EngineError(f"{where} has no Python of 3.5 or later, which the test needs.")
    lines = [line for line in said.splitlines() if line and not line.startswith("cannery-")]
    what = f"{where}: no card could be used: {why}."
    if lines:
        what += " Its last lines:\n" + "\n".join(lines[-_LAST:]) + "\n"
    fix = "Check the devices with 'ascend-doctor' in the container."
    return EngineError(Problem(what=what, fix=fix))
