# SPDX-License-Identifier: Apache-2.0
"""The figures: samples, medians, ratios, and whether a figure is within its limit (limits.py).

Pure except for ``load`` and ``save``, which store the figures of one machine in a JSON file.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.limits import LIMITS, Limit, ratio_of
from cannery.common.errors import FileError, Problem, file_error
from cannery.common.files import write_files

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Series:
    """The samples of one side, in the unit of the figure; ``what`` names the side."""

    what: str
    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError(f"{self.what!r} has no samples")

    @property
    def median(self) -> float:
        return float(statistics.median(self.samples))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the report: our samples and the reference. ``LIMITS`` has the limit of its key.

    ``failed`` counts the samples of a command that did all of its work and found something wrong,
    such as a test that failed. ``detail`` is stored with the figure and must be JSON.
    """

    key: str
    title: str
    unit: str
    ours: Series
    reference: Series | None = None
    failed: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> Limit:
        return LIMITS[self.key]

    @property
    def ratio(self) -> float | None:
        """Our median divided by the reference's; None without a reference."""
        return ratio_of(self.ours.median, self._compared)

    @property
    def passed(self) -> bool | None:
        """Whether the figure is within its limit; None without a limit or a reference."""
        if self.failed:
            return False
        return self.limit.passed(self.ours.median, self._compared)

    @property
    def _compared(self) -> float | None:
        return self.reference.median if self.reference else None

    def to_json(self, *, date: str, commit: str, kernel: str) -> dict[str, Any]:
        """The figure's entry in the results file."""
        return {
            "title": self.title,
            "unit": self.unit,
            "ours": _series(self.ours),
            "reference": _series(self.reference) if self.reference else None,
            "ratio": None if self.ratio is None else _rounded(self.ratio),
            "failed": self.failed,
            "date": date,
            "commit": commit,
            "kernel": kernel,
            "detail": dict(self.detail),
        }


def _series(series: Series) -> dict[str, Any]:
    return {
        "what": series.what,
        "median": _rounded(series.median),
        "samples": [_rounded(sample) for sample in series.samples],
    }


def _rounded(number: float) -> float:
    """``number`` with four significant digits below 1000, as a whole number from there on."""
    return round(number) if abs(number) >= 1000 else float(f"{number:.4g}")


def merged(
    old: Mapping[str, Any],
    machine: Mapping[str, str],
    figures: Sequence[Figure],
    *,
    date: str,
    commit: str,
) -> dict[str, Any]:
    """``old`` results, in which ``figures`` replace those with the same keys."""
    kept = dict(old.get("figures", {}))
    facts = {"date": date, "commit": commit, "kernel": machine["kernel"]}
    kept |= {figure.key: figure.to_json(**facts) for figure in figures}
    return {"schema": SCHEMA, "machine": dict(machine), "figures": kept}


def load(path: Path) -> dict[str, Any]:
    """The results in ``path``; empty if the file does not exist.

    Raises:
        FileError: it cannot be read, or is not a results file of this version.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise file_error("read", path, error) from error
    except ValueError as error:
        raise _not_ours(path, str(error)) from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise _not_ours(path, f"its schema is not {SCHEMA}")
    return found


def _not_ours(path: Path, why: str) -> FileError:
    fix = "Move it away, and the bench writes a new one."
    return FileError(Problem(what=f"{path} is not a results file of this bench: {why}.", fix=fix))


def save(path: Path, results: Mapping[str, Any]) -> None:
    """Write ``results``. The file is replaced as a whole, never half-written.

    Raises:
        FileError: it cannot be written.
    """
    write_files({path: json.dumps(results, indent=2, ensure_ascii=False) + "\n"})
