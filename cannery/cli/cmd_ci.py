# SPDX-License-Identifier: Apache-2.0
"""``build.py ci``: the jobs of a CI run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from cannery.cli.common import PROJECT, selected
from cannery.errors import UsageError
from cannery.pipeline.ci import CiOptions, plan_ci
from cannery.plan.ci_jobs import Job
from cannery.report.ci import to_github, to_gitlab, to_names


def run(options: argparse.Namespace) -> int:
    """Print the jobs in the form of a CI service.

    Raises:
        CanneryError: as ``plan_ci``.
        UsageError: options that contradict each other.
    """
    if options.all and options.target:
        raise UsageError("--all means every target. Leave out --target.")
    wanted = CiOptions(
        simulate=options.simulate,
        artifacts=options.artifacts or PROJECT.artifacts,
        since=options.since,
        shards=options.shards,
        most=options.max_jobs,
    )
    jobs = plan_ci(PROJECT, selected(options), wanted)
    formats: dict[str, Callable[[Sequence[Job]], str]] = {
        "github": to_github,
        "gitlab": partial(to_gitlab, simulate=options.simulate),
        "names": to_names,
    }
    print(formats[options.format](jobs), end="")
    return 0
