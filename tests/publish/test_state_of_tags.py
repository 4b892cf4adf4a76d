# SPDX-License-Identifier: Apache-2.0
"""What a push says of its tags is what the registry has, and each pushed image has its record."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from cannery.common.errors import CanneryError, EngineError, Problem
from cannery.registry import transfer
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import Document

from .goods import Push, image_push, unmoved
from .servers import Between, Fault

_PATIENCE = 2.0
"""Seconds that another push has, which ends before them if nothing holds it up."""


def test_two_pushes_of_an_image_leave_its_tags_and_its_record_or_none(
    push: Push, before: dict[str, str], line: Between, tmp_path: Path
) -> None:
    """The other push begins when this one, which fails, has its record and moves its last tag."""
    failures: list[CanneryError] = []

    def beside() -> None:
        line.faults.clear()
        try:
            push(image_push(tmp_path, version="2"))
        except CanneryError as error:
            failures.append(error)

    other = Thread(target=beside)

    def begin() -> None:
        other.start()
        other.join(_PATIENCE)

    line.faults.append(Fault("^PUT .*/manifests/latest", status=500, meanwhile=begin))
    with pytest.raises(EngineError, match="latest cannot be written"):
        push(image_push(tmp_path, version="2"))
    other.join()
    unmoved(push, before)
    [failure] = failures
    assert "full-2 named sha256:" in str(failure.problems[0])
    assert "names nothing now: somebody else has moved it" in str(failure.problems[0])
    [pushed] = push(image_push(tmp_path, version="2"))
    assert push.tags()["latest"] == push.tags()["full-2"] == pushed.root.digest
    assert push.recorded() == ["full-1.json", "full-2.json"]


def test_an_interrupt_after_the_tags_have_moved_keeps_the_record(
    push: Push,
    before: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    move = transfer.TagMover.move

    def interrupted(self: transfer.TagMover, after: dict[str, Document]) -> None:
        move(self, after)
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer.TagMover, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        push(image_push(tmp_path, version="2"))
    assert push.tags()["latest"] == push.tags()["full-2"] != before["latest"]
    assert push.recorded() == ["full-1.json", "full-2.json"]
    assert "Every tag has been moved, and the records are written." in capsys.readouterr().err


def failing_at(
    monkeypatch: pytest.MonkeyPatch, tag: str, *, stores: bytes = b"", keeps: bool = False
) -> None:
    """Let the first write of ``tag`` end with an error, after other bytes were stored with it.

    With ``keeps``, the registry says that it writes the tag once more, and does not.
    """
    put = Repository.put_manifest
    sent: list[str] = []

    def failing(self: Repository, version: str, document: Document) -> str:
        sent.append(version)
        if version != tag or sent.count(tag) > 2:
            return put(self, version, document)
        if sent.count(tag) == 2:
            return document.digest if keeps else put(self, version, document)
        other = Document(media_type=document.media_type, content=document.content + stores)
        put(self, version, other)
        raise RegistryError(Problem(what="the answer was lost."), status=502)

    monkeypatch.setattr(Repository, "put_manifest", failing)


def test_a_tag_that_the_registry_does_not_put_back_is_named(
    push: Push, before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_at(monkeypatch, "latest", keeps=True)
    with pytest.raises(EngineError, match="the answer was lost") as caught:
        push(image_push(tmp_path, version="2"))
    now = push.tags()
    assert now["latest"] != before["latest"] and now["full"] == before["full"]
    state = str(caught.value.problems[-1])
    name = push.repository.at("latest")
    assert state.startswith("Some tags could not be put back")
    assert f"{name} named {before['latest']} and names {now['latest']} now" in state
    assert f"promote {push.repository.at(before['latest'])} {name} --allow unrecorded" in state
    assert "full named" not in state


def test_a_tag_with_bytes_that_nobody_knows_is_named(
    push: Push, before: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_at(monkeypatch, "latest", stores=b"\n")
    with pytest.raises(EngineError) as caught:
        push(image_push(tmp_path, version="2"))
    now = push.tags()["latest"]
    assert now != before["latest"]
    state = str(caught.value.problems[-1])
    assert f"and names {now} now: somebody else has moved it, or the bytes were changed" in state


def test_a_record_that_cannot_be_taken_back_is_named(
    push: Push,
    before: dict[str, str],
    line: Between,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.name == "full-2.json":
            raise PermissionError(13, os.strerror(13), str(path))
        unlink(path, missing_ok)

    unlink = Path.unlink
    line.faults.append(Fault("^PUT .*/manifests/latest", status=500))
    with (
        monkeypatch.context() as patched,
        pytest.raises(CanneryError, match="latest cannot be written") as caught,
    ):
        patched.setattr(Path, "unlink", refused)
        push(image_push(tmp_path, version="2"))
    told = [str(each) for each in caught.value.problems]
    assert any("Every moved tag was put back" in each for each in told)
    assert "The records could not be taken back" in told[-1]
    (push.releases / "full" / "full-2.json").unlink()
    line.faults.clear()
    unmoved(push, before)
