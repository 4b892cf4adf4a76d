# SPDX-License-Identifier: Apache-2.0
"""The symbols that a simulated CANN does not offer."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from cannery.common.cann_version import CannVersion
from cannery.image import simulator_spec
from cannery.image.simulator_spec import SYMBOLS, missing_symbols, package_spec
from cannery.matrix.schema import parse_matrix
from tests.unit.applications import TEXT
from tests.unit.matrices import load

NEW = "libascendcl aclrtDeviceGetBareTgid"
"""Whose first source is of CANN 8.3.RC1."""


@pytest.mark.parametrize(
    ("cann", "lacks"), [("8.0.RC2", True), ("8.2.RC1", True), ("8.3.RC1", False), ("9.1.0", False)]
)
def test_an_older_release_lacks_what_came_later(cann: str, lacks: bool) -> None:
    assert (NEW in missing_symbols(CannVersion.parse(cann))) is lacks


def test_a_later_release_has_what_an_earlier_one_has() -> None:
    order = sorted(CannVersion.parse(text) for text in json.loads(SYMBOLS.read_text("utf-8")))
    every = [set(missing_symbols(cann)) for cann in order]
    assert all(later < earlier for earlier, later in pairwise(every))
    assert every[-1] == set()


def test_the_packer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    symbols = tmp_path / "symbols.json"
    symbols.write_text('{"8.0.RC3": ["libascendcl aclLater"], "8.5.0": ["libatb _ZN3atb"]}')
    monkeypatch.setattr(simulator_spec, "SYMBOLS", symbols)
    monkeypatch.setattr(simulator_spec, "firsts", simulator_spec.firsts.__wrapped__)
    final = parse_matrix(TEXT, "matrix.yaml").targets["served"]
    assert package_spec(final)["lacks"] == ["libascendcl aclLater", "libatb _ZN3atb"]


def test_an_interim_build_has_the_symbols_of_the_release_that_it_is_near(tmp_path: Path) -> None:
    target = load(tmp_path).targets["bare"]
    assert target.cann.interim
    assert package_spec(target)["lacks"] == missing_symbols(
        CannVersion.parse(target.cann.nearest_public)
    )
