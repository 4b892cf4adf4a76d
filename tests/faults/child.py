# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.faults.child ROOT WORD...``: build.py on another checkout, less patient."""

import signal
import sys
from pathlib import Path


def _hurry() -> None:
    """Wait seconds, and not minutes, for what does not come from a registry."""
    from dataclasses import replace
    from typing import Any, cast

    from cannery.registry import client, http

    http._TIMEOUT = http._HASHING = (2.0, 2.0)
    hurried = replace(http.RETRIES, tries=3, pause=0.01)
    for each in (client.Repository, http.Http):
        cast("Any", each.__init__).__kwdefaults__["retries"] = hurried


if __name__ == "__main__":
    # As build.py does, for an interrupt before the command line is there.
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        from cannery.cli import main

        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if sys.argv[2] in ("push", "promote"):
            _hurry()
        code = main(sys.argv[2:], Path(sys.argv[1]))
    except KeyboardInterrupt:
        code = 130
    # And for a signal after the end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)
