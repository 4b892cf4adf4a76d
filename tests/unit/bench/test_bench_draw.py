# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

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
    repeated=1,
    detail={"steps": {"[os] a|b": 12.0}, "baseline_steps": {"[1/2] RUN pip": 200.0}},
)
SIZE = Figure(
    key="size",
    title="image <size>",
    unit="bytes",
    ours=Series(what="ours", samples=(1.5e9,)),
    reference=Series(what="baseline", samples=(3e9,)),
)
HELP = Figure(
    key="help",
    title="build.py --help",
    unit="ms",
    ours=Series(what="whole process", samples=(91.0,)),
    reference=Series(what="python -c pass", samples=(11.0,)),
)


def results(*figures: Figure) -> dict[str, Any]:
    return merged({}, MACHINE, figures, date="2026-01-02", commit="abc")


def test_the_page_has_a_row_for_each_figure_in_a_fixed_order() -> None:
    text = draw.page(results(HELP, SIZE, COLD))
    rows = [line for line in text.splitlines() if line.endswith("| 2026-01-02 |")]
    assert rows == [
        (
            "| cold build | 62.0 s | 310.0 s (baseline) | 0.20 | 0.10 | **no** |"
            " 3, 1; 1 repeated | 2026-01-02 |"
        ),
        "| image <size> | 1.50 GB | 3.00 GB (baseline) | 0.50 |  |  | 1, 1 | 2026-01-02 |",
        (
            "| build.py --help | 91 ms | 11 ms (python -c pass) | 8.27 | 80 ms | **no** | 1, 1 |"
            " 2026-01-02 |"
        ),
    ]


def test_the_page_names_the_machine_and_the_longest_steps() -> None:
    text = draw.page(results(COLD))
    assert "A CPU, 2 cores, 24 GiB" in text
    assert "| `[os] a/b` | 12.0 |" in text
    assert "| `[1/2] RUN pip` | 200.0 |" in text


def test_the_chart_has_a_bar_for_each_ratio() -> None:
    root = ET.fromstring(draw.chart(results(HELP, SIZE, COLD)))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["1.0", "cold build", "0.20", "image <size>", "0.50"]


def test_a_figure_that_this_version_does_not_know_is_shown_last() -> None:
    known = results(COLD)
    known["figures"]["a-later-one"] = {**known["figures"]["cold"], "title": "later"}
    text = draw.page(known)
    assert text.index("| cold build |") < text.index("| later |")


def test_the_same_results_make_the_same_text() -> None:
    one, other = results(COLD, SIZE), results(SIZE, COLD)
    assert draw.page(one) == draw.page(other)
    assert draw.chart(one) == draw.chart(other)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (999, "bytes", "999 bytes"),
        (1234567, "bytes", "1.23 MB"),
        (12.34, "s", "12.3 s"),
        (47.3, "ms", "47 ms"),
        (0.987, "exponent", "0.99"),
    ],
)
def test_quantities_are_for_people(number: float, unit: str, text: str) -> None:
    assert draw.quantity(number, unit) == text


def test_the_page_says_where_the_bytes_are() -> None:
    figure = Figure(
        key="real-disk",
        title="growth of the engine's storage by 1.5 GB of packages",
        unit="bytes",
        ours=Series(what="with a copy of the packages", samples=(3e9,)),
        reference=Series(what="installed files", samples=(1.5e9,)),
        detail={"causes": {"layers of CANN": 1_500_000_000, "results of installers": 0}},
    )
    text = draw.page(results(COLD, figure))
    assert (
        "| layers of CANN | 1.50 GB | 1.00 |\n| results of installers | 0 bytes | 0.00 |\n\n"
        in text
    )
    assert text.index("layers of CANN") < text.index("The longest steps")


def test_a_figure_is_printed_with_its_limit_beside_it() -> None:
    assert draw.line(COLD) == (
        "cold build: 62.0 s, against 310.0 s for baseline (ratio 0.200); limit 0.10: EXCEEDED"
        " (samples: 3, 1; 1 repeated because a download stalled)"
    )
    assert draw.line(HELP) == (
        "build.py --help: 91 ms, against 11 ms for python -c pass (ratio 8.273); limit 80 ms,"
        " here 91: EXCEEDED (samples: 1, 1)"
    )


def test_the_page_says_what_bounds_each_figure_also_one_that_was_not_measured() -> None:
    text = draw.page(results(COLD))
    assert f"| cold build | 0.10 | {LIMITS['cold'].bounded_by} |" in text
    why = LIMITS["second-command"].bounded_by
    assert f"| `second-command`, not measured yet | 15.0 s | {why} |" in text
