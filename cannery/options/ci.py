# SPDX-License-Identifier: Apache-2.0
"""The options of ``ci``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options import values
from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import ALL, ARTIFACTS, ARTIFACTS_DEFAULT, SIMULATE

MAX_CI_JOBS = 256
"""How many jobs GitHub lets a matrix have in one run (docs.github.com, "Running variations of jobs
in a workflow"); the same is taken for GitLab."""

_jobs = values.number(1, MAX_CI_JOBS)


@dataclass(frozen=True, kw_only=True)
class CiOptions(OptionSet):
    """The jobs of a CI run. ``since`` names a commit; empty for all targets.

    ``artifacts`` holds the vendor's files that the runners have. ``shards`` is None for as many
    jobs as keep together what shares much.
    """

    all: bool = field(
        default=False, metadata=changed(ALL, help="select every target (the default)")
    )
    simulate: bool = field(default=False, metadata=SIMULATE)
    format: str = field(
        metadata=option(
            choices=("github", "gitlab", "names"),
            help="a matrix as JSON, a child pipeline, or one target per line",
        )
    )
    since: str = field(
        default="",
        metadata=option(
            metavar="COMMIT",
            help="only targets that changed between this commit and HEAD; all targets where the "
            "commit does not exist or cannot be compared",
        ),
    )
    artifacts: Path = field(
        default=ARTIFACTS_DEFAULT,
        metadata=changed(ARTIFACTS, help="the directory of the vendor's files on the runners"),
    )
    shards: int | None = field(
        default=None,
        metadata=option(
            metavar="N",
            parse=_jobs,
            help="divide the targets into N jobs that cost about the same",
            default_text="as many as keep targets of one CANN and torch together",
        ),
    )
    max_jobs: int = field(
        default=MAX_CI_JOBS,
        metadata=option(metavar="N", parse=_jobs, help="fail if there are more jobs"),
    )
