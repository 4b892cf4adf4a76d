# SPDX-License-Identifier: Apache-2.0
"""What can be typed after ``push``, ``promote`` and ``prune``."""

from __future__ import annotations

import argparse
from pathlib import Path

_REGISTRY = (
    "the registry, as registry.example.com, perhaps with a folder: registry.example.com/team"
)


def add_push_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``push`` takes."""
    parser.add_argument("--registry", required=True, metavar="REGISTRY", help=_REGISTRY)
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=("simulated", "unverified", "differs"),
        metavar="WHAT",
        help="push what is otherwise refused: simulated images, unverified ones, ones that differ "
        "from the committed files; may be given several times",
    )
    parser.add_argument(
        "--release",
        action="store_true",
        help="refuse what is not from a clean commit, checked on an NPU, and signed",
    )
    parser.add_argument(
        "--key",
        default="",
        metavar="KEY",
        help="sign with this key of cosign (default: CANNERY_SIGNING_KEY, else not signed)",
    )
    parser.add_argument(
        "--compression",
        default="zstd",
        choices=("zstd", "gzip"),
        help="gzip is for engines older than 23.0 (default: zstd)",
    )
    parser.add_argument(
        "--artifacts",
        type=Path,
        metavar="DIR",
        help="the folder with the vendor's files that the images were built from (default: "
        "artifacts/)",
    )
    _add_trust(parser)


def add_promote_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``promote`` takes."""
    parser.add_argument(
        "source",
        metavar="FROM",
        help="what to copy: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST",
    )
    parser.add_argument(
        "destination",
        metavar="TO",
        help="where to: REGISTRY/REPOSITORY, which keeps the tags, or REGISTRY/REPOSITORY:TAG",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=("unrecorded",),
        metavar="WHAT",
        help="copy what is otherwise refused: unrecorded images, which no file in releases/ names",
    )
    _add_trust(parser)


def add_prune_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``prune`` takes."""
    parser.add_argument("--registry", required=True, metavar="REGISTRY", help=_REGISTRY)
    parser.add_argument(
        "--keep",
        type=_count,
        default=3,
        metavar="N",
        help="of each target keep the N newest images that no record names (default: 3)",
    )
    parser.add_argument("--yes", action="store_true", help="delete; without it nothing is")
    _add_trust(parser)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 999:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 999")
    return int(text)


def _add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ca",
        default="",
        metavar="FILE",
        help="certificates to trust, as a company's own, beside those that this machine trusts",
    )
