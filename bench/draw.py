# SPDX-License-Identifier: Apache-2.0
"""The results as a page. Pure: equal results give equal texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.limits import LIMITS, Limit
from bench.result import Figure

_INTRO = """\
# Benchmarks

`python -m bench` measured these figures. It measures both sides in the same run, on a separate
engine that is empty at the start of every cold build.

The baseline is the usual way to build such images: one Dockerfile with one stage, which runs
entirely under emulation, as the NPU images of LLaMA-Factory and the CANN images are built ([the
template](baseline/Dockerfile.j2)). The baseline has the same Debian packages, the same
locked wheels and the same CANN packages; simulated ones are built beforehand for both
sides. They are small; in the figures that name a size they are padded with files, for both sides.
An image of either side is compared only after `import torch, torch_npu` has worked in it.
Both sides download packages from the same package index, which was a proxy near the machine; a
slower index adds the same download time to both sides. [results/](results) has all samples.

"""

_BOUNDS = """\
What each figure is bounded by.

| figure | limit | bounded by |
|--|--|--|
"""


def page(results: Mapping[str, Any]) -> str:
    """bench/README.md."""
    machine = results["machine"]
    said = (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}; "
        f"Docker {machine['engine']}, buildx {machine['buildx']}; Python "
        f"{machine['python']}; arm64 under emulation: {machine['emulation']}.\n\n"
    )
    header = "| | cannery | compared with | ratio | limit | met | runs | measured | Linux |\n"
    lines = [_row(key, figure) for key, figure in _ordered(results)]
    table = header + "|--|--|--|--|--|--|--|--|--|\n" + "".join(lines)
    details = [_bounds(results), _details(results)]
    return _INTRO + "Medians, measured on " + said + table + "\n" + "\n".join(filter(None, details))


def _bounds(results: Mapping[str, Any]) -> str:
    """The limit of each figure, also of one that was not measured yet, and its cause."""
    figures = results["figures"]
    lines = []
    for key, limit in LIMITS.items():
        if limit.bounded_by:
            title = figures[key]["title"] if key in figures else f"`{key}`, not measured yet"
            lines.append(f"| {title} | {_limit(limit)} | {limit.bounded_by} |\n")
    return _BOUNDS + "".join(lines)


def _limit(limit: Limit) -> str:
    """The limit in words; empty if there is none."""
    if limit.at_most is None:
        return ""
    return f"{limit.at_most:.2f}" if limit.on == "ratio" else quantity(limit.at_most, limit.unit)


def _ordered(results: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    figures: Mapping[str, Mapping[str, Any]] = results["figures"]
    return [(key, figures[key]) for key in LIMITS if key in figures]


def _row(key: str, figure: Mapping[str, Any]) -> str:
    unit, reference = figure["unit"], figure["reference"]
    compared = f"{quantity(reference['median'], unit)} ({reference['what']})" if reference else ""
    ratio = "" if figure["ratio"] is None else f"{figure['ratio']:.2f}"
    at_most = _limit(LIMITS[key])
    verdict = {True: "yes", False: "**no**", None: ""}[_passed(key, figure)]
    runs = str(len(figure["ours"]["samples"]))
    if reference:
        runs += f", {len(reference['samples'])}"
    runs += f"; {figure['failed']} failed" if figure.get("failed") else ""
    cells = [figure["title"], quantity(figure["ours"]["median"], unit), compared, ratio, at_most]
    return f"| {' | '.join([*cells, verdict, runs, figure['date'], figure['kernel']])} |\n"


def _passed(key: str, figure: Mapping[str, Any]) -> bool | None:
    """Whether a stored figure is within today's limit."""
    if figure.get("failed"):
        return False
    reference = figure["reference"]["median"] if figure["reference"] else None
    return LIMITS[key].passed(figure["ours"]["median"], reference)


def _details(results: Mapping[str, Any]) -> str:
    figure = results["figures"].get("cold")
    if not figure or not figure["detail"].get("steps"):
        return ""
    lines = ["The longest steps of a cold build. The steps of cannery run in parallel.\n\n"]
    for title, key in (("cannery", "steps"), ("baseline", "baseline_steps")):
        lines.append(f"| {title} | s |\n|--|--|\n")
        steps = figure["detail"].get(key, {})
        lines += [f"| `{_cell(name)}` | {seconds:.1f} |\n" for name, seconds in steps.items()]
        lines.append("\n")
    return "".join(lines).rstrip("\n") + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("`", "'")


def quantity(number: float, unit: str) -> str:
    """``number`` with its unit, as in ``12.3 s``, ``0.87 s`` or ``1.80 GB``."""
    if unit == "bytes":
        for name, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if number >= size:
                return f"{number / size:.2f} {name}"
        return f"{number:.0f} bytes"
    return f"{number:.1f} {unit}" if number >= 1 else f"{number:.2f} {unit}"


def line(figure: Figure) -> str:
    """One line for the terminal."""
    text = f"{figure.title}: {quantity(figure.ours.median, figure.unit)}"
    if figure.reference and figure.ratio is not None:
        other = quantity(figure.reference.median, figure.unit)
        text += f", against {other} for {figure.reference.what} (ratio {figure.ratio:.3f})"
    if figure.limit.at_most is not None:
        verdict = {True: "met", False: "EXCEEDED", None: "not comparable"}[figure.passed]
        text += f"; limit {_limit(figure.limit)}"
        text += f": {verdict}"
    samples = [figure.ours.samples, *([figure.reference.samples] if figure.reference else [])]
    counts = [f"samples: {', '.join(str(len(each)) for each in samples)}"]
    counts += [f"{figure.failed} failed"] if figure.failed else []
    return f"{text} ({'; '.join(counts)})"
