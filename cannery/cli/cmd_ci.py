# SPDX-License-Identifier: Apache-2.0
"""``build.py ci``: the jobs of a CI run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from cannery.build.ci_jobs import Job
from cannery.build.ci_plan import plan_ci
from cannery.build.ci_report import to_github, to_gitlab, to_names
from cannery.cli.common import read, selected
from cannery.matrix.project import Project
from cannery.options.ci import CiOptions
from cannery.options.given import Given
from cannery.options.shared import TargetOptions


def run(given: Given, project: Project) -> int:
    """Print the jobs in the form of a CI service.

    Raises:
        CanneryError: as ``plan_ci``.
    """
    options = read(CiOptions, given, project)
    jobs = plan_ci(project, selected(read(TargetOptions, given, project), project), options)
    formats: dict[str, Callable[[Sequence[Job]], str]] = {
        "github": to_github,
        "gitlab": partial(to_gitlab, simulate=options.simulate),
        "names": to_names,
    }
    print(formats[options.format](jobs), end="")
    return 0
