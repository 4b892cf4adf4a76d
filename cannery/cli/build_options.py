# SPDX-License-Identifier: Apache-2.0
"""What can be typed after ``build``."""

from __future__ import annotations

import argparse
from pathlib import Path

_Group = argparse._ArgumentGroup  # noqa: SLF001 - argparse has no public name for it


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 999")
    return int(text)


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``build`` takes."""
    parser.add_argument(
        "--all", action="store_true", help="every target; those whose files are not here are left"
    )
    parser.add_argument(
        "--artifacts",
        type=Path,
        metavar="DIR",
        help="the folder with the vendor's files (default: artifacts/)",
    )
    parser.add_argument("--no-test", action="store_true", help="do not check the images")
    parser.add_argument(
        "--record",
        action="store_true",
        help="check images that are up to date, too, and write all results to verified/",
    )
    parser.add_argument("--force", action="store_true", help="build what is up to date, too")
    parser.add_argument(
        "--resume", action="store_true", help="do what the last run has not finished, and no more"
    )
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="check N images at a time (default: 1)"
    )
    parser.add_argument(
        "--index-url",
        default="",
        metavar="URL",
        help="package index to take; never in an image (default: UV_DEFAULT_INDEX or "
        "PIP_INDEX_URL, else PyPI)",
    )
    _add_plan(parser.add_argument_group("to see what would be done, and do nothing"))
    _add_machines(parser.add_argument_group("many machines (docs/many-machines.md)"))


def _add_plan(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--plan", action="store_true", help="say what is built, what is not and why, what is shared"
    )
    group.add_argument(
        "--format", choices=("text", "json"), help="the plan for people or programs (default: text)"
    )
    group.add_argument(
        "--if-changed",
        default="",
        metavar="COMPONENT",
        help="with --plan: what a change of torch, toolkit, base, ... would make anew",
    )
    group.add_argument(
        "--registry",
        default="",
        metavar="REPOSITORY",
        help="with --plan: say whether the images there are up to date",
    )
    group.add_argument(
        "--print", action="store_true", help="print the file for 'docker buildx bake'"
    )


def _add_machines(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--builder", default="", metavar="NAME", help="build with this builder of buildx"
    )
    for direction, text in (("from", "take layers from"), ("to", "put all layers into")):
        group.add_argument(
            f"--cache-{direction}",
            action="append",
            default=[],
            metavar="REPOSITORY",
            help=f"{text} this repository of a registry, or what buildx takes as 'type=...'; may "
            "be given several times",
        )
    group.add_argument(
        "--shard",
        default="",
        metavar="I/N",
        help="only the I-th of N parts of the selection, all of which cost about the same",
    )
