# SPDX-License-Identifier: Apache-2.0
"""A few thousand random calls of the C interface; 'nox -s fuzz' makes 1,000,000."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.campaign import Campaign, table
from tests.fuzz.operators import c_function, own_operators, torch_operators

from .hosts import Host
from .test_libraries import exports


def test_random_calls_end_in_an_error_code_or_succeed(host: Host, tmp_path: Path) -> None:
    first = 4 * random.randrange(1_000_000)  # any will do: a failure names its seed
    campaign = Campaign(tmp_path, host.environment({}))
    ended = [*campaign.run_all(range(first, first + 4), 1_000, 2)]
    assert [each for each in ended if each.failure] == []
    families = {family for each in ended for family in each.refused}
    assert {"Operators", "Memory", "Collectives"} <= families, table(ended)


def test_every_operator_can_be_called(built: Path) -> None:
    library = exports(built / "toolkit/lib64/libascendcl.so")
    names = {**own_operators(), **torch_operators()}
    known = {f"{c_function(name)}GetWorkspaceSize" for name in names}
    assert {name for name in library if name.endswith("GetWorkspaceSize")} == known


def test_a_crash_is_a_failure(host: Host, tmp_path: Path) -> None:
    environment = host.environment({"NPUSIM_LIBRARY": str(tmp_path / "none.so")})
    ended = Campaign(tmp_path, environment).run(0, 10)
    assert "ended with code 1" in ended.failure
    assert "processes that crashed or did not end: 1" in table([ended])
