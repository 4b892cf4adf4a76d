# SPDX-License-Identifier: Apache-2.0
"""The options of ``bundle``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, option
from cannery.options.shared import ARTIFACTS, ARTIFACTS_DEFAULT, CA, INDEX_URL, SIMULATE


@dataclass(frozen=True, kw_only=True)
class BundleOptions(OptionSet):
    """What a bundle is made from."""

    out: Path = field(
        metadata=option(metavar="FILE", help="the bundle; replaced once the new one is complete")
    )
    simulate: bool = field(default=False, metadata=SIMULATE)
    artifacts: Path = field(default=ARTIFACTS_DEFAULT, metadata=ARTIFACTS)
    ca: Path | None = field(default=None, metadata=CA)
    index_url: str = field(default="", metadata=INDEX_URL)
