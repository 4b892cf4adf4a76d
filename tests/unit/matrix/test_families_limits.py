# SPDX-License-Identifier: Apache-2.0
"""A matrix with too many targets is refused before they take memory or time."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.families import refused


def axes_of(*sizes: int) -> str:
    """A family with as many values on each of its axes."""
    lines = ["families:", "  many:", '    id: "' + "-".join(f"{{a{n}}}" for n in range(len(sizes)))]
    lines[-1] += '"'
    lines.append("    axes:")
    for number, size in enumerate(sizes):
        lines.append(f"      a{number}:")
        lines += [f"        v{value}: {{k{number}: x}}" for value in range(size)]
    return "\n".join(lines) + "\n"


def test_a_family_of_ten_million_targets_is_refused_at_once(tmp_path: Path) -> None:
    begun = time.process_time()
    [problem] = refused(tmp_path, axes_of(10, 10, 10, 10, 10, 10, 10))
    assert time.process_time() - begun < 5
    assert "many has 10,000,000 combinations, and a file may have 10,000 targets" in problem
    assert problem.startswith("matrix.yaml:")


def test_families_that_are_too_many_together(tmp_path: Path) -> None:
    text = axes_of(100, 60)
    text += text.replace("families:\n", "").replace("many:", "more:")
    problems = refused(tmp_path, text)
    assert [each for each in problems if "more has 6,000 combinations" in each]
    assert not [each for each in problems if "many has" in each]


def test_targets_that_are_too_many(tmp_path: Path) -> None:
    text = "targets:\n" + "".join(f"  t{number}: {{}}\n" for number in range(10_001))
    [problem] = refused(tmp_path, text)
    assert "there are 10,001 targets, and a file may have 10,000" in problem
