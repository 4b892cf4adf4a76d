# SPDX-License-Identifier: Apache-2.0
"""What was measured: samples, their medians, the ratio of two, and whether it is good enough.

Pure but for ``load`` and ``save``, which keep the figures of one machine in one JSON file.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cannery.errors import FileError, Problem, file_error
from cannery.files import write_files

SCHEMA = 1

LimitOn = Literal["ratio", "value"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """Samples of one side, all in the unit of their figure."""

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
    """One line of the report: ours, what it is compared with, and what it may be at most.

    ``at_most`` limits the ratio of the two medians, or with ``limit_on="value"`` our median.
    ``detail`` is whatever else is worth keeping, as JSON.
    """

    key: str
    title: str
    unit: str
    ours: Series
    reference: Series | None = None
    at_most: float | None = None
    limit_on: LimitOn = "ratio"
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Ours by the reference; None where there is nothing to compare with."""
        if self.reference is None or self.reference.median == 0:
            return None
        return self.ours.median / self.reference.median

    @property
    def measured(self) -> float | None:
        """What ``at_most`` is about."""
        return self.ours.median if self.limit_on == "value" else self.ratio

    @property
    def passed(self) -> bool | None:
        """None where no limit is set, or nothing was there to compare with."""
        if self.at_most is None or self.measured is None:
            return None
        return self.measured <= self.at_most

    def to_json(self, *, date: str, commit: str) -> dict[str, Any]:
        """As it is kept in the results file."""
        return {
            "title": self.title,
            "unit": self.unit,
            "ours": _series(self.ours),
            "reference": _series(self.reference) if self.reference else None,
            "ratio": None if self.ratio is None else _rounded(self.ratio),
            "at_most": self.at_most,
            "limit_on": self.limit_on,
            "passed": self.passed,
            "date": date,
            "commit": commit,
            "detail": dict(self.detail),
        }


def _series(series: Series) -> dict[str, Any]:
    return {
        "what": series.what,
        "median": _rounded(series.median),
        "samples": [_rounded(sample) for sample in series.samples],
    }


def _rounded(number: float) -> float:
    """Four significant digits below a thousand; more are noise, and bytes stay whole."""
    return round(number) if abs(number) >= 1000 else float(f"{number:.4g}")


def merged(
    old: Mapping[str, Any],
    machine: Mapping[str, str],
    figures: Sequence[Figure],
    *,
    date: str,
    commit: str,
) -> dict[str, Any]:
    """``old`` results with ``figures`` in place of those with the same keys; the others stay."""
    kept = dict(old.get("figures", {}))
    kept |= {figure.key: figure.to_json(date=date, commit=commit) for figure in figures}
    return {"schema": SCHEMA, "machine": dict(machine), "figures": kept}


def load(path: Path) -> dict[str, Any]:
    """The results in ``path``; empty where there are none yet.

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
        raise _not_ours(path, f"it has not the schema {SCHEMA}")
    return found


def _not_ours(path: Path, why: str) -> FileError:
    fix = "Move it away; the bench writes a new one."
    return FileError(Problem(what=f"{path} holds no results of this bench: {why}.", fix=fix))


def save(path: Path, results: Mapping[str, Any]) -> None:
    """Write ``results``, so that the file is always the old or the new one.

    Raises:
        FileError: it cannot be written.
    """
    write_files({path: json.dumps(results, indent=2, ensure_ascii=False) + "\n"})
