# SPDX-License-Identifier: Apache-2.0
"""Reads a wheel of torch_npu without loading it."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath
from typing import TypedDict

from conformance.releases.symbols import Required, required
from conformance.releases.wheels import Wheel

_HEADERS = re.compile(r"torch_npu/include/third_party/(?:acl|hccl)/inc/(?:acl|hccl)/.*\.h")
_DECLARED = re.compile(rb"\b((?:acl|Hccl)[A-Za-z0-9_]+)\s*\(")
_AT_IMPORT = ("_C.", "libtorch_npu.", "libnpu_profiler.", "libtensorpipe.")
"""Libraries that `import torch_npu` loads; all others wait for their feature."""


class Reading(TypedDict):
    """What a wheel needs and brings, sorted.

    importing, later: CANN's symbols that its libraries leave undefined, as ``LIBRARY SYMBOL``;
    named: further names of functions in its libraries; declared: functions in CANN's own headers.
    """

    file: str
    python: str
    machine: str
    importing: list[str]
    later: list[str]
    named: list[str]
    declared: list[str]


def read(wheel: Wheel) -> Reading:
    """Download the wheel and read it.

    Raises:
        UsageError: it cannot be downloaded.
    """
    importing: set[str] = set()
    later: set[str] = set()
    named: set[str] = set()
    declared: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(wheel.content())) as archive:
        for member in archive.namelist():
            name = PurePosixPath(member).name
            if ".so" in name:
                found: Required = required(archive.read(member))
                (importing if name.startswith(_AT_IMPORT) else later).update(found.loading)
                named |= found.named
            elif _HEADERS.fullmatch(member):
                declared |= {each.decode() for each in _DECLARED.findall(archive.read(member))}
    return Reading(
        file=wheel.file,
        python=wheel.python,
        machine=wheel.machine,
        importing=sorted(importing),
        later=sorted(later - importing),
        named=sorted(named - {line.split()[1] for line in importing | later}),
        declared=sorted(declared),
    )
