#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and checks container images for Ascend NPUs: see 'python build.py --help'."""

import gc
import sys

if sys.version_info < (3, 11):
    sys.exit("build.py needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")

from cannery.cli import main

if __name__ == "__main__":
    # Little of what a run makes is garbage; looking for it is a tenth of what a short one takes.
    gc.set_threshold(100_000)
    sys.exit(main())
