# SPDX-License-Identifier: Apache-2.0
"""What can be typed after ``ci``."""

from __future__ import annotations

import argparse
from pathlib import Path


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 256")
    return int(text)


def add_ci_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``ci`` takes."""
    parser.description = (
        "Prints the jobs that a CI service starts: the selected targets that can be built there "
        "and whose content has changed, in shards. Says on stderr why each is in it or is not."
    )
    parser.add_argument("--all", action="store_true", help="every target (the default)")
    parser.add_argument(
        "--format",
        choices=("github", "gitlab", "names"),
        required=True,
        help="a matrix as JSON, a child pipeline, or one target a line",
    )
    parser.add_argument(
        "--since",
        default="",
        metavar="COMMIT",
        help="only targets that HEAD changes, compared with this commit; all where there is no "
        "such commit, or where it cannot be told",
    )
    parser.add_argument(
        "--artifacts",
        type=Path,
        metavar="DIR",
        help="the vendor's files that the runners have (default: artifacts/)",
    )
    parser.add_argument(
        "--shards",
        type=_jobs,
        default=0,
        metavar="N",
        help="in N jobs of about equal cost (default: so many that targets of "
        "one CANN and torch stay together)",
    )
    parser.add_argument(
        "--max-jobs",
        type=_jobs,
        default=256,
        metavar="N",
        help="fail if it would be more jobs (default and most: 256)",
    )
