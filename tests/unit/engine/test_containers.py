# SPDX-License-Identifier: Apache-2.0
"""Containers of runs that were killed are removed by the next run, whatever its command is."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import docker.errors
import pytest

from cannery.common.errors import FileError
from cannery.common.files import own_mark
from cannery.deploy.run_spec import DRIVER_MOUNTS, no_device, npus, simulated_device
from cannery.engine import client, containers

ENDED = own_mark().replace(f":{os.getpid()}:", ":1:")
"""The mark of a process with the number of one that started at another time."""


class Engine:
    """An engine with a container of a killed run, and one of this run."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.copied: list[str] = []
        self.containers = self
        self.api = self

    def list(self, *, ignore_removed: bool = False, **_: object) -> list[SimpleNamespace]:
        # Another run removes one of its own meanwhile.
        if not ignore_removed:
            raise docker.errors.NotFound("No such container: other")
        marks = {"killed": ENDED, "own": own_mark()}
        return [
            SimpleNamespace(id=name, labels={containers.LABEL_TEST: mark})
            for name, mark in marks.items()
        ]

    def create(self, *_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(id="new", start=lambda: None, put_archive=self.put_archive)

    def put_archive(self, top: str, archive: IO[bytes]) -> None:
        assert top == "/"
        with tarfile.open(fileobj=archive) as packed:
            self.copied = packed.getnames()

    def remove_container(self, container: str, **_: object) -> None:
        self.removed.append(container)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    found = Engine()
    monkeypatch.setattr(client, "connect", lambda: found)
    containers.remove_abandoned.cache_clear()
    yield found
    containers.remove_abandoned.cache_clear()


MADE: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "running": lambda: containers.container("image", "linux/amd64", no_device(), Path(__file__)),
    "not started": lambda: containers.unstarted("image", "linux/amd64"),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_container_removes_those_of_killed_runs(
    engine: Engine, made: Callable[[], AbstractContextManager[object]]
) -> None:
    with made():
        assert engine.removed == ["killed"]
    with made():
        assert engine.removed.count("killed") == 1
    assert len(engine.removed) == 3


def test_what_is_copied_and_what_is_the_engines(engine: Engine, tmp_path: Path) -> None:
    """A simulated driver is made on this machine, and a real one is on the engine's."""
    for path in DRIVER_MOUNTS:
        (tmp_path / path.lstrip("/")).mkdir(parents=True)
    with containers.container("image", "linux/amd64", simulated_device(tmp_path), None):
        assert engine.copied == [path.lstrip("/") for path in DRIVER_MOUNTS]
    engine.copied = []
    with containers.container("image", "linux/amd64", npus([0]), Path(__file__)):
        assert engine.copied == [containers.TRUSTED.lstrip("/")]


def test_a_file_that_cannot_be_copied(engine: Engine, tmp_path: Path) -> None:
    with (
        pytest.raises(FileError, match=f"{tmp_path}/ca"),
        containers.container("image", "linux/amd64", no_device(), tmp_path / "ca"),
    ):
        pass
    assert len(engine.removed) == 2
