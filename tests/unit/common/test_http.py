# SPDX-License-Identifier: Apache-2.0
"""When a server is asked again, and how long that is waited for."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
import requests

from cannery.common.http import LONGEST_WAIT, RetryPolicy, RetryState, retry_after


def pauses(retries: RetryPolicy, *progress: bool, asked: float = 0) -> list[float | None]:
    tries = RetryState(retries)
    return [tries.pause(asked=asked, progress=each) for each in progress]


def test_pauses_double_up_to_the_longest_and_end() -> None:
    retries = RetryPolicy(tries=5, pause=1.0, longest=3.0)
    assert pauses(retries, *[False] * 5) == [1.0, 2.0, 3.0, 3.0, None]


def test_progress_resets_the_retries_up_to_a_limit() -> None:
    retries = RetryPolicy(tries=2, all_tries=5, pause=1.0)
    assert pauses(retries, False, True, False, True, True) == [1.0, 1.0, 1.0, 1.0, None]


def test_a_server_may_ask_for_a_wait_of_five_minutes_at_most() -> None:
    retries = RetryPolicy(pause=1.0, longest=3.0)
    assert pauses(retries, False, asked=LONGEST_WAIT) == [300.0]
    assert pauses(retries, False, asked=LONGEST_WAIT + 1) == [None]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("9" * 30, 999_999_999.0),
        ("", 0.0),
        ("soon", 0.0),
        ("-7", 0.0),
        ("\u0667", 0.0),
        ("1e3", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 99999999 07:28:00 GMT", 0.0),
    ],
)
def test_how_long_a_server_asks_to_wait(text: str, seconds: float) -> None:
    response = requests.Response()
    response.headers["Retry-After"] = text
    assert retry_after(response) == seconds


def test_a_server_may_name_a_time_instead() -> None:
    response = requests.Response()
    response.headers["Retry-After"] = formatdate(time.time() + 60, usegmt=True)
    assert 57 < retry_after(response) <= 60
