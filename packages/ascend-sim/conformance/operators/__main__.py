# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.operators``: the operators of torch's OpInfo on the device."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from conformance import machine
from conformance.operators import host, outcomes, report, run
from conformance.program import run_program, write_file

PAGE = Path(__file__).parents[1] / "operators.md"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m conformance.operators", description=__doc__)
    options.add_argument("--python", required=True, help="a Python with torch and torch_npu")
    options.add_argument("--device", type=Path, help="what build.sh made; compiled when not given")
    options.add_argument(
        "--cann", default=host.CANN, help="the release of CANN that it tells (%(default)s)"
    )
    options.add_argument("--only", metavar="REGEX", help="operators whose name matches")
    options.add_argument(
        "--way", choices=("forward", "backward"), action="append", help="default: both"
    )
    options.add_argument("--jobs", type=int, default=2, help="workers at a time (default: 2)")
    options.add_argument("--json", type=Path, help="also keep every case's result in this file")
    return options


def measured(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure, print the summary, and write the page unless only some operators were asked for."""
    device = arguments.device or host.built(folder / "device")
    programs = run.Programs(
        arguments.python, host.environment(device.resolve(), folder, arguments.cann)
    )
    versions = host.versions(programs.python, programs.environment, arguments.cann)
    say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731 - one use
    results = {}
    for way in arguments.way or ("forward", "backward"):
        results[way] = run.measure(programs, way, arguments.only, arguments.jobs, say)
        if arguments.json:
            write_file(arguments.json, json.dumps(results, indent=1) + "\n")
    print(report.summary({way: outcomes.count(found) for way, found in results.items()}), end="")
    if arguments.only is None and arguments.way is None:
        text = report.page(results, machine.described(), versions)
        write_file(PAGE, text)


if __name__ == "__main__":
    sys.exit(run_program(measured, parser().parse_args()))
