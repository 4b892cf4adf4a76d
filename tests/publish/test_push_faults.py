# SPDX-License-Identifier: Apache-2.0
"""Whatever happens during a push, every tag names its image of before; else it moves them once.

A real registry, with TLS and a password, behind a line that fails as lines and registries do.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import (
    CanneryError,
    EngineError,
    FileError,
    PublishError,
    VerificationError,
)
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import Document

from .conftest import HURRIED, Login
from .goods import Push, image_push, unmoved
from .servers import Authority, Between, Fault, Server, between, registry

FAULTS = {
    "nothing can be looked up": Fault("^HEAD ", status=400),
    "uploads are refused": Fault("^POST .*/uploads/", status=500),
    "blobs are refused": Fault("^PUT .*/blobs/", status=500),
    "the line breaks in every blob": Fault("^PUT .*/blobs/", after=20_000),
    "manifests are refused": Fault("^PUT .*/manifests/sha256", status=500),
    "nothing can be read back": Fault("^GET .*/blobs/", status=404),
    "a manifest is gone": Fault("^GET .*/manifests/sha256", status=404),
    "every answer is cut off": Fault("^GET .*/manifests/sha256"),
    "the immutable tag is refused": Fault("^PUT .*/manifests/full-2", status=500),
    "the moving tag is refused": Fault("^PUT .*/manifests/full$", status=500),
    "the alias is refused": Fault("^PUT .*/manifests/latest", status=500),
    "the line breaks at the alias": Fault("^PUT .*/manifests/latest"),
    "the rate limit never ends": Fault("^PUT .*/blobs/", status=429, headers={"Retry-After": "0"}),
    "the rate limit is met at a tag": Fault(
        "^PUT .*/manifests/latest", status=429, headers={"Retry-After": "0"}
    ),
    "the registry is always too busy": Fault("^HEAD ", status=503),
    "the login has ended": Fault("^PUT ", status=403),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_leaves_every_tag(
    push: Push, before: dict[str, str], line: Between, tmp_path: Path, fault: Fault
) -> None:
    line.faults.append(fault)
    with pytest.raises(EngineError) as caught:
        push(image_push(tmp_path, version="2"))
    line.faults.clear()
    last = str(caught.value.problems[-1])
    assert last.startswith(("This run moved no tag.", "Every moved tag was put back: "))
    unmoved(push, before)


RECOVERS = {
    "a blob": Fault("^PUT .*/blobs/", after=20_000, times=2),
    "an upload": Fault("^POST .*/uploads/", times=2),
    "a look-up of a blob": Fault("^HEAD .*/blobs/", status=500, times=2),
    "a look-up of a manifest": Fault("^HEAD .*/manifests/sha256", status=500, times=1),
    "a tag": Fault("^PUT .*/manifests/latest", times=2),
    "reading": Fault("^GET .*/blobs/", times=2),
    "busy": Fault("^(PUT|GET|HEAD|POST) ", status=503, times=2),
    "nonsense": Fault("^HEAD ", status=429, headers={"Retry-After": "soon"}, times=2),
    "rate limit": Fault("^PUT .*/blobs/", status=429, headers={"Retry-After": "1"}, times=2),
}


@pytest.mark.parametrize("fault", RECOVERS.values(), ids=RECOVERS)
def test_requests_are_repeated_after_a_short_fault(
    push: Push, before: dict[str, str], line: Between, tmp_path: Path, fault: Fault
) -> None:
    line.faults.append(fault)
    [pushed] = push(image_push(tmp_path, version="2"))
    assert fault.times == 0
    assert push.tags()["latest"] == pushed.root.digest


def test_the_registry_dies_in_the_middle(
    push: Push, before: dict[str, str], line: Between, server: Server, tmp_path: Path
) -> None:
    line.faults.append(Fault("^PUT .*/blobs/", meanwhile=server.stop))
    with pytest.raises(EngineError, match="cannot be reached or breaks off"):
        push(image_push(tmp_path, version="2"))
    line.faults.clear()
    server.start()
    unmoved(push, before)


def test_the_registry_dies_between_two_tags(
    push: Push, before: dict[str, str], line: Between, server: Server, tmp_path: Path
) -> None:
    """Nothing can be put back then; what is said is what is so, and the next push mends it."""
    line.faults.append(Fault("^PUT .*/manifests/latest", meanwhile=server.stop))
    with pytest.raises(EngineError) as caught:
        push(image_push(tmp_path, version="2"))
    state = str(caught.value.problems[-1])
    assert "Some tags could not be put back" in state
    assert "full-2 is new and may name" in state
    for tag in ("full", "latest"):
        place = push.repository.at(before[tag])
        assert f"promote {place} {push.repository.at(tag)} --allow unrecorded" in state
    line.faults.clear()
    server.start()
    assert push.tags()["latest"] == before["latest"]
    assert push.recorded() == ["full-1.json"]
    [pushed] = push(image_push(tmp_path, version="2"))
    assert push.tags()["full"] == push.tags()["latest"] == pushed.root.digest


def test_somebody_else_moves_a_tag_meanwhile(
    push: Push, before: dict[str, str], line: Between, server: Server, tmp_path: Path
) -> None:
    theirs = push.repository.manifest(before["full-1"])
    assert theirs
    other = Document(media_type=theirs.media_type, content=theirs.content + b"\n")

    def interfere() -> None:
        line.faults.clear()
        push.repository.put_manifest("latest", other)

    line.faults.append(Fault("^PUT .*/manifests/full$", meanwhile=interfere))
    with pytest.raises(PublishError, match="somebody else has moved it"):
        push(image_push(tmp_path, version="2"))
    unmoved(push, {**before, "latest": other.digest})


@pytest.mark.parametrize("stage", ["test full", "sign full", "records"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), VerificationError("it does not import")])
def test_local_failures_leave_every_tag(
    push: Push, before: dict[str, str], tmp_path: Path, stage: str, error: BaseException
) -> None:
    push.fails_at, push.error = stage, error
    with pytest.raises(type(error)):
        push(image_push(tmp_path, version="2"))
    unmoved(push, before)


def test_no_tag_moves_before_every_image_is_tested(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    push.fails_at, push.error = "test bare", VerificationError("it does not import")
    with pytest.raises(VerificationError):
        push(image_push(tmp_path, version="2"), image_push(tmp_path, "bare", moving=("bare",)))
    assert push.log == ["test full", "test bare"]
    unmoved(push, before)


def test_ctrl_c_while_tags_move(
    push: Push,
    before: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put = Repository.put_manifest

    def interrupted(self: Repository, version: str, document: Document) -> str:
        stored = put(self, version, document)
        if version == "latest" and document.digest != before["latest"]:
            raise KeyboardInterrupt
        return stored

    monkeypatch.setattr(Repository, "put_manifest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        push(image_push(tmp_path, version="2"))
    assert "Every moved tag was put back: " in capsys.readouterr().err
    unmoved(push, before)


@pytest.mark.parametrize("tag", ["full-2", "full", "latest"])
def test_bytes_changed_on_the_way_to_a_tag_leave_every_tag(
    push: Push,
    before: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tag: str,
) -> None:
    put = Repository.put_manifest
    sent: list[str] = []

    def changed(self: Repository, version: str, document: Document) -> str:
        sent.append(version)
        if version == tag and sent.count(tag) == 1:
            other = document.content + b"\n"
            document = Document(media_type=document.media_type, content=other)
        return put(self, version, document)

    monkeypatch.setattr(Repository, "put_manifest", changed)
    with pytest.raises(RegistryError, match="the bytes were changed on the way") as caught:
        push(image_push(tmp_path, version="2"))
    assert "Every moved tag was put back: " in str(caught.value.problems[-1])
    unmoved(push, before)


def test_an_unwritable_record_leaves_every_tag(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    (push.releases / "bare").write_text("in the way", encoding="utf-8")
    with pytest.raises(CanneryError, match="cannot write"):
        push(image_push(tmp_path, version="2"), image_push(tmp_path, "bare", moving=("bare",)))
    (push.releases / "bare").unlink()
    unmoved(push, before)


@pytest.mark.parametrize("user", ["", "publisher"])
def test_wrong_credentials(
    push: Push, before: dict[str, str], login: Login, line: Between, tmp_path: Path, user: str
) -> None:
    login("elsewhere.example.com" if not user else line.host, user, "wrong")
    stranger = Repository(line.host, "ascend", ca=push.repository.ca, retries=HURRIED)
    line.seen.clear()
    message = "rejects the login" if user else "docker has stored none for it"
    with pytest.raises(RegistryError, match=message) as caught:
        Push(stranger, push.releases)(image_push(tmp_path, version="2"))
    assert f"docker login {line.host}" in str(caught.value)
    assert "wrong" not in str(caught.value)
    assert line.count("^(PUT|POST|DELETE) ") == 0
    login(line.host)
    unmoved(push, before)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_the_registry_s_disk_is_full(
    small_disk: Path, authority: Authority, login: Login, tmp_path: Path
) -> None:
    with (
        registry(tmp_path / "r", login=True, root=small_disk) as full,
        between(full, authority, tmp_path / "b") as line,
    ):
        login(line.host)
        repository = Repository(line.host, "ascend", ca=authority.file, retries=HURRIED)
        push = Push(repository, tmp_path / "releases")
        push(image_push(tmp_path, version="1"))
        before = push.tags()
        (small_disk / "rest").write_bytes(b"\0" * (2 << 20))
        with pytest.raises(EngineError) as caught:
            push(image_push(tmp_path, version="2", size=4_000_000))
        assert "This run moved no tag." in str(caught.value.problems[-1])
        assert "disk is full: make room there" in str(caught.value)
        unmoved(push, before)


def test_a_new_tag_stays_without_tag_deletion(
    authority: Authority, login: Login, tmp_path: Path
) -> None:
    """A new tag stays there when another cannot be moved; that is said, and the old ones stay."""
    with (
        registry(tmp_path / "r", login=True, delete=False) as rigid,
        between(rigid, authority, tmp_path / "b") as line,
    ):
        login(line.host)
        repository = Repository(line.host, "ascend", ca=authority.file, retries=HURRIED)
        push = Push(repository, tmp_path / "releases")
        push(image_push(tmp_path, version="1"))
        before = push.tags()
        line.faults.append(Fault("^PUT .*/manifests/latest", status=500))
        with pytest.raises(EngineError) as caught:
            push(image_push(tmp_path, version="2"))
        assert "does not delete tags" in str(caught.value.problems[-1])
        line.faults.clear()
        after = push.tags()
        assert {tag: after[tag] for tag in before} == before
        assert push.recorded() == ["full-1.json"]


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


def test_only_new_blobs_are_uploaded(push: Push, line: Between, tmp_path: Path) -> None:
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


def test_the_record_of_another_push_stays(
    push: Push, before: dict[str, str], tmp_path: Path
) -> None:
    push.beside = "another push"
    with pytest.raises(FileError, match="was changed by another process") as error:
        push(image_push(tmp_path, version="2"))
    assert error.value.problems[-1].what == "This run moved no tag."
    assert push.tags() == before
    assert (push.releases / "full" / "full-2.json").read_text() == "another push"


def test_a_failed_push_leaves_the_record_of_another_push(
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
