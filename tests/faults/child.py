# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.faults.child ROOT WORD...``: build.py on another checkout, less patient."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any, cast

from cannery.cli import main


def _hurry() -> None:
    """Wait seconds, and not minutes, for what does not come."""
    # Imported here, because it takes longer than some commands.
    from cannery.execute.registry import client, http

    http._TIMEOUT = (2.0, 2.0)
    hurried = http.PATIENCE.new(total=2, backoff_factor=0.01)
    for each in (client.Repository, http.Http):
        cast("Any", each.__init__).__kwdefaults__["patience"] = hurried


if __name__ == "__main__":
    gc.set_threshold(100_000)
    if sys.argv[2] in ("push", "promote", "prune"):
        _hurry()
    sys.exit(main(sys.argv[2:], Path(sys.argv[1])))
