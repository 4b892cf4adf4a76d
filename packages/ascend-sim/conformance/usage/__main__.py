# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.usage``: what people do with torch_npu, on the device, with four torches.

Writes conformance/usage.md. Each torch is downloaded, a GB. torch_npu 2.13.0 aborts beside a torch
for CUDA, so UV_FIND_LINKS must name a folder with the wheel of torch 2.13.0+cpu.
"""

from __future__ import annotations

import argparse
import platform
import re
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ascend_sim.command.errors import UsageError
from conformance import machine
from conformance.program import run_program, write_file
from conformance.releases import native
from conformance.usage.checks import CHECKS
from conformance.usage.processes import CARDS
from tools import archive
from tools.wheel import compiled

PAGE = Path(__file__).parents[1] / "usage.md"
PYTHON = "3.11"
PAIRS = {"2.7.1": "2.7.1.post2", "2.9.0": "2.9.0.post2", "2.10.0": "2.10.0", "2.13.0": "2.13.0"}
"""torch, and its torch_npu."""
RUNS = 20
"""Of the checks that could hang."""
USAGE = native.Program(
    "conformance.usage.checks",
    tuple(check.__name__ for check in CHECKS),
    hang=7200,
    arguments=(f"--runs={RUNS}",),
)
"""Idle, it takes 20 minutes."""
MANY = re.compile(r"pass, (\d+) runs of at most (\d+) s")
HUNG = f" ended with -{signal.SIGALRM.value}: "
HEADING = f"""\
# What people do with torch_npu, on the software device

`nox -s usage` wrote this page. Each check is a small program as a stranger writes it
(`conformance/usage`): what is computed must be as on the CPU, and an error as on the card. They run
on `ascend-sim run --cards {CARDS}`, which refuses what a 910B refuses, with Python {PYTHON} and the
torch of the package index, but for 2.13.0: that torch_npu aborts beside a torch for CUDA (in
registerDeviceConfigParserHook), and runs with the one for the CPU. torch_npu's task queue is as it
is by default.

"""


def page(found: Mapping[str, native.Results], used: str) -> str:
    """The table of the results: a row a check, a column a torch_npu."""
    lines = [f"| check | {' | '.join(found)} |", f"| -- |{' -- |' * len(found)}"]
    for check in CHECKS:
        title = (check.__doc__ or "").partition("\n")[0]
        cells = [results[check.__name__].replace("|", "/") for results in found.values()]
        lines.append(f"| {check.__name__}: {title} | {' | '.join(cells)} |")
    return f"{HEADING}Run {used}. {repeated(found)}\n\n" + "\n".join(lines) + "\n"


def repeated(found: Mapping[str, native.Results]) -> str:
    """How many runs the checks had that could hang, and the longest of those that passed."""
    cells = [result for results in found.values() for result in results.values()]
    runs = [(int(match[1]), int(match[2])) for cell in cells if (match := MANY.fullmatch(cell))]
    hung = sum(HUNG in cell for cell in cells)
    return (
        f"Checks that could hang ran {sum(count for count, _ in runs)} times in all and passed; "
        f"{hung} hung; the slowest took {max((slowest for _, slowest in runs), default=0)} s."
    )


def measured(arguments: argparse.Namespace, folder: Path) -> None:
    """Run all pairs and write the page."""
    python = native.interpreter(PYTHON)
    if python is None:
        raise UsageError(f"this machine has no Python {PYTHON}: install it")
    here = platform.machine()
    device = arguments.device or compiled(here, folder / "device")
    sim = native.unpacked(archive.wheel(device, here), folder / "sim")
    found = {}
    for torch, torch_npu in PAIRS.items():
        with native.torch(torch, python, sim, folder / "torch") as installed:
            found[torch_npu] = installed.checked(USAGE, torch_npu)
            print(f"torch_npu {torch_npu}: {found[torch_npu]}", file=sys.stderr, flush=True)
    used = f"on {datetime.now(UTC).date().isoformat()} on {machine.described()}"
    write_file(PAGE, page(found, used))


def main() -> int:
    """Run as a program."""
    options = argparse.ArgumentParser(prog="python -m conformance.usage", description=__doc__)
    options.add_argument("--device", type=Path, help="what build.sh made; compiled when not given")
    return run_program(measured, options.parse_args())


if __name__ == "__main__":
    sys.exit(main())
