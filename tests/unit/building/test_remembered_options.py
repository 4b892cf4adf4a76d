# SPDX-License-Identifier: Apache-2.0
"""What --resume writes down of options, and reads again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.building.journal import recall, remember
from cannery.common.option import OptionSet, number, option
from cannery.options import have_secrets


@dataclass(frozen=True, kw_only=True)
class Made(OptionSet):
    flag: bool = option("x", default=False, remembered=True)
    count: int = option("x", default=1, parse=number(1, 9), remembered=True)
    place: Path = option("x", default=Path("/a"), remembered=True)
    other: Path | None = option("x", default=None, remembered=True)
    words: tuple[str, ...] = option("x", default=(), remembered=True)
    kind: str = option("x", default="a", choices=("a", "b"), remembered=True)
    secret: str = option("x", default="", remembered=True, secret=True)
    caches: tuple[str, ...] = option("x", default=(), remembered=True, has_secret=have_secrets)
    passing: str = option("x", default="")


WHOLE = Made(
    flag=True, count=9, place=Path("/b"), other=Path("/c"), words=("x", "y"), kind="b", passing="p"
)


@pytest.mark.parametrize("options", [Made(), WHOLE])
def test_what_is_remembered_is_recalled(options: Made) -> None:
    stored = json.loads(json.dumps(remember(options)))
    assert "passing" not in stored
    assert recall(Made, stored) == (replace(options, passing=""), ())


def test_a_secret_is_not_stored() -> None:
    options = Made(secret="hunter2")
    stored = remember(options)
    assert "hunter2" not in json.dumps(stored)
    found, withheld = recall(Made, stored)
    assert (found, withheld) == (Made(), ("secret",))
    assert recall(Made, remember(found, withheld)) == (found, withheld)


def test_a_value_is_not_stored_if_it_has_a_secret() -> None:
    plain = Made(caches=("registry.test/cache",))
    assert recall(Made, remember(plain)) == (plain, ())
    stored = remember(Made(caches=("type=s3,secret_access_key=hunter2", "registry.test/cache")))
    assert "hunter2" not in json.dumps(stored)
    found, withheld = recall(Made, stored)
    assert (found, withheld) == (Made(), ("caches",))
    assert recall(Made, remember(found, withheld)) == (found, withheld)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", 1),
        ("flag", None),
        ("count", True),
        ("count", "1"),
        ("count", 10),
        ("place", 3),
        ("place", None),
        ("other", ["/c"]),
        ("words", "x"),
        ("words", [None]),
        ("kind", "c"),
        ("secret", "word"),
        ("caches", False),
        ("caches", "word"),
        ("passing", ""),
        ("unknown", 1),
    ],
)
def test_what_was_not_written_by_it(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        recall(Made, {**remember(WHOLE), name: value})


@pytest.mark.parametrize("name", remember(WHOLE))
def test_an_option_that_is_missing(name: str) -> None:
    stored = remember(WHOLE)
    del stored[name]
    with pytest.raises(ValueError, match=name):
        recall(Made, stored)
