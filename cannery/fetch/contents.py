# SPDX-License-Identifier: Apache-2.0
"""Says in words, for people, what the bytes are that a server has sent in place of a file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from cannery.common.outside import one_line, parse_json

LONGEST_PAGE = 1 << 16
"""The most bytes of an answer that is taken for a page."""

SHOWN = 80
"""The most characters that are shown of a text from elsewhere."""

_PAGES = ("a web page", "an XML", "a JSON")
_KINDS = {
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"!<arch>\n": "a package for apt",
    b"\xed\xab\xee\xdb": "a package for rpm",
}
_COMMENT = re.compile(r"\A(?:\ufeff|\s|<!--.*?-->|<\?xml.*?\?>)+", re.DOTALL)
_PAGE = re.compile(r"<!doctype\s+html|<html", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"<(?:code|message)>(.*?)</", re.IGNORECASE | re.DOTALL)
_KEYS = ("message", "error", "error_msg", "error_code", "code")
"""In what keys servers say in JSON what is wrong."""


def page_in(head: bytes, size: int) -> str:
    """That a server sends the page that ``head`` begins, and not a file; empty if it is none."""
    kind = description(head, size) if size <= LONGEST_PAGE else ""
    return f"it sends {kind}, and not the file" if kind.startswith(_PAGES) else ""


def description(head: bytes, size: int) -> str:
    """What a file of ``size`` bytes that begins with ``head`` is, in words, for people."""
    amount = f"of {size:,} bytes"
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            return f"{kind} {amount}"
    try:
        text = head.decode("utf-8" if len(head) == size else "ascii")
    except UnicodeDecodeError:
        return f"{size:,} bytes of no kind that is known"
    return _text_kind(text, amount)


def _text_kind(text: str, amount: str) -> str:
    body = _COMMENT.sub("", text)
    if _PAGE.match(body):
        return f"a web page {amount}{_quoted(_TITLE.findall(body))}"
    if body.startswith("<"):
        errors = _CODE.findall(body)
        return f"an XML {'error page' if errors else 'document'} {amount}{_quoted(errors)}"
    with suppress(ValueError):
        document = parse_json(text)
        values = document if isinstance(document, dict) else {}
        return f"a JSON document {amount}{_quoted(_texts(values))}"
    if body.startswith("#!"):
        return f"a script {amount} without an archive"
    return f"a text {amount}{_quoted(body.splitlines())}"


def _texts(document: dict[str, object]) -> Iterator[str]:
    for key in _KEYS:
        value = document.get(key)
        if isinstance(value, dict):
            yield from _texts(value)
        elif isinstance(value, str | int):
            yield str(value)


def _quoted(texts: Iterable[str]) -> str:
    """The first of ``texts`` that is not empty, after a colon."""
    words = (" ".join(each.split()) for each in texts)
    first = next((each for each in words if each), "")
    return f": {one_line(first[:SHOWN])}" if first else ""
