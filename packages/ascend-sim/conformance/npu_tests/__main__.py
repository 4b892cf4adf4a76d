# SPDX-License-Identifier: Apache-2.0
"""``python -m conformance.npu_tests``: op-plugin's and torch_npu's tests on the device."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ascend_sim.command.errors import UsageError
from conformance import machine
from conformance.npu_tests import report, run
from conformance.npu_tests.checkout import SUITES, commits, copied, ordered
from conformance.operators import host
from conformance.operators.run import Results
from conformance.program import run_program, write_file

PAGE = Path(__file__).parents[1] / "npu-tests.md"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m conformance.npu_tests", description=__doc__)
    options.add_argument("--python", required=True, help="a Python with torch, torch_npu, pytest")
    for name in SUITES:
        options.add_argument(f"--{name}", type=Path, help=f"a checkout of Ascend/{name}")
    options.add_argument("--device", type=Path, help="what build.sh made; compiled when not given")
    options.add_argument(
        "--cann", default=host.CANN, help="the release of CANN that it tells (%(default)s)"
    )
    options.add_argument("--only", metavar="REGEX", help="files whose path matches; no page")
    options.add_argument("--seed", type=int, default=0, help="decides the order of the files")
    options.add_argument("--minutes", type=float, help="begin no file after this time")
    options.add_argument("--jobs", type=int, default=2, help="files at a time (default: 2)")
    options.add_argument("--json", type=Path, help="also keep every case's result in this file")
    options.add_argument(
        "--resume", action="store_true", help="run only files of which --json has no results"
    )
    return options


def kept(place: Path | None) -> Results:
    """The results of an earlier run.

    Raises:
        UsageError: there are none.
    """
    if place is None or not place.is_file():
        raise UsageError("--resume needs --json FILE, with the results of an earlier run")
    found: Results = json.loads(place.read_text(encoding="utf-8"))
    return found


def measured(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure, print the summary, and write the page unless only some files were asked for."""
    named = {name: getattr(arguments, name.replace("-", "_")) for name in SUITES}
    checkouts = {name: root.resolve() for name, root in named.items() if root}
    if not checkouts:
        raise UsageError(f"name a checkout: {' or '.join(f'--{name} PATH' for name in SUITES)}")
    every = [
        file for name, root in checkouts.items() for file in copied(SUITES[name], root, folder)
    ]
    device = (arguments.device or host.built(folder / "device")).resolve()
    # These tests compare values with the CPU's, in more types than an NPU takes.
    settings = host.environment(device, folder, arguments.cann) | {"NPUSIM_LENIENT": "1"}
    versions = host.versions(arguments.python, settings, arguments.cann)
    run_all = run.Run(
        run.Programs(arguments.python, settings, folder),
        ordered(every, arguments.only, arguments.seed),
        arguments.minutes,
        kept(arguments.json) if arguments.resume else {},
    )
    for line in run_all.progress(arguments.jobs):
        print(line, file=sys.stderr, flush=True)
        if arguments.json:
            write_file(arguments.json, json.dumps(run_all.found, indent=1) + "\n")
    print(report.summary(run_all.found), end="")
    if arguments.only is None:
        where = machine.described()
        text = report.page(run_all.found, len(every), f"{versions}, {commits(checkouts)}, {where}")
        write_file(PAGE, text)


if __name__ == "__main__":
    sys.exit(run_program(measured, parser().parse_args()))
