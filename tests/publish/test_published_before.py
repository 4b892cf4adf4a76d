# SPDX-License-Identifier: Apache-2.0
"""Pushes of images that another machine has published before, as from an empty runner."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError, PublishError
from cannery.publish.cosign import PASSWORD
from cannery.registry.client import Repository
from cannery.registry.oci import Document, document, image_index, manifest_contents
from cannery.registry.records import Record, read_records
from cannery.registry.transfer import UNMOVED
from tests.unit.archives import COMPRESSED, layer
from tests.unit.world import BOTH, make_world

from .checkouts import Place, built_place, empty_runner
from .keys import SECRET, make_pair

EmptyRunner = Callable[[Place], Place]


@pytest.fixture
def first(tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The machine that publishes first."""
    return built_place(make_world(tmp_path, monkeypatch), repository, monkeypatch)


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmptyRunner:
    """Makes a machine with a clone, whose builds take the packages of another day."""

    def make(place: Place) -> Place:
        place.commit()
        made = empty_runner(place, tmp_path / "runner" / "clone", monkeypatch)
        made.packages = "of another day"
        return made

    return make


def record_of(place: Place, target: str) -> Record:
    [record] = [each for each in read_records(place.releases) if each.target == target]
    return record


def forget_records(place: Place) -> None:
    """As in a clone of a branch that the records have not reached."""
    for path in place.releases.rglob("*.json"):
        path.unlink()
    place.commit()


def test_a_release_from_an_empty_runner(
    first: Place, runner: EmptyRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    full, bare = first.push(BOTH)
    before = first.tags()
    again = runner(first)
    texts = {path: path.read_bytes() for path in again.releases.rglob("*.json")}
    again.rebuild()
    again.world.run(["bare"])
    capsys.readouterr()
    changed, unchanged = again.push(BOTH)
    assert (changed != full, unchanged) == (True, bare)
    [new] = {*again.releases.rglob("*.json")} - texts.keys()
    assert {path: path.read_bytes() for path in texts} == texts
    assert again.tags() == before | dict.fromkeys((new.stem, "full", "latest"), changed)
    assert json.loads(new.read_bytes())["digest"] == changed
    assert [name for name, _ in again.tried] == BOTH
    message = capsys.readouterr().err
    assert f"has the same content key and stays as it is: {bare}" in message
    assert "bare: its record names it" in message


def test_moving_tags_return_to_the_published_image(first: Place, runner: EmptyRunner) -> None:
    full, bare = first.push(BOTH)
    other = first.repository.manifest(bare)
    assert other
    first.repository.put_manifest("latest", other)
    again = runner(first)
    again.world.run(["full"])
    assert again.push() == [full]
    assert (again.tags()["latest"], again.tags()["bare"]) == (full, bare)


def test_a_missing_record_is_written_of_the_published_image(
    first: Place, runner: EmptyRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    first.push()
    there = record_of(first, "full")
    again = runner(first)
    forget_records(again)
    again.torch, again.published_torch = "2.4.0", "2.3.1"
    again.world.run(["full"])
    again.push()
    record = record_of(again, "full")
    assert (record.digest, record.platforms) == (there.digest, there.platforms)
    assert (record.packages, record.attestations) == (there.packages, there.attestations)
    # The checks of this machine have seen another image.
    assert record.verified == ()
    assert "full: only its content key says so" in capsys.readouterr().err


def test_results_hold_for_an_image_with_other_labels_only(
    first: Place, runner: EmptyRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    [full] = first.push()
    again = runner(first)
    forget_records(again)
    again.packages = first.packages
    again.world.run(["full"])
    assert again.push() == [full]
    assert [each.passed for each in record_of(again, "full").verified] == [1]
    message = capsys.readouterr().err
    assert "stays as it is" in message
    assert "full: it has the same files and settings as the image here" in message


def test_a_published_image_needs_a_signature_of_the_key(
    first: Place, runner: EmptyRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make_pair(tmp_path / "keys")
    monkeypatch.setenv(PASSWORD, SECRET)
    first.push()
    before = first.tags()
    again = runner(first)
    again.world.run()
    with pytest.raises(EngineError, match="was not signed with") as caught:
        again.push(BOTH, signing_key=pair.private)
    *_, advice, last = caught.value.problems
    assert "sign it with cosign; else delete its tag" in advice.fix
    assert last.what == UNMOVED
    assert (again.tags(), again.tried) == (before, [])


def test_a_signed_image_is_reused_with_its_signature(
    first: Place, runner: EmptyRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make_pair(tmp_path / "keys")
    monkeypatch.setenv(PASSWORD, SECRET)
    [full] = first.push(signing_key=pair.private)
    before = first.tags()
    again = runner(first)
    forget_records(again)
    again.world.run(["full"])
    assert again.push(signing_key=pair.private) == [full]
    assert again.tags() == before
    assert record_of(again, "full").signed


def root_of(place: Place, tag: str) -> Document:
    root = place.repository.manifest(tag)
    assert root
    return root


def another_layer(place: Place) -> None:
    """Exchange the last layer and leave the config, as the records know neither."""
    tag = record_of(place, "full").tag
    image, *statements = manifest_contents(root_of(place, tag)).manifests
    manifest = json.loads(root_of(place, image.digest).content)
    content = COMPRESSED["zstd"](layer("evil"))
    blob = Document(media_type="", content=content).descriptor()
    place.repository.put_blob(blob, lambda: io.BytesIO(content))
    manifest["layers"][-1] |= {"digest": blob.digest, "size": blob.size}
    changed = document(manifest)
    place.repository.put_manifest(changed.digest, changed)
    entry = replace(changed.descriptor(image.platform), annotations=image.annotations)
    place.repository.put_manifest(tag, image_index([entry, *statements], {}))


def another_build(place: Place) -> None:
    """Publish another build of the same content; the records go on to name the first."""
    [path] = place.releases.rglob("*.json")
    text = path.read_bytes()
    assert place.repository.delete(record_of(place, "full").digest)
    place.commit()
    place.packages = "of a third day"
    place.world.run(["full"], force=True)
    place.push()
    path.write_bytes(text)


def another_key(place: Place) -> None:
    """Give the tag to an image with another content key."""
    tag = record_of(place, "full").tag
    place.commit()
    place.push(["bare"])
    place.repository.put_manifest(tag, root_of(place, "bare"))


def no_statements(place: Place) -> None:
    """Leave the statements out of the index."""
    tag = record_of(place, "full").tag
    image, *_ = manifest_contents(root_of(place, tag)).manifests
    place.repository.put_manifest(tag, image_index([image], {}))
    forget_records(place)


def no_index(place: Place) -> None:
    """Give the tag to the image itself, as a push of docker's does."""
    tag = record_of(place, "full").tag
    image, *_ = manifest_contents(root_of(place, tag)).manifests
    place.repository.put_manifest(tag, root_of(place, image.digest))


CHANGES: dict[Callable[[Place], None], str] = {
    another_layer: "unpacks to sha256:.* somebody has changed it",
    another_build: "the record in releases/ says sha256:",
    another_key: "is another image, with the content key sha256:",
    no_statements: "but no provenance and no sbom",
    no_index: "and no push has made it",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.__name__))
def test_a_changed_image_is_refused(
    change: Callable[[Place], None], first: Place, runner: EmptyRunner
) -> None:
    first.push()
    change(first)
    before = first.tags()
    again = runner(first)
    again.world.run()
    with pytest.raises(CanneryError, match=CHANGES[change]) as caught:
        again.push(BOTH)
    assert isinstance(caught.value, PublishError | EngineError)
    assert caught.value.problems[-1].what == UNMOVED
    assert (again.tags(), again.tried) == (before, [])
