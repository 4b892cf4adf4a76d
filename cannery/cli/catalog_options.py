# SPDX-License-Identifier: Apache-2.0
"""What can be typed after ``catalog``."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_catalog_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what ``catalog`` takes."""
    parser.description = (
        "Writes the table of all images into README.md, and a page on which people choose an "
        "image and copy the commands for it. The page is one file that loads nothing; it can be "
        "opened from the disk, and published anywhere. Needs no engine."
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; end with code 4 if the table in README.md is not what it would be",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder that the page goes into, as index.html (default: .cannery/catalog)",
    )
