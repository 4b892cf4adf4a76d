# SPDX-License-Identifier: Apache-2.0
"""What was read and run, compared with the device: the rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.releases.cann import Cann
from conformance.releases.native import Results
from conformance.releases.profiles import Firsts, least
from conformance.releases.scan import Reading

OPERATOR = "aclnn"
PASS = "pass"  # noqa: S105 - a result

Exports = Mapping[str, frozenset[str]]
"""Machine to the symbols that the device exports there, as ``LIBRARY SYMBOL``."""

Runs = Mapping[str, Mapping[str, Results]]
"""Python to release to results, on x86_64."""


@dataclass(frozen=True)
class Release:
    """A release of torch_npu with what was read of its wheels.

    ``made_for`` is the oldest CANN that a source names for it, ``least`` the first release of which
    sources say that it has all symbols that the import needs; both None where no source tells.
    ``declared`` are all functions of CANN's headers, of which ``named`` has some.
    """

    name: str
    wheels: Sequence[Reading]
    made_for: Cann | None
    least: Cann | None


def release(name: str, wheels: Sequence[Reading], made_for: Cann | None, found: Firsts) -> Release:
    """That release; a wheel of which the device lacks symbols does not count for ``least``."""
    lines = {line for wheel in wheels for line in wheel["importing"] if line in found}
    return Release(name, wheels, made_for, least(lines, found))


def missing(wheel: Reading, exports: Exports, *, importing: bool) -> list[str]:
    """Symbols that the loader needs for the import, or for anything else, and does not find."""
    lines = wheel["importing"] if importing else wheel["later"]
    return [line.split()[1] for line in lines if line not in exports[wheel["machine"]]]


def operators(wheel: Reading, exports: Exports) -> tuple[int, int]:
    """How many operators of CANN the wheel names, and how many of them the device has."""
    names = [name for name in wheel["named"] if name.startswith(OPERATOR)]
    found = [name for name in names if f"libascendcl {name}" in exports[wheel["machine"]]]
    return len(names), len(found)


def looked_up(wheel: Reading, exports: Exports, declared: frozenset[str]) -> list[str]:
    """Other functions of CANN's headers that the wheel names and the device lacks."""
    has = exports[wheel["machine"]]
    return [
        name
        for name in wheel["named"]
        if name in declared and not name.startswith(OPERATOR) and f"libascendcl {name}" not in has
    ]


def outcome(result: Results | None) -> str:
    """A cell: ``pass``, how many checks fail, or ``read`` for a wheel that was not run."""
    if result is None:
        return "read"
    failed = [name for name, text in result.items() if text != PASS]
    return f"{len(failed)} of {len(result)} fail" if failed else PASS
