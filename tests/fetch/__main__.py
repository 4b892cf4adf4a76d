# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fetch``: faults at random over fetches; see fetch_campaign.py."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.campaigns import CaseVerdict, main
from tests.fetch.fetch_campaign import Campaign, Outcome, make_case
from tests.fetch.server import serving


@contextmanager
def _begin(seed: int) -> Iterator[Callable[[int], CaseVerdict]]:
    with tempfile.TemporaryDirectory() as scratch, serving() as files:
        campaign = Campaign(Path(scratch), files, seed)
        yield lambda number: campaign.judge(make_case(seed, number))


if __name__ == "__main__":
    sys.exit(main("tests.fetch", "fault", 2_000, _begin, Outcome))
