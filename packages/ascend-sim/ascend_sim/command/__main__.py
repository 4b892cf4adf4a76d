# SPDX-License-Identifier: Apache-2.0
"""``python -m ascend_sim.command`` is ``ascend-sim``."""

from __future__ import annotations

import sys

from .program import main

if __name__ == "__main__":
    sys.exit(main())
