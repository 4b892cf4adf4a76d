# SPDX-License-Identifier: Apache-2.0
"""Pruning a real registry: nothing without --yes, and never what something needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, PublishError
from cannery.publish.prune import Decision, Stored, delete, text_of
from cannery.publish.prune import prunable as found_and_decided
from cannery.registry.client import Repository
from cannery.registry.oci import manifest_contents
from cannery.registry.records import Record
from tests.unit.publications import record

from .conftest import HURRIED, Login
from .goods import Push, image_push
from .servers import Authority, Between, Fault, Server, between, registry

MOVING = ("full", "latest")
ALL = 0
"""How many are kept of each target, where all are to go that may."""


def prunable(
    repository: Repository, records: Sequence[Record], moving: Sequence[str], keep: int = ALL
) -> tuple[list[Stored], Decision]:
    """The tags that ``image_push`` gives are those of a push."""
    own = re.compile("(full|bare)(-[0-9]+)?(-sim)?")
    policy = lambda tag, _: bool(own.fullmatch(tag))  # noqa: E731 - what it is named says it
    return found_and_decided(repository, records, moving, keep, policy)


@pytest.fixture
def push(repository: Repository, tmp_path: Path) -> Push:
    """Four images of a target, each pushed after the other."""
    found = Push(repository, tmp_path / "releases")
    for version in "1234":
        found(image_push(tmp_path, version=version))
    return found


def test_what_nothing_needs_is_shown_and_then_deleted(push: Push) -> None:
    before = push.tags()
    told = record(tag="full-1", digest=before["full-1"])
    found, decision = prunable(push.repository, [told], MOVING, 0)
    said = text_of(found, decision)
    assert "keep    full-1: the record of full-1 names it" in said
    assert "keep    full, full-4, latest: the moving tag full, latest names it" in said
    assert f"delete  full-2  {before['full-2']}" in said
    assert said.endswith("2 to delete, 2 to keep")
    assert push.tags() == before
    delete(push.repository, decision)
    assert [*push.tags()] == ["full", "full-1", "full-4", "latest"]
    assert not push.repository.resolve(before["full-2"])


def test_what_is_kept_can_still_be_pulled_whole(push: Push, tmp_path: Path) -> None:
    _, decision = prunable(push.repository, [], MOVING, 0)
    delete(push.repository, decision)
    assert push(image_push(tmp_path, version="4"))
    _, again = prunable(push.repository, [], MOVING, 0)
    assert again.gone == ()


def test_nothing_is_deleted_where_somebody_is_at_work(push: Push) -> None:
    _, decision = prunable(push.repository, [], MOVING, 0)
    now = push.repository.manifest("full-4")
    assert now
    push.repository.put_manifest("full-2", now)
    before = push.tags()
    with pytest.raises(PublishError, match="Nothing was deleted"):
        delete(push.repository, decision)
    assert push.tags() == before


def test_newer_simulated_images_do_not_drive_out_the_real_one(
    repository: Repository, tmp_path: Path
) -> None:
    push = Push(repository, tmp_path / "releases")
    for day, end in enumerate(["", "-sim", "-sim", "-sim"], 1):
        push(
            image_push(
                tmp_path,
                version=f"{day}{end}",
                moving=(f"full{end}",),
                created=f"2026-11-0{day}T00:00:00Z",
                simulated=bool(end),
            )
        )
    # The tag of the target is given to another one meanwhile.
    _, decision = prunable(push.repository, [], ["full-sim"], 1)
    delete(push.repository, decision)
    assert [*push.tags()] == ["full", "full-1", "full-3-sim", "full-4-sim", "full-sim"]


def test_what_a_person_has_tagged_is_not_deleted(push: Push) -> None:
    old = push.repository.manifest("full-2")
    assert old
    push.repository.put_manifest("approved", old)
    found, decision = prunable(push.repository, [], MOVING)
    assert "keep    approved, full-2: build.py push has not set the tag approved" in text_of(
        found, decision
    )
    delete(push.repository, decision)
    assert [*push.tags()] == ["approved", "full", "full-2", "full-4", "latest"]


def lose_a_part(push: Push, server: Server, tag: str) -> str:
    """Let the registry lose the image in the index ``tag``, as a careless clean-up does."""
    root = push.repository.manifest(tag)
    assert root
    [image] = manifest_contents(root).manifests
    revisions = server.folder / "data/docker/registry/v2/repositories/ascend/_manifests/revisions"
    shutil.rmtree(revisions / "sha256" / image.digest.removeprefix("sha256:"))
    return image.digest


def test_an_index_that_lacks_an_image_does_not_stop_the_others(push: Push, server: Server) -> None:
    lost = lose_a_part(push, server, "full-2")
    found, decision = prunable(push.repository, [], MOVING)
    said = text_of(found, decision)
    assert f"keep    full-2: it lacks {lost}; push it again, or delete its tag" in said
    delete(push.repository, decision)
    assert [*push.tags()] == ["full", "full-2", "full-4", "latest"]


def test_a_registry_that_deletes_nothing(
    authority: Authority, login: Login, tmp_path: Path
) -> None:
    with (
        registry(tmp_path / "r", login=True, delete=False) as rigid,
        between(rigid, authority, tmp_path / "b") as line,
    ):
        login(line.host)
        repository = Repository(line.host, "ascend", ca=authority.file, patience=HURRIED)
        push = Push(repository, tmp_path / "releases")
        push(image_push(tmp_path, version="1"))
        push(image_push(tmp_path, version="2"))
        before = push.tags()
        _, decision = prunable(repository, [], MOVING, 0)
        with pytest.raises(PublishError, match="does not allow deletion"):
            delete(repository, decision)
        assert push.tags() == before


def test_a_failure_says_how_far_it_got(push: Push, line: Between) -> None:
    _, decision = prunable(push.repository, [], MOVING, 0)
    line.faults.append(Fault("^DELETE ", status=500))
    with pytest.raises(EngineError) as caught:
        delete(push.repository, decision)
    assert "0 of 6 manifests were deleted before." in str(caught.value.problems[-1])


def test_an_empty_repository(repository: Repository) -> None:
    found, decision = prunable(repository, [], MOVING, 3)
    assert text_of(found, decision) == "\n0 to delete, 0 to keep"
