# SPDX-License-Identifier: Apache-2.0
"""Records as a push writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cannery.common.files import write_files
from cannery.registry.records import (
    Changes,
    LayerRecord,
    PlatformImage,
    Record,
    Tested,
    path_of,
    to_text,
)


def sha(character: str) -> str:
    """A digest that is easy to tell from others."""
    return "sha256:" + character * 64


IMAGE = PlatformImage(
    digest=sha("2"),
    config=sha("3"),
    size=100,
    layers=(LayerRecord(digest=sha("4"), diff_id=sha("5"), size=90, name="torch"),),
)
RECORD = Record(
    target="full",
    tag="full-0123456789ab",
    tags=("full", "latest"),
    key="sha256:" + "0123456789abcdef" * 4,
    registry="registry.example.com",
    repository="ascend",
    digest=sha("1"),
    simulated=False,
    pushed="2026-11-21T12:00:00Z",
    commit="c" * 40,
    platforms={"linux/arm64": IMAGE},
    components={"python": "3.9.2", "torch": "2.3.1"},
    packages={"wheels": {"torch": "2.3.1"}, "debian": {"libc6": "2.31-13"}, "vendor": {}},
    changes=Changes(since="full-ba9876543210", changed={"torch": ("2.1.0", "2.3.1")}),
    verified=(
        Tested(
            device="none",
            hardware="qemu-aarch64 on x86_64, no NPU",
            passed=40,
            failed=0,
            not_run=2,
            date="2026-11-21",
        ),
    ),
    attestations={"sbom": sha("6"), "provenance": sha("7")},
    signed=True,
)


def record(**changes: Any) -> Record:
    return replace(RECORD, **changes)


def keep(releases: Path, each: Record) -> Path:
    """Write ``each`` where a push writes it, and return the file."""
    path = path_of(releases, each)
    write_files({path: to_text(each)})
    return path
