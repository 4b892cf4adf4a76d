# SPDX-License-Identifier: Apache-2.0
"""The labels that say where an image comes from."""

from __future__ import annotations

from cannery.image.content_key import origin_labels

NOW = "2026-11-22T02:03:04Z"
KEY = "sha256:" + "0123456789abcdef" * 4
OWN = {
    "org.opencontainers.image.created": NOW,
    "org.opencontainers.image.version": "0123456789ab",
}


def test_an_image_says_when_and_from_where_it_was_built() -> None:
    labels = origin_labels(
        key=KEY, commit="c0ffee", origin="https://me:secret@git.example.com/a/b.git", created=NOW
    )
    assert labels == OWN | {
        "org.opencontainers.image.revision": "c0ffee",
        "org.opencontainers.image.source": "https://git.example.com/a/b.git",
    }


def test_without_a_repository_nothing_is_made_up() -> None:
    assert origin_labels(key=KEY, commit="", origin="", created=NOW) == OWN
