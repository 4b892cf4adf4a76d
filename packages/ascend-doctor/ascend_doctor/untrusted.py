# SPDX-License-Identifier: Apache-2.0
"""The one door for files and JSON of others, with limits on size, depth and numbers."""

from __future__ import annotations

import codecs
import json
import math
import os
import stat
import tempfile
from typing import Any, Callable, Sequence, TypeVar

from .problems import FileError, Problem, collected, file_error

_R = TypeVar("_R")
_MOST = 1 << 28
_DEPTH = 64
_DIGITS = 40


def read_text(path: str) -> str:
    """The text of a regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            fix = "Check that it is there and that you may read it."
            raise FileError(Problem(f"cannot read {path}: it is not a regular file.", fix))
        with open(path, "rb") as stream:
            content = stream.read(_MOST + 1)
    except OSError as error:
        raise file_error("read", path, error) from error
    if len(content) > _MOST:
        raise FileError(f"{path} is larger than {_MOST >> 20} MB, the most that is read.")
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text: {error.reason}.") from error


def read_files(paths: Sequence[str], parse: Callable[[str, str], _R]) -> list[_R]:
    """What ``parse`` makes of the text and the name of each file."""

    def work(path: str) -> Callable[[], _R]:
        return lambda: parse(read_text(path), path)

    return collected(work(path) for path in paths)


def write_text(path: str, text: str) -> None:
    """Write a file, or leave what was there if that fails."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # such as /dev/stdout
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            return
        folder = os.path.dirname(os.path.abspath(path))
        handle, beside = tempfile.mkstemp(prefix=".ascend-doctor-", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(beside, 0o666 & ~mask)
            os.replace(beside, path)
        except OSError:
            os.unlink(beside)
            raise
    except OSError as error:
        raise file_error("write", path, error) from error


def parse_json(text: str) -> Any:
    """The JSON document ``text``.

    Raises:
        ValueError: it is not one, too deep, or has a number that is not finite.
    """
    try:
        found = json.loads(text, parse_constant=_finite, parse_float=_finite, parse_int=_integer)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    level = [found]
    for _ in range(_DEPTH):
        level = [inner for each in level for inner in _inside(each)]
    if level:
        raise ValueError("it is nested too deeply")
    return found


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("a number has too many digits")
    return int(text)
