# SPDX-License-Identifier: Apache-2.0
"""Which release of CANN is the first that has a symbol, as far as sources tell.

A release has the symbols that the loader must find for a torch_npu that compat.yaml names for it,
and the functions in CANN's headers that such a torch_npu brings. From 8.5.0 on, CANN's own headers
are public (SOURCES). A later release has what an earlier one has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.releases.cann import RELEASES, Cann
from conformance.releases.scan import Reading

SYMBOLS = RELEASES.with_name("cann_symbols.json")
PUBLIC_HEADERS = Path(__file__).with_name("public_headers.json")
"""Release of CANN to names that its headers are the first to have: hicann/runtime, folders
include/external and pkg_inc, of the tags v8.5.0, v9.0.0, v9.1.0 and v9.2.0-beta.1; only names that
a torch_npu needs. Under 8.3.RC1 are those that the plugin of MindSpore 2.7.1 imports, which is for
that release (compat.yaml)."""

Firsts = dict[str, Cann]
"""``LIBRARY SYMBOL`` to the first release."""


def firsts(
    readings: Mapping[str, Sequence[Reading]],
    known: Mapping[str, Cann],
    headers: Mapping[str, Sequence[str]],
) -> Firsts:
    """The first release for each symbol that a wheel needs; without a source it is left out."""
    needed = {line for wheels in readings.values() for wheel in wheels for line in needs(wheel)}
    found: Firsts = {}

    def note(lines: Iterable[str], cann: Cann) -> None:
        for line in needed.intersection(lines):
            found[line] = min(found.get(line, cann), cann)

    for release, wheels in readings.items():
        if release in known:
            for wheel in wheels:
                note(needs(wheel), known[release])
                note(_in_runtime(wheel["declared"]), known[release])
    for text, names in headers.items():
        note(_in_runtime(names), Cann.parse(text))
    return found


def needs(wheel: Reading) -> list[str]:
    """Every symbol that a loader must find for the wheel."""
    return [*wheel["importing"], *wheel["later"]]


def least(lines: Iterable[str], found: Firsts) -> Cann | None:
    """The first release with all of the symbols; None where no source tells."""
    each = [found.get(line) for line in lines]
    known = [cann for cann in each if cann is not None]
    return max(known) if known and len(known) == len(each) else None


def as_json(found: Firsts) -> str:
    """The text of cann_symbols.json: releases in order, without the oldest, and their symbols."""
    oldest = min(found.values())
    groups: dict[Cann, list[str]] = {}
    for line, cann in sorted(found.items()):
        if cann > oldest:
            groups.setdefault(cann, []).append(line)
    ordered = {str(cann): groups[cann] for cann in sorted(groups)}
    return json.dumps(ordered, indent=1) + "\n"


def _in_runtime(names: Iterable[str]) -> list[str]:
    return [f"libascendcl {name}" for name in names]
