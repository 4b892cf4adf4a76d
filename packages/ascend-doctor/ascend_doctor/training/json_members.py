# SPDX-License-Identifier: Apache-2.0
"""Reads a large JSON file value by value, so that its size does not matter.

A program that ends early leaves half a file; the values before the end are still read. Both that
and the literals NaN and Infinity, which msprobe writes, are errors to ijson.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, TextIO

_CHUNK = 2**20
"""Characters that are read at once."""
_LONGEST = 2**26
"""Characters of the longest value that is read."""
_TOKEN = 64
"""No token but a string is longer, so an error this near to the end may be one of a cut text."""
_SPACE = re.compile(r"\s*")
_AFTER = {*",:]} \t\r\n"}
"""What follows a value."""
_CLOSED = '}]"'
"""How a value ends that cannot go on."""
_NOT_JSON = "it is not JSON"


class JsonMembers:
    """The members of the object or array that the key ``key`` of a file's object has.

    Without ``key`` they are the members of the file's object itself. Iterating yields name and
    value; names of an array's items are empty.

    Attributes:
        header: the members of the file's object that stand before ``key``, as far as read.
        problem: why reading ended early, as the end of a sentence; empty if it did not.
    """

    def __init__(self, stream: TextIO, key: str = "") -> None:
        self._text = _Text(stream)
        self._key = key
        self.header: dict[str, Any] = {}
        self.problem = ""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        try:
            if not self._key or self._found():
                yield from self._members()
        except _JsonError as error:
            self.problem = f"{error}, near character {self._text.offset:,}"

    def _found(self) -> bool:
        """Read up to the value of the key; whether it is there."""
        self._text.take("{")
        while self._text.peek() == '"':
            name = str(self._text.value())
            self._text.take(":")
            if name == self._key:
                return True
            self.header[name] = self._text.value()
            if self._text.take(",}") == "}":
                break
        self.problem = f"it has no {self._key!r}"
        return False

    def _members(self) -> Iterator[tuple[str, Any]]:
        named = self._text.take("{[" if self._key else "{") == "{"
        end = "}" if named else "]"
        if self._text.peek() == end:
            return
        while True:
            name = ""
            if named:
                name = str(self._text.value())
                self._text.take(":")
            yield name, self._text.value()
            if self._text.take("," + end) == end:
                return


class _JsonError(Exception):
    """The text is not JSON, or ends too early."""


class _Text:
    """The text of a file, of which only the part in use is in memory."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._before = 0
        self._decoder = json.JSONDecoder()

    @property
    def offset(self) -> int:
        return self._before + self._at

    def peek(self) -> str:
        """The next character that is no space, or nothing at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(_CHUNK):
                return ""

    def take(self, characters: str) -> str:
        """The next character, which is one of ``characters``."""
        found = self.peek()
        if not found or found not in characters:
            raise _JsonError(_NOT_JSON if found else "it ends too early")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value. Half a number is a number too, so something must follow a number."""
        size = _CHUNK
        self.peek()
        while True:
            value, end = self._decoded()
            if end and self._text[end : end + 1] in _AFTER:
                self._at = end
                return value
            if end and len(self._text) - end > _TOKEN:
                raise _JsonError(_NOT_JSON)
            if len(self._text) - self._at > _LONGEST:
                raise _JsonError("a value in it is too long")
            length = end - self._at
            closed = bool(end) and self._text[end - 1] in _CLOSED
            # Reading on moves the beginning of the text to where the value begins.
            if not self._more(size):
                if not closed:
                    raise _JsonError("it ends too early")
                self._at = length
                return value
            size *= 2

    def _decoded(self) -> tuple[Any, int]:
        """The next value and where it ends, which is 0 if the text may go on."""
        try:
            return self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            near = error.pos >= len(self._text) - _TOKEN
            if near or error.msg.startswith("Unterminated string"):
                return None, 0
            raise _JsonError(_NOT_JSON) from error
        except (RecursionError, ValueError) as error:
            raise _JsonError("it is nested too deeply, or has a huge number") from error

    def _more(self, size: int) -> bool:
        """Read on, and forget what was used; whether there was more."""
        read = self._stream.read(size)
        self._before += self._at
        self._text = self._text[self._at :] + read
        self._at = 0
        return bool(read)
