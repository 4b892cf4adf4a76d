# SPDX-License-Identifier: Apache-2.0
"""Makes the tests quick, and independent of how they were started."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import jinja2
import pytest


def pytest_configure() -> None:
    """Lets programs that a test starts be interrupted.

    A shell makes its background jobs ignore SIGINT, and they pass that on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the collector away from the thousands of objects of the tests, which are no garbage."""
    gc.collect()
    gc.freeze()
    # As build.py does.
    gc.set_threshold(100_000)


@pytest.fixture(scope="session", autouse=True)
def templates_compiled_once() -> Iterator[None]:
    """Lets equal templates, of which every throw-away checkout has a copy, be compiled once."""
    compile_template = jinja2.Environment.compile
    compiled: dict[tuple[Any, ...], Any] = {}

    def once(self: jinja2.Environment, source: Any, *names: Any, **more: Any) -> Any:
        how = (self.autoescape, self.undefined, self.keep_trailing_newline, self.trim_blocks)
        key = (source, *names[:1], *how, self.lstrip_blocks, *sorted(self.filters))
        if more or not isinstance(source, str):
            return compile_template(self, source, *names, **more)
        if key not in compiled:
            compiled[key] = compile_template(self, source, *names)
        return compiled[key]

    with patch.object(jinja2.Environment, "compile", once):
        yield
