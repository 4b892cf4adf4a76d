# SPDX-License-Identifier: Apache-2.0
"""tests/workflow_jobs/README.md: the jobs that ran, and what was replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.workflow_jobs.github import Ran
from tests.workflow_jobs.scenarios import GITLAB, SCENARIOS, Scenario
from tests.workflow_jobs.stand_ins import ACTIONS, OTHERS
from tests.workflows.steps import ROOT, WORKFLOWS

RESULTS = Path(__file__).parent / "results.json"
PAGE = ROOT / "tests" / "workflow_jobs" / "README.md"

_HEAD = """\
# The jobs of the workflows, run on this machine

`nox -s workflow-jobs` runs every job of `.github/workflows` with [act](https://nektosact.com) and
of `.gitlab-ci.yml` with [gitlab-ci-local](https://github.com/firecow/gitlab-ci-local), from these
files, in containers, and writes this page. It needs root, the images that `nox -s image` builds,
and 4 GB of disk. `-- NAME` runs one scenario; `-- --reuse` starts with the reports of this
checkout, so that images that have passed are not tested again.

The table says what each job ended with. All of its steps ran, except those named after "without".
"""


def read() -> dict[str, Any]:
    """Scenario to its recorded results."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def record(scenario: Scenario, ran: Ran) -> None:
    """Keep the results of ``scenario``."""
    known = read() if RESULTS.exists() else {}
    known[scenario.name] = {"jobs": ran.jobs, "steps": ran.steps}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _not_run(workflow: str, job: str, ran: Mapping[str, Mapping[str, str]]) -> str:
    """The steps of ``job`` that were skipped, in words; GitLab's jobs have no steps."""
    if job not in ran:
        return ""
    names = [
        step.get("name", step.get("uses", "").split("@")[0])
        for step in WORKFLOWS[workflow]["jobs"][job]["steps"]
    ]
    skipped = [name for name in names if name not in ran[job]]
    return f", without {' and '.join(f'`{name}`' for name in skipped)}" if skipped else ""


def text() -> str:
    """The page."""
    known = read() if RESULTS.exists() else {}
    lines = [_HEAD, "## Jobs", "", "| scenario | event | jobs and results |", "|--|--|--|"]
    for each in SCENARIOS:
        file = ".gitlab-ci.yml" if each.workflow == GITLAB else f"{each.workflow}.yml"
        found = (
            known[each.name]["jobs"]
            if each.name in known
            else dict.fromkeys(each.results, "not run yet")
        )
        steps = known.get(each.name, {}).get("steps", {})
        jobs = "; ".join(
            f"{job}: {result}{_not_run(each.workflow, job, steps)}" for job, result in found.items()
        )
        lines.append(f"| {each.name} | {each.event} ({file}) | {jobs or 'none is started'} |")
    lines += ["", "## Replaced", "", "| replaced | by | because |", "|--|--|--|"]
    lines += [
        f"| action `{name}` | a stand-in that {does} | it needs GitHub |"
        for name, does in ACTIONS.items()
    ]
    lines += [f"| {' | '.join(row)} |" for row in OTHERS]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the page anew."""
    PAGE.write_text(text(), encoding="utf-8")
