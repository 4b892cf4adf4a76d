#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and checks container images for Ascend NPUs: see 'python build.py --help'."""

import sys

if sys.version_info < (3, 11):
    sys.exit("build.py needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")

from cannery.cli import main

if __name__ == "__main__":
    sys.exit(main())
