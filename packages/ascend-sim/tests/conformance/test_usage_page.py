# SPDX-License-Identifier: Apache-2.0
"""The page of what people do: how often the checks ran that could hang."""

from __future__ import annotations

import signal

from conformance.usage.__main__ import page, repeated
from conformance.usage.checks import CHECKS, result


def test_runs_are_counted_and_hangs_told() -> None:
    hangs = "run 3 of 20 ended with -14: no output"
    said = repeated({"1": {"a": "pass, 20 runs of at most 7 s", "b": "pass"}, "2": {"a": hangs}})
    assert said == (
        "Checks that could hang ran 20 times in all and passed; 1 hung; the slowest took 7 s."
    )


def test_a_check_that_hangs_is_ended_by_the_alarm() -> None:
    def hangs() -> None:
        signal.raise_signal(signal.SIGALRM)

    def works() -> None:
        pass

    found = {"1": {"a": result(hangs, 2), "b": result(works, 2)}}
    assert found["1"]["a"].startswith("run 1 of 2 ended with -14: ")
    said = repeated(found)
    assert "ran 2 times in all and passed; 1 hung; the slowest took 0 s" in said


def test_each_check_has_a_row() -> None:
    found = {"2.7.1": {check.__name__: "pass" for check in CHECKS}}
    assert page(found, "on a machine").count("| pass |") == len(CHECKS)
