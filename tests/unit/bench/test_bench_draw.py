# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from bench import draw
from bench.limits import LIMITS
from bench.result import Figure, Series, merged

MACHINE = {
    "cpu": "A CPU",
    "cores": "2",
    "memory": "24 GiB",
    "kernel": "6.1",
    "engine": "26.1",
    "buildx": "0.13",
    "python": "3.11",
    "emulation": "yes",
}
COLD = Figure(
    key="cold",
    title="cold build",
    unit="s",
    ours=Series(what="build.py build", samples=(60.0, 62.0, 70.0)),
    reference=Series(what="baseline", samples=(310.0,)),
    detail={"steps": {"[os] a|b": 12.0}, "baseline_steps": {"[1/2] RUN pip": 200.0}},
)
BYTES = Figure(
    key="set-bytes",
    title="distinct layers",
    unit="bytes",
    ours=Series(what="ours", samples=(1.5e6,)),
    reference=Series(what="all images", samples=(3e9,)),
)
CHECK = Figure(
    key="forty-check",
    title="check",
    unit="s",
    ours=Series(what="whole process", samples=(0.914,)),
)


def results(*figures: Figure) -> dict[str, Any]:
    return merged({}, MACHINE, figures, date="2026-01-02", commit="abc")


def test_the_page_has_a_row_for_each_figure_in_a_fixed_order() -> None:
    text = draw.page(results(CHECK, BYTES, COLD))
    rows = [line for line in text.splitlines() if line.endswith("| 2026-01-02 | 6.1 |")]
    when = "2026-01-02 | 6.1 |"
    assert rows == [
        f"| cold build | 62.0 s | 310.0 s (baseline) | 0.20 | 0.12 | **no** | 3, 1 | {when}",
        f"| distinct layers | 1.50 MB | 3.00 GB (all images) | 0.00 | 0.45 | yes | 1, 1 | {when}",
        f"| check | 0.91 s |  |  | 1.0 s | yes | 1 | {when}",
    ]


def test_a_figure_is_printed_with_its_limit_beside_it() -> None:
    assert draw.line(COLD) == (
        "cold build: 62.0 s, against 310.0 s for baseline (ratio 0.200); limit 0.12: EXCEEDED"
        " (samples: 3, 1)"
    )
    assert draw.line(CHECK) == ("check: 0.91 s; limit 1.0 s: met (samples: 1)")


def test_the_page_names_the_bound_of_each_figure_even_if_not_measured() -> None:
    text = draw.page(results(COLD))
    assert f"| cold build | 0.12 | {LIMITS['cold'].bounded_by} |" in text
    why = LIMITS["second-command"].bounded_by
    assert f"| `second-command`, not measured yet | 15.0 s | {why} |" in text
