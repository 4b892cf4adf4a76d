# SPDX-License-Identifier: Apache-2.0
"""When a server is asked again, and how long that is waited for."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
import requests

from cannery.common.http import (
    LONGEST_WAIT,
    RetryPolicy,
    RetryState,
    UnsafeRedirectError,
    require_as_safe,
    retry_after,
)


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


INNER = [
    *("http://127.0.0.1/x", "http://localhost:8080/x", "http://[::1]/x", "http://0.0.0.0/x"),
    *("http://127.1/x", "http://2130706433/x", "http://0x7f000001/x", "http://a.localhost/x"),
    *("http://[::ffff:127.0.0.1]/x", "http://169.254.169.254/x", "http://[fe80::1]/x"),
    *("https://127.0.0.1/x", "https://169.254.169.254/x"),
]


@pytest.mark.parametrize("now", INNER)
def test_a_server_elsewhere_leads_to_no_address_of_this_machine_or_its_link(now: str) -> None:
    """Services trust who asks from there, and clouds serve credentials at 169.254.169.254."""
    for before in ("https://files.example.com/", "http://files.example.com/", "http://10.0.0.1/"):
        with pytest.raises(UnsafeRedirectError, match=r"this machine or its link|without TLS"):
            require_as_safe(before, now)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("http://127.0.0.1:5000/", "http://localhost:5001/x"),
        ("https://registry.example.com/", "https://10.1.2.3:9000/x"),
        ("http://files.example.com/", "http://192.168.1.1/x"),
        ("https://registry.example.com/", "/x"),
        ("https://registry.example.com/", "https://127.example.com/x"),
    ],
)
def test_other_redirects_are_followed(before: str, now: str) -> None:
    """A registry in a company may keep its blobs at a private address."""
    require_as_safe(before, now)
