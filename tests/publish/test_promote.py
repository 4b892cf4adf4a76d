# SPDX-License-Identifier: Apache-2.0
"""What is promoted is the same to the digest, with its signatures, or nothing has happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, PublishError, UsageError
from cannery.common.references import Reference
from cannery.publish.cosign import PASSWORD, connection, sign, verify
from cannery.publish.promote import Promotion
from cannery.registry.client import Repository
from cannery.registry.oci import image_manifest, manifest_contents
from cannery.registry.records import Record
from cannery.registry.transfer import closure
from tests.unit.publications import record

from .checkouts import POLICY
from .conftest import HURRIED
from .goods import Push, image_push, tags_of
from .keys import SECRET, make_pair
from .servers import Authority, Between, Fault, registry


@pytest.fixture
def other(tmp_path: Path, authority: Authority) -> Iterator[Repository]:
    """A repository in another registry, which has TLS itself and wants no password."""
    with registry(tmp_path / "other", authority=authority) as server:
        yield Repository(server.host, "team/ascend", ca=authority.file, retries=HURRIED)


@pytest.fixture
def pushed(repository: Repository, tmp_path: Path) -> tuple[Push, Record]:
    push = Push(repository, tmp_path / "releases")
    [pushed] = push(image_push(tmp_path, version="1"))
    return push, record(tag="full-1", tags=("full", "latest"), digest=pushed.root.digest)


def promotion(
    source: Repository, destination: Repository, version: str, tag: str = "", *allow: str
) -> Promotion:
    digest, name = (version, "") if version.startswith("sha256:") else ("", version)
    return Promotion(
        source=source,
        destination=destination,
        image=Reference(registry=source.host, repository=source.name, tag=name, digest=digest),
        place=Reference(registry=destination.host, repository=destination.name, tag=tag),
        publishing=POLICY,
        allow=allow,
    )


def test_the_copy_is_the_same_to_the_digest(
    repository: Repository, other: Repository, pushed: tuple[Push, Record]
) -> None:
    release = pushed[1]
    digest, named = promotion(repository, other, "latest").run([release])
    assert (digest, named) == (release.digest, ("full-1", "full", "latest"))
    assert tags_of(other) == dict.fromkeys(named, release.digest)
    assert closure(other, digest) == closure(repository, digest)


def test_an_alias_now_of_another_target_stays(
    repository: Repository, other: Repository, pushed: tuple[Push, Record], tmp_path: Path
) -> None:
    release = pushed[1]
    [newer] = Push(other, tmp_path / "theirs")(image_push(tmp_path, "bare", "2"))
    assert tags_of(other)["latest"] == newer.root.digest
    given = replace(POLICY, aliases={"latest": "bare"})
    of_full = replace(promotion(repository, other, "full"), publishing=given)
    assert of_full.run([release]) == (release.digest, ("full-1", "full"))
    assert tags_of(other)["latest"] == newer.root.digest
    assert tags_of(other)["full"] == release.digest


def test_by_digest_under_another_tag(
    repository: Repository, other: Repository, pushed: tuple[Push, Record]
) -> None:
    release = pushed[1]
    promotion(repository, other, release.digest, "stable").run([release])
    assert tags_of(other) == {"stable": release.digest}


def test_within_a_registry_nothing_is_sent_again(
    repository: Repository, line: Between, authority: Authority, pushed: tuple[Push, Record]
) -> None:
    near = Repository(repository.host, "stable", ca=authority.file, retries=HURRIED)
    line.seen.clear()
    promotion(repository, near, "full").run([pushed[1]])
    assert line.count("^PUT .*/blobs/") == 0
    assert line.count("^POST .*mount=") == 3
    assert line.count("^GET .*/stable/blobs/") == 3, "only to read it back"
    assert line.count("^GET .*/ascend/blobs/") == 0
    assert near.resolve("full-1") == pushed[1].digest


def test_an_unrecorded_image_needs_the_option(
    repository: Repository, other: Repository, pushed: tuple[Push, Record]
) -> None:
    with pytest.raises(PublishError, match=r"no record in releases/ names .*--allow unrecorded"):
        promotion(repository, other, "full").run([])
    assert tags_of(other) == {}
    promotion(repository, other, "full", "", "unrecorded").run([])
    assert [*tags_of(other)] == ["full"]


def test_signatures_are_copied_with_equal_digests(
    repository: Repository, other: Repository, pushed: tuple[Push, Record]
) -> None:
    release = pushed[1]
    # Not an index: buildx imagetools would make one of it.
    config = manifest_contents(closure(repository, release.digest)[0]).blobs[0]
    signature = image_manifest(config, [], {"is": "a signature"})
    name = release.digest.replace(":", "-") + ".sig"
    repository.put_manifest(signature.digest, signature)
    repository.put_manifest(name, signature)
    repository.put_manifest("sha256-" + "0" * 64 + ".sig", signature)
    promotion(repository, other, "full").run([release])
    assert tags_of(other)[name] == signature.digest
    assert len(tags_of(other)) == 4


def test_a_required_signature_is_verified_before_anything_is_copied(
    repository: Repository,
    other: Repository,
    pushed: tuple[Push, Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)
    ours, theirs = make_pair(tmp_path / "ours"), make_pair(tmp_path / "theirs")
    release = pushed[1]
    signed = repository.at(release.digest)
    required = replace(promotion(repository, other, release.digest, "prod"), key=ours.public)
    for _ in range(2):
        with pytest.raises(EngineError, match="was not signed with"):
            required.run([release])
        assert tags_of(other) == {}
        sign(signed, theirs.private, connection(repository))
    sign(signed, ours.private, connection(repository))
    required.run([release])
    assert tags_of(other)["prod"] == release.digest
    verify(other.at(release.digest), ours.public, connection(other))


def test_a_signature_that_only_the_destination_has_stays(
    repository: Repository,
    other: Repository,
    pushed: tuple[Push, Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)
    ours, theirs = make_pair(tmp_path / "ours"), make_pair(tmp_path / "theirs")
    release = pushed[1]
    here, there = repository.at(release.digest), other.at(release.digest)
    sign(here, ours.private, connection(repository))
    again = promotion(repository, other, "full")
    again.run([release])
    sign(there, theirs.private, connection(other))
    again.run([release])
    for key in (ours.public, theirs.public):
        verify(there, key, connection(other))
    before = tags_of(other)
    sign(here, make_pair(tmp_path / "third").private, connection(repository))
    capsys.readouterr()
    again.run([release])
    assert tags_of(other) == before
    assert ".sig stays, because it has what the source lacks" in capsys.readouterr().err


def test_a_missing_image(repository: Repository, other: Repository) -> None:
    with pytest.raises(PublishError, match="does not exist"):
        promotion(repository, other, "nothing").run([])


def test_a_tag_must_be_known(
    repository: Repository, other: Repository, pushed: tuple[Push, Record]
) -> None:
    with pytest.raises(UsageError, match="has no tag, and neither a record nor"):
        promotion(repository, other, pushed[1].digest, "", "unrecorded").run([])


def test_an_immutable_tag_there_stays(
    repository: Repository, other: Repository, pushed: tuple[Push, Record], tmp_path: Path
) -> None:
    release = pushed[1]
    Push(other, tmp_path / "theirs")(image_push(tmp_path, version="x", immutable="full-1"))
    before = tags_of(other)
    with pytest.raises(PublishError, match="full-1 names another image") as caught:
        promotion(repository, other, "full").run([release])
    assert "This run moved no tag." in str(caught.value.problems[-1])
    with pytest.raises(PublishError, match="full-1 names another image"):
        promotion(repository, other, "full", "full-1").run([release])
    assert tags_of(other) == before


FAULTS = {
    "blobs cannot be read": Fault("^GET .*/blobs/", status=500),
    "the line breaks": Fault("^GET .*/blobs/"),
    "the rate limit": Fault("^GET .*/blobs/", status=429, headers={"Retry-After": "0"}),
    "a manifest is gone": Fault("^GET .*/manifests/sha256", status=404),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_source_leaves_every_tag(
    repository: Repository,
    other: Repository,
    pushed: tuple[Push, Record],
    line: Between,
    fault: Fault,
) -> None:
    line.faults.append(replace(fault))
    with pytest.raises(EngineError):
        promotion(repository, other, "full").run([pushed[1]])
    assert tags_of(other) == {}


@pytest.mark.parametrize("at", ["PUT .*/latest", "PUT .*/sha256", "POST ", "PUT .*/blobs/"])
def test_a_fault_of_the_destination_leaves_every_tag(
    repository: Repository,
    other: Repository,
    pushed: tuple[Push, Record],
    line: Between,
    tmp_path: Path,
    at: str,
) -> None:
    """The other way round, so that the line with the faults is the one that is written to."""
    before = tags_of(repository)
    [theirs] = Push(other, tmp_path / "theirs")(image_push(tmp_path, "bare", moving=("bare",)))
    line.faults.append(Fault(f"^{at}", status=500))
    with pytest.raises(EngineError):
        promotion(other, repository, "bare", "latest", "unrecorded").run([])
    line.faults.clear()
    assert theirs.root.digest not in before.values()
    assert tags_of(repository) == before
