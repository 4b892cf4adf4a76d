# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.campaign``: edits the YAML files at random; see campaign.py."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.campaign.campaign import Campaign, Outcome, Verdict
from tests.campaigns import main

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def _begin(seed: int) -> Iterator[Callable[[int], Verdict]]:
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Campaign(ROOT, Path(scratch), seed)
        yield lambda number: campaign.judge(campaign.edit(number))


if __name__ == "__main__":
    sys.exit(main("tests.campaign", "edit", 10_000, _begin, Outcome))
