# SPDX-License-Identifier: Apache-2.0
"""What --resume writes down of options, and reads again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import UsageError
from cannery.options.cache_secrets import have_secrets
from cannery.options.option import OptionSet, option
from cannery.options.remembered import recall, remember, resumed
from cannery.options.values import number


@dataclass(frozen=True, kw_only=True)
class Made(OptionSet):
    flag: bool = field(default=False, metadata=option(help="x", remembered=True))
    count: int = field(default=1, metadata=option(help="x", parse=number(1, 9), remembered=True))
    place: Path = field(default=Path("/a"), metadata=option(help="x", remembered=True))
    other: Path | None = field(default=None, metadata=option(help="x", remembered=True))
    words: tuple[str, ...] = field(default=(), metadata=option(help="x", remembered=True))
    kind: str = field(default="a", metadata=option(help="x", choices=("a", "b"), remembered=True))
    secret: str = field(default="", metadata=option(help="x", remembered=True, secret=True))
    caches: tuple[str, ...] = field(
        default=(), metadata=option(help="x", remembered=True, has_secret=have_secrets)
    )
    passing: str = field(default="", metadata=option(help="x"))


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


def test_options_that_are_given_again_win() -> None:
    found = resumed(WHOLE, (), {"count": 2, "words": ["z"], "foreign": 1})
    assert found == replace(WHOLE, count=2, words=("z",))


def test_a_secret_is_to_be_given_again() -> None:
    with pytest.raises(UsageError, match=r"was given --secret, .* Add --secret\."):
        resumed(WHOLE, ("secret",), {"count": 2})
    assert resumed(WHOLE, ("secret",), {"secret": "word"}).secret == "word"
