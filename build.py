#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and checks container images for Ascend NPUs: see 'python build.py --help'."""

import gc
import signal
import sys

if sys.version_info < (3, 11):
    # An older Python reads this whole file before it runs, so the syntax here is that of 2.7.
    this = ".".join(str(number) for number in sys.version_info[:3])
    sys.stderr.write(
        "build.py: Python 3.11 or newer is needed; " + sys.executable + " is " + this + ". "
        "Use a newer one, for example: python3.11 build.py " + " ".join(sys.argv[1:]) + "\n"
    )
    sys.exit(6)

try:
    # Python can drop an interrupt that comes in the middle of an import.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    from cannery.cli import main

    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    # Little of what a run makes is garbage; looking for it is a tenth of what a short one takes.
    gc.set_threshold(100000)
    code = main()
    # All is done: what comes while Python ends must not look like a failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)
