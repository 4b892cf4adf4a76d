# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.faults.child ROOT WORD...``: build.py on another checkout, less patient."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any, cast

import docker.client

from cannery.cli import main
from cannery.execute.registry import client, http

_HURRIED = http.PATIENCE.new(total=2, backoff_factor=0.01)


def _hurry() -> None:
    """Wait seconds, and not minutes, for what does not come."""
    http._TIMEOUT = (2.0, 2.0)
    cast("Any", docker.client).DEFAULT_TIMEOUT_SECONDS = 5
    for each in (client.Repository, http.Http):
        cast("Any", each.__init__).__kwdefaults__["patience"] = _HURRIED


if __name__ == "__main__":
    gc.set_threshold(100_000)
    _hurry()
    sys.exit(main(sys.argv[2:], Path(sys.argv[1])))
