# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of this package, which are ini files beside the modules that use them."""

from __future__ import annotations

import configparser
import pkgutil


def read_ini(module: str, file: str) -> dict[str, dict[str, str]]:
    """Section to key to value, in the order of ``file`` beside ``module``, which is ``__name__``.

    Not ``__package__``, which a module in a zip file has only after its import before Python 3.10.
    """
    data = pkgutil.get_data(module.rpartition(".")[0], file)
    assert data
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",)
    )
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read_string(data.decode("utf-8"))
    return {name: dict(parser[name]) for name in parser.sections()}


def words(text: str) -> tuple[str, ...]:
    """What stands between the commas of a value."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
