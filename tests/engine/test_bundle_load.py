# SPDX-License-Identifier: Apache-2.0
"""Images of a bundle in a real engine: they get no name of their own, and are what the bundle says.

The images are small and made here.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cannery.building.bundle.build import load
from cannery.common.errors import ArtifactError
from cannery.engine.images import local_images

PREFIX = f"cannery-test-bundle-{uuid4().hex[:8]}"
WANTED = f"{PREFIX}:wanted"


def _docker(*words: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["docker", *words], input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def _made(name: str, content: bytes) -> str:
    """A new image with one file; returns its id."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("file")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    _docker("import", "-", name, stdin=stream.getvalue())
    return local_images([name])[name].id


def _names() -> set[str]:
    said = _docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
    return {each for each in said.splitlines() if each.startswith((PREFIX, "cannery-bundle:"))}


@pytest.fixture
def image(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The archive of an image with a name of its own, and the id; the engine has it no more."""
    own = f"{PREFIX}:own"
    digest = _made(own, b"of the bundle")
    file = tmp_path / "images" / "one.tar"
    file.parent.mkdir()
    _docker("save", "--output", str(file), own)
    _docker("image", "rm", own)
    yield file, digest
    for name in _names():
        _docker("image", "rm", name)


def _changed(file: Path, name: str, change: Any) -> None:
    """Write ``file`` again with another document ``name``."""
    stream = io.BytesIO()
    with tarfile.open(file) as archive, tarfile.open(fileobj=stream, mode="w") as out:
        for member in archive:
            content = archive.extractfile(member)
            data = content.read() if content else b""
            if member.name == name:
                data = json.dumps(change(json.loads(data))).encode()
                member.size = len(data)
            out.addfile(member, io.BytesIO(data) if content else None)
    file.write_bytes(stream.getvalue())


def test_an_image_gets_the_name_that_it_is_loaded_for_and_no_other(image: tuple[Path, str]) -> None:
    file, digest = image
    other = _made(f"{PREFIX}:own", b"of this machine")
    load(file, digest, WANTED)
    assert local_images([WANTED])[WANTED].id == digest
    assert local_images([f"{PREFIX}:own"])[f"{PREFIX}:own"].id == other
    assert _names() == {WANTED, f"{PREFIX}:own"}
    assert [path.name for path in file.parent.parent.iterdir()] == ["images"]


def test_another_image_than_the_manifest_says_is_not_loaded(image: tuple[Path, str]) -> None:
    file, _ = image
    before = _made(WANTED, b"of this machine")
    with pytest.raises(ArtifactError, match="it has image sha256:"):
        load(file, f"sha256:{'0' * 64}", WANTED)
    assert local_images([WANTED])[WANTED].id == before
    assert _names() == {WANTED}


def _other_config(manifest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**manifest[0], "Config": manifest[0]["Layers"][0]}]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", lambda _: []),
        ("manifest.json", lambda old: [*old, *old]),
        ("manifest.json", lambda _: {"Config": 7}),
        ("manifest.json", lambda old: [{**old[0], "Config": "../../x"}]),
        ("manifest.json", _other_config),
        ("index.json", lambda _: {}),
        ("index.json", lambda old: {"manifests": [{**old["manifests"][0], "digest": "sha256:0"}]}),
        ("index.json", lambda _: {"manifests": [7]}),
    ],
)
def test_an_archive_that_is_not_of_one_image_is_refused(
    image: tuple[Path, str], name: str, change: Any
) -> None:
    file, digest = image
    _changed(file, name, change)
    with pytest.raises(ArtifactError, match="of the bundle is not valid"):
        load(file, digest, WANTED)
    assert _names() == set()


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "images" / "one.tar"
    file.parent.mkdir()
    file.write_bytes(b"\x1f\x8b" + b"x" * 2000)
    with pytest.raises(ArtifactError, match="it is no archive of one image"):
        load(file, f"sha256:{'0' * 64}", WANTED)
