# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.errors import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("pyhton", ["python", "torch"], "Did you mean 'python'?"),
        ("xyz", ["stack", "stack", "base"], "Known: base, stack."),
        ("xyz", [], ""),
        ("PY39-MAIN", ["py39-main", "py38-main"], "Did you mean 'py39-main'?"),
        ("A3", ["910b", "a3"], "Did you mean 'a3'?"),
    ],
)
def test_a_hint(name: str, known: list[str], said: str) -> None:
    assert did_you_mean(name, known) == said


def test_a_hint_does_not_list_a_hundred_names() -> None:
    said = did_you_mean("xyz", [f"name-{number}" for number in range(2000, 4000)])
    assert said.startswith("Known: name-2000, name-2001, ")
    assert said.endswith(", name-2019 and 1,980 more.")
