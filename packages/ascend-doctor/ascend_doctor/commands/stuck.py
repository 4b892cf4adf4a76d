# SPDX-License-Identifier: Apache-2.0
"""``build.py stuck``: what a training run waits for, by the stacks of its ranks."""

from __future__ import annotations

from cannery.cli.common import read, read_files
from cannery.common import console
from cannery.common.errors import Problem, UsageError
from cannery.engine.containers import processes_of
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.stuck import StuckOptions
from cannery.stuck.dumps import parse_dump
from cannery.stuck.judge import group_processes, judge_run
from cannery.stuck.model import Missing, Process
from cannery.stuck.py_spy import sample
from cannery.stuck.ranks import ranks_below, ranks_of
from cannery.stuck.report import to_json, to_text


def run(given: Given, project: Project) -> int:
    """Print what the run waits for, and where its ranks stand.

    Raises:
        UsageError: nothing is named, or there is no such process.
        EngineError: the container does not run, or no process can be sampled.
        FileError, MatrixError: a dump cannot be read; with every problem.
    """
    options = read(StuckOptions, given, project)
    processes, missing = _processes(options)
    groups = group_processes(processes)
    report = to_json if options.json else to_text
    print(report(groups, judge_run(groups), missing), end="")
    return 0


def _processes(options: StuckOptions) -> tuple[list[Process], list[Missing]]:
    if options.dumps:
        found = read_files(options.dumps, parse_dump)
        return [process for each in found for process in each], []
    if not options.run:
        what = "stuck needs the id of a process, the name of a container, or --dump."
        raise UsageError(Problem(what=what, fix="See 'build.py stuck --help'."))
    if options.run.isascii() and options.run.isdigit() and len(options.run) < 10:
        ranks = ranks_below(int(options.run))
        if ranks[0].rank is None:
            text = f"process {options.run} and its descendants have no rank in their environment"
            console.say(f"{text}; only this process is sampled", "warning")
    else:
        ranks = ranks_of(processes_of(options.run))
    return sample(ranks, native=options.native, seconds=options.timeout, interval=options.interval)
