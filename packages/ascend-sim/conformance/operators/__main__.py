# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.operators``: the operators of torch's OpInfo on the device."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from ascend_sim.command.errors import UsageError
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
    options.add_argument("--page", type=Path, default=PAGE, help="(default: operators.md)")
    which = options.add_mutually_exclusive_group()
    which.add_argument("--only", metavar="REGEX", help="operators whose name matches")
    which.add_argument("--draw", type=int, metavar="N", help="N operators, and none may fail")
    today = datetime.now(UTC).date().isoformat()
    options.add_argument(
        "--seed", default=today, help="of the cases, and of --draw (default: the date, %(default)s)"
    )
    options.add_argument(
        "--way", choices=("forward", "backward"), action="append", help="default: both"
    )
    options.add_argument("--jobs", type=int, default=2, help="workers at a time (default: 2)")
    options.add_argument("--json", type=Path, help="also keep every case's result in this file")
    return options


def require_none_failed(results: dict[str, run.Results]) -> None:
    """Nothing is wrong that is the device's.

    Raises:
        UsageError: something is; with the cases.
    """
    failed = [
        f"{way} {each.operator} {each.case}: {each.outcome}: {each.reason}"
        for way, found in results.items()
        for each in outcomes.failures(found)
        if each.outcome in outcomes.DEVICES
    ]
    if failed:
        raise UsageError("\n".join(["these cases fail on the device:", *failed]))


def measured(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure, print the summary, and write the page unless only some operators were asked for."""
    device = arguments.device or host.built(folder / "device")
    programs = run.Programs(
        arguments.python,
        host.environment(device.resolve(), folder, arguments.cann),
        arguments.seed,
    )
    versions = host.versions(programs.python, programs.environment, arguments.cann)
    only = arguments.only
    if arguments.draw:
        only = run.drawn(programs.names(), arguments.draw, arguments.seed)
        say(f"seed {arguments.seed}: {only}")
    results = {}
    for way in arguments.way or ("forward", "backward"):
        results[way] = run.measure(programs, way, only, arguments.jobs, say)
        if arguments.json:
            write_file(arguments.json, json.dumps(results, indent=1) + "\n")
    print(report.summary({way: outcomes.count(found) for way, found in results.items()}), end="")
    if arguments.draw:
        require_none_failed(results)
    if only is None and arguments.way is None:
        text = report.page(results, machine.described(), f"{versions}, seed {arguments.seed}")
        write_file(arguments.page, text)


def say(text: str) -> None:
    """Tell how far the run is."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run_program(measured, parser().parse_args()))
