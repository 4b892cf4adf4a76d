# SPDX-License-Identifier: Apache-2.0
"""push and promote on bad input: nothing is asked of a network, nothing is written."""

from __future__ import annotations

import pytest

from tests.cli.checkout import Checkout

TARGET = ["--target", "py39-torch231-cann8t39"]
NOWHERE = ["--registry", "127.0.0.1:9"]
PROMOTE = ["promote", "127.0.0.1:9/a:b", "127.0.0.1:9/b"]

WRONG = {
    "no registry": (["push", *TARGET], 2, "--registry"),
    "allow": (["push", *TARGET, *NOWHERE, "--allow", "simulate"], 2, "Did you mean 'simulated'?"),
    "a tag": (["push", *TARGET, "--registry", "r.example.com/a:b"], 2, "has a tag or a digest"),
    "no host": (["push", *TARGET, "--registry", "team"], 2, "'team' does not name a registry"),
    "no engine": (["push", *TARGET, *NOWHERE], 6, "the container engine is not running: "),
    "from": (["promote", "ascend", "r.example.com/a"], 2, "'ascend' does not name a registry"),
    "which": (["promote", "r.example.com/a", "r.example.com/b"], 2, "names no image"),
    "to": (
        ["promote", "r.example.com/a:b", f"r.example.com/a@sha256:{'0' * 64}"],
        2,
        "has a digest",
    ),
}


@pytest.mark.parametrize(("argv", "code", "said"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused(original: Checkout, argv: list[str], code: int, said: str) -> None:
    before = original.state()
    result = original.run(*argv)
    result.refused(code, said)
    assert original.state() == before


def test_a_spoilt_record_is_told_before_anything_is_asked(checkout: Checkout) -> None:
    path = checkout.root / "releases" / "full" / "full-1.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    result = checkout.run(*PROMOTE)
    result.refused(9, "full-1.json is not a valid record of a push")
