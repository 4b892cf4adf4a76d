# SPDX-License-Identifier: Apache-2.0
"""The operator kernels."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]


def test_version(facts: Facts, record: Facts) -> None:
    """The kernels are of the toolkit's version."""
    infos = facts["infos"]  # "ops" is what the package is called from 8.5 on
    assert infos.get("ops", infos.get("kernels"))["version"] == record["components"]["toolkit"]


def test_chip(facts: Facts, record: Facts) -> None:
    """The kernels are for the target's chip."""
    assert record["operators"] in facts["operators"]
