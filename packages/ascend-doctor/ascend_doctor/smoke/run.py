# SPDX-License-Identifier: Apache-2.0
"""Runs the smoke test on the cards of this host, or of this container."""

from __future__ import annotations

import json
import pkgutil
import platform
from collections import Counter

from ascend_doctor.host import run_program
from ascend_doctor.machine import Machine
from ascend_doctor.problems import FileError, Problem, UsageError

from .judge import NOTICE, NoDeviceError, device_in, judge_items, read_items
from .model import Document

SECONDS = 60
SIMULATED_SECONDS = 600
"""The time for a simulated device, whose programs are usually emulated, too."""

_GRACE = 30.0
"""Seconds after the end of the script's own time in which its last words are waited for."""

_LAST = 15
"""Lines of output that an error shows."""

_MOST = 1 << 24


def smoke(machine: Machine, name: str, python: str, cards: int, seconds: int) -> Document:
    """Test ``cards`` cards, or all for 0, with a Python that has torch and torch_npu.

    ``seconds`` are those after which it ends, 0 for the usual ones. ``name`` is that of the host.
    """
    source = pkgutil.get_data(__package__, "on_cards.py")
    assert source
    times = {"seconds": seconds or SECONDS, "simulated_seconds": seconds or SIMULATED_SECONDS}
    settings = json.dumps({"cards": cards, **times})
    argv = (python, "-c", source.decode("utf-8"), settings)
    output = run_program(argv, times["simulated_seconds"] + _GRACE, _MOST)
    if output.state == "missing":
        raise FileError(Problem(f"there is no Python {python}.", "Name one with --python."))
    items = read_items(output.text)
    try:
        device = device_in(items, simulated=NOTICE in output.text)
    except NoDeviceError as error:
        raise _no_device(str(error), output.text) from error
    if cards > device.count:
        what = f"--cards {cards} is more than there are, {device.count}."
        raise UsageError(Problem(what, f"Use --cards {device.count} or fewer."))
    return Document(
        host=name,
        hardware=_hardware(machine, simulated=device.simulated),
        where=str(machine.image.get("id", "")),
        device=device,
        checks=judge_items(items, device),
    )


def _hardware(machine: Machine, *, simulated: bool) -> str:
    """As in ``aarch64, 8 x 910B3, driver 24.1.rc3``."""
    if simulated:
        return f"{platform.machine()}, simulated NPU"
    names = Counter(chip.name for chip in machine.smi.chips)
    parts = [f"{count} x {name}" for name, count in sorted(names.items())]
    parts = parts or ["NPU of unknown kind"]
    parts += [f"driver {machine.driver_version}"] if machine.driver_version else []
    return ", ".join([platform.machine(), *parts])


def _no_device(why: str, said: str) -> FileError:
    """The error for a script that found no card; ``said`` is all that it printed."""
    lines = [line for line in said.splitlines() if line and not line.startswith("cannery-")]
    what = f"no card could be used: {why}."
    if lines and not why.startswith("ModuleNotFoundError"):
        what += " Its last lines:\n" + "\n".join(lines[-_LAST:]) + "\n"
    fix = "Check the devices with 'ascend-doctor', and name a Python with torch_npu with --python."
    return FileError(Problem(what, fix))
