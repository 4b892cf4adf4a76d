# SPDX-License-Identifier: Apache-2.0
"""The program cannery, python -m cannery, and build.py of a checkout."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path


def run(checkout: Path | None = None) -> int:
    """Run a command for the project in the working directory, or for ``checkout``."""
    try:
        # Python can drop an interrupt that comes in the middle of an import.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        from cannery.cli import main

        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    except KeyboardInterrupt:
        return 130
    # Little of what a run makes is garbage; looking for it is a tenth of what a short one takes.
    gc.set_threshold(100000)
    if not checkout:
        from cannery.common import program

        program.called(program.COMMAND)
    code = main(root=checkout)
    # All is done: what comes while Python ends must not look like a failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return code


if __name__ == "__main__":
    sys.exit(run())
