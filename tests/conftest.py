# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Keep the collector away from the thousands of objects of the tests, which are no garbage."""
    gc.collect()
    gc.freeze()
    # As build.py does.
    gc.set_threshold(100_000)
