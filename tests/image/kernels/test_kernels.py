# SPDX-License-Identifier: Apache-2.0
"""The operator kernels."""

from __future__ import annotations

from typing import Any

import pytest

Facts = dict[str, Any]


@pytest.mark.inherited
def test_version(facts: Facts, record: Facts) -> None:
    """The kernels are of the target's version."""
    infos = facts["infos"]  # the package is called "ops" from 8.5 on
    version = record["components"]["kernels"].partition(" ")[0]  # as in "9.1.0 (910b)"
    assert infos.get("ops", infos.get("kernels"))["version"] == version


@pytest.mark.inherited
def test_chip(facts: Facts, record: Facts) -> None:
    """The kernels are for the target's chip."""
    assert record["operators"] in facts["operators"]
