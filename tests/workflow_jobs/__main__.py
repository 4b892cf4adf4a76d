# SPDX-License-Identifier: Apache-2.0
"""Runs every job of the workflows on this machine; see tests/workflow_jobs/README.md.

python -m tests.workflow_jobs [--reuse] [SCENARIO...]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import traceback
from dataclasses import replace

from tests.workflow_jobs import github, gitlab
from tests.workflow_jobs.place import FOLDER, Place, build_runner, place
from tests.workflow_jobs.scenarios import GITLAB, SCENARIOS, Scenario, environment
from tests.workflows.steps import ROOT


def _run(scenario: Scenario, where: Place) -> None:
    """Run the jobs of ``scenario``, and compare results and effects with the expected ones."""
    where = replace(where, more=scenario.variables)
    where.start_over(scenario.change)
    env = environment(scenario, where)
    if scenario.workflow == GITLAB:
        ran = github.Ran(jobs=gitlab.run(where, scenario.told, env))
    else:
        told = github.event(scenario.event, where, **scenario.told)
        ran = github.run(scenario.workflow, scenario.event, where, told, env)
    assert ran.jobs == scenario.results, ran
    steps = [pair for each in ran.steps.values() for pair in each.items()]
    assert tuple(name for name, result in steps if result == "failure") == scenario.failing, ran
    scenario.check(where)


def main() -> int:
    """Run the scenarios and print a table; 1 if one has failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.workflow_jobs")
    reuse = "start with the simulated drivers and reports that 'nox -s image' left in this checkout"
    parser.add_argument("--reuse", action="store_true", help=reuse)
    parser.add_argument("names", nargs="*", choices=[*(each.name for each in SCENARIOS), []])
    arguments = parser.parse_args()
    build_runner()
    chosen = [each for each in SCENARIOS if each.name in (arguments.names or [each.name])]
    failed = []
    with place() as where:
        if arguments.reuse:
            for name in ("simulator", "reports"):
                source, to = ROOT / ".cannery" / name, FOLDER / ".cannery" / name
                shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
        for each in chosen:
            print(f"== {each.name}", flush=True)
            try:
                _run(each, where)
            except Exception:  # noqa: BLE001
                traceback.print_exc()
                failed.append(each.name)
    for each in chosen:
        print(f"{each.name:24} {'failed' if each.name in failed else 'passed'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
