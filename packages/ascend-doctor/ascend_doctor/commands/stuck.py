# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor stuck``: what a training run waits for, by the stacks of its ranks."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from ascend_doctor.stuck.dumps import parse_dump
from ascend_doctor.stuck.judge import group_processes, judge_run
from ascend_doctor.stuck.model import Missing, Process
from ascend_doctor.stuck.py_spy import sample
from ascend_doctor.stuck.ranks import ranks_below, ranks_here
from ascend_doctor.stuck.report import to_json, to_text
from ascend_doctor.untrusted import read_files

from .options import parser, whole

SUMMARY = "find out what a training run that hangs waits for"

_INTERVAL, _TIMEOUT = 2, 10


def main(argv: Sequence[str]) -> int:
    """Print what the run waits for, and where its ranks stand.

    Raises:
        UsageError: there is no such process, or no rank.
        FileError: no process can be sampled, or a dump cannot be read; with every problem.
    """
    options = _options()
    given = options.parse_args(argv)
    if given.dump and (given.pid or given.native or given.interval or given.timeout):
        options.error("--dump reads files, so it goes with --json only")
    processes, missing = _processes(given)
    groups = group_processes(processes)
    report = to_json if given.json else to_text
    print(report(groups, judge_run(groups), missing), end="")
    return 0


def _processes(given: argparse.Namespace) -> tuple[list[Process], list[Missing]]:
    if given.dump:
        found = read_files(given.dump, parse_dump)
        return [process for each in found for process in each], []
    ranks = ranks_below(given.pid) if given.pid else ranks_here()
    if ranks[0].rank is None:
        text = f"process {given.pid} and its descendants have no rank in their environment"
        print(f"ascend-doctor: {text}; only this process is sampled.", file=sys.stderr)
    interval = _INTERVAL if given.interval is None else given.interval
    seconds = given.timeout or _TIMEOUT
    return sample(ranks, native=given.native, seconds=seconds, interval=interval)


def _options() -> argparse.ArgumentParser:
    options = parser(
        "stuck",
        "Takes the Python stacks of all ranks of a run with py-spy, shows which ranks stand "
        "together, and says whether the run waits for data, a collective, compilation or the "
        "device, or works. The ranks are the processes with RANK or LOCAL_RANK in their "
        "environment. Changes nothing: each process stops for a moment.",
        "0 there is a verdict, 2 wrong use or no such process, 9 no process could be sampled, or "
        "a dump cannot be read",
    )
    options.add_argument(
        "pid",
        metavar="PID",
        nargs="?",
        type=whole(1, 1 << 22),
        help="the launcher or a rank of the run, or any process of its container (default: all "
        "processes here)",
    )
    options.add_argument(
        "--dump",
        metavar="FILE",
        nargs="+",
        help="read saved dumps instead: of 'py-spy dump', as text or JSON, with the rank in the "
        "file's name (rank3.json); or of 'ascend-doctor stuck --json', one of each node",
    )
    _add_sampling(options)
    options.add_argument(
        "--json",
        action="store_true",
        help="print a JSON document, which --dump can read on another node",
    )
    return options


def _add_sampling(options: argparse.ArgumentParser) -> None:
    """How processes are sampled."""
    options.add_argument(
        "--native",
        action="store_true",
        help="also show the functions of C and C++, which tell what CANN does",
    )
    options.add_argument(
        "--interval",
        metavar="SECONDS",
        type=whole(0, 600),
        help="the time until a second sample, which tells what moves; 0 for none (default: "
        f"{_INTERVAL})",
    )
    options.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=whole(1, 600),
        help="the time after which a py-spy that does not answer is stopped; a process that waits "
        f"in the kernel is then read without stopping it (default: {_TIMEOUT})",
    )
