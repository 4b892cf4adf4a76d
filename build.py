#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and checks container images for Ascend NPUs: see 'python build.py --help'."""

import sys

if sys.version_info < (3, 11):
    # An older Python reads this whole file before it runs, so the syntax here is that of 2.7.
    this = ".".join(str(number) for number in sys.version_info[:3])
    sys.stderr.write(
        "build.py: Python 3.11 or newer is needed; " + sys.executable + " is " + this + ". "
        "Use a newer one, for example: python3.11 build.py " + " ".join(sys.argv[1:]) + "\n"
    )
    sys.exit(6)

if __name__ == "__main__":
    from pathlib import Path

    from cannery.__main__ import run

    sys.exit(run(Path(__file__).resolve().parent))
