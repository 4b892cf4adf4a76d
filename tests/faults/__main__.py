# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.faults``: faults at random over engine and registry; see campaign.py."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.campaigns import CaseVerdict, main
from tests.faults.campaign import Campaign, Outcome, make_case
from tests.faults.site import make_site


@contextmanager
def _begin(seed: int) -> Iterator[Callable[[int], CaseVerdict]]:
    with (
        tempfile.TemporaryDirectory(prefix="cannery-faults-") as folder,
        make_site(Path(folder)) as site,
    ):
        campaign = Campaign(site, seed)
        yield lambda number: campaign.judge(make_case(seed, number))


if __name__ == "__main__":
    sys.exit(main("tests.faults", "fault", 500, _begin, Outcome))
