# SPDX-License-Identifier: Apache-2.0
"""A push moves the tags, once, and leaves a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, FileError, PublishError

from .goods import Push, image_push, unmoved
from .servers import Between, Fault


def test_a_push_moves_the_tags_and_leaves_a_record(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    [pushed] = push(image_push(tmp_path, version="2"))
    new = pushed.root.digest
    assert push.tags() == {
        "full": new,
        "full-1": before["full-1"],
        "full-2": new,
        "latest": new,
    }
    assert push.log == ["test full", "sign full", "records"]
    assert push.recorded() == ["full-1.json", "full-2.json"]


def test_only_what_is_new_is_uploaded(push: Push, line: Between, tmp_path: Path) -> None:
    line.seen.clear()
    push(image_push(tmp_path, version="2"))
    assert line.count("^PUT .*/blobs/") == 2  # the config, and one of two layers


def test_the_same_push_again_uploads_and_changes_nothing(
    push: Push, before: dict[str, str], line: Between, tmp_path: Path
) -> None:
    line.seen.clear()
    [pushed] = push(image_push(tmp_path, version="1"))
    assert pushed.root.digest == before["full-1"]
    assert line.count("^(PUT|POST|DELETE) ") == 0
    assert push.log[0] == "test full"
    unmoved(push, before)


def test_the_same_image_in_another_compression_is_the_same(
    push: Push, before: dict[str, str], line: Between, tmp_path: Path
) -> None:
    line.seen.clear()
    [pushed] = push(image_push(tmp_path, version="1", compression="gzip"))
    assert pushed.root.digest == before["full-1"]
    assert line.count("^(PUT|POST|DELETE) ") == 0
    unmoved(push, before)


def test_an_immutable_tag_is_never_given_to_something_else(
    push: Push, before: dict[str, str], tmp_path: Path, line: Between
) -> None:
    line.seen.clear()
    with pytest.raises(PublishError) as caught:
        push(image_push(tmp_path, version="other", immutable="full-1"))
    assert "full-1 is another image, with the content key 1" in str(caught.value)
    assert before["full-1"] in str(caught.value.problems[0])
    assert line.count("^(PUT|POST|DELETE) ") == 0
    unmoved(push, before)


def test_another_build_of_the_same_content_takes_the_published_one(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    again = image_push(tmp_path, version="1", build=", built again")
    new = image_push(tmp_path, "bare", moving=("bare",))
    taken, pushed = push(again, new)
    assert taken.root.digest == before["full-1"]
    assert push.tags() == before | dict.fromkeys(("bare", "bare-1"), pushed.root.digest)
    assert push.log == ["taken full", "test full", "test bare", "sign bare", "records"]
    assert push.recorded() == ["bare-1.json", "full-1.json"]


def test_the_record_of_another_push_stays(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    push.beside = "another push"
    with pytest.raises(FileError, match="was changed by another process") as error:
        push(image_push(tmp_path, version="2"))
    assert error.value.problems[-1].what == "This run moved no tag."
    assert push.tags() == before
    assert (push.releases / "full" / "full-2.json").read_text() == "another push"


def test_a_failed_push_leaves_the_record_that_another_has_put_in_place_of_its_own(
    push: Push, before: dict[str, str], tmp_path: Path, line: Between
) -> None:
    path = push.releases / "full" / "full-2.json"

    def another_push() -> None:
        path.write_text("another push", encoding="utf-8")

    line.faults.append(Fault("^PUT .*/manifests/latest", status=500, meanwhile=another_push))
    with pytest.raises(CanneryError):
        push(image_push(tmp_path, version="2"))
    assert push.tags() == before
    assert path.read_text(encoding="utf-8") == "another push"
