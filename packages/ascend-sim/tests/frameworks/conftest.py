# SPDX-License-Identifier: Apache-2.0
"""The environments, and the results for the page that the session writes.

With CANNERY_FRAMEWORKS, a folder that has the wheel ascend-sim; 'nox -s frameworks' makes it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import environments
from .results import Result, write

Recorder = Callable[[Result], None]


@pytest.fixture(scope="session")
def folder() -> Path:
    given = os.environ.get("CANNERY_FRAMEWORKS")
    if given is None:
        pytest.skip("CANNERY_FRAMEWORKS is not set")
    return Path(given)


@pytest.fixture(scope="session")
def environment(folder: Path) -> Callable[[str], environments.Environment]:
    wheel = environments.wheel_in(folder)

    @functools.cache
    def find(name: str) -> environments.Environment:
        return environments.made(name, folder / name, wheel)

    return find


@pytest.fixture
def result(request: pytest.FixtureRequest, folder: Path) -> Iterator[Result]:
    """What the page tells of this test; without losses if the test fails before it has them."""
    found = Result(test=request.node.name)
    yield found
    write(found, folder / "results")
