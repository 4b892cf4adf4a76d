# SPDX-License-Identifier: Apache-2.0
"""A newcomer types the commands of the pages, in their order, on a bare machine without an NPU.

``nox -s newcomer`` types all of them, and with ``-- -m 'not long'`` those that need no engine, as
``nox -s engine`` does in CI. All tests share one machine: with workers, add ``--dist loadfile``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.newcomer.machine import Machine, machine
from tests.newcomer.steps import CASES, LEFT_OUT, Step, documented, steps

ALL = [*steps()]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("newcomer")) as started:
        yield started


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(each, id=each.name, marks=[] if each.short else [pytest.mark.long])
        for each in ALL
    ],
)
def test_it_ends_as_the_page_says(bare: Machine, step: Step) -> None:
    if step.case.before:
        assert bare.type(step.case.before).code == 0
    ended = bare.type(step.typed)
    said = ended.out + ended.err
    assert ended.code == step.case.code, said[-3000:]
    assert step.case.says in said
    if step.documented.prints is not None:
        assert ended.out == step.documented.prints


def test_every_rule_is_of_a_command() -> None:
    texts = [each.text for each in documented()]
    rules = [*(case.match for case in CASES), *(match for match, _ in LEFT_OUT)]
    assert [rule for rule in rules if not any(re.search(rule, text) for text in texts)] == []
