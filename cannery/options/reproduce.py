# SPDX-License-Identifier: Apache-2.0
"""The options of ``reproduce``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import ARTIFACTS, ARTIFACTS_DEFAULT, CA, FORMAT, INDEX_URL, SOURCE


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(OptionSet):
    """The image that is built again, and what it is built from."""

    reference: str = field(
        metadata=option(
            positional=True,
            metavar="REF",
            help="an image in a registry, a file below releases/, a local image or a target",
        )
    )
    artifacts: Path = field(default=ARTIFACTS_DEFAULT, metadata=ARTIFACTS)
    sources: tuple[str, ...] = field(default=(), metadata=SOURCE)
    ca: Path | None = field(
        default=None,
        metadata=changed(CA, help="certificates to trust for downloads and the registry"),
    )
    index_url: str = field(default="", metadata=INDEX_URL)
    format: str = field(default="text", metadata=FORMAT)
