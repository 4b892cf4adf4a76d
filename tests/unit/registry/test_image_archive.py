# SPDX-License-Identifier: Apache-2.0
"""Layers become the same blobs whatever the engine, its store and this machine are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, FileError
from cannery.registry import image_archive as layers
from cannery.registry.image_archive import Blobs, Packed, unpacked
from tests.unit.archives import Saved, digest, layer, pieces
from tests.unit.matrices import CHECKOUT

IMAGE = Saved(layers=(layer("one"), layer("two", 3_000_000)), labels={"io.cannery.key": "sha256:k"})

FORMS = {
    "containerd's store, gzip": IMAGE.layout("gzip"),
    "containerd's store, zstd": IMAGE.layout("zstd"),
    "overlay2": IMAGE.layout("plain"),
    "engine before 25": IMAGE.older(),
}


def pack(folder: Path, archive: bytes, compression: str = "zstd", size: int = 1000) -> Packed:
    blobs = Blobs(folder=folder, compression=compression)
    return blobs.pack(IMAGE.image, IMAGE.diff_ids, lambda: pieces(archive, size))


def never() -> Iterator[bytes]:
    raise AssertionError("the engine was asked")
    yield b""


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_every_form_gives_the_same_blobs(tmp_path: Path, compression: str) -> None:
    result = [
        pack(tmp_path / f"{number}-{size}", archive, compression, size)
        for number, archive in enumerate(FORMS.values())
        for size in (777, 1 << 20)
    ]
    assert {each.config for each in result} == {IMAGE.config}
    assert len({tuple(layer.blob for layer in each.layers) for each in result}) == 1
    for packed in result[0].layers:
        content = packed.path.read_bytes()
        assert digest(content) == packed.blob.digest
        assert len(content) == packed.blob.size
        assert packed.blob.media_type.endswith(f"+{compression}")
        assert unpacked(packed.blob, pieces(content)) == packed.diff_id


def test_the_number_of_processors_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for count in (1, 2, 7):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        made.append([each.blob for each in pack(tmp_path / str(count), FORMS["overlay2"]).layers])
    assert made[0] == made[1] == made[2]


def test_cached_layers_need_no_archive(tmp_path: Path) -> None:
    first = pack(tmp_path, FORMS["overlay2"])
    again = Blobs(folder=tmp_path).pack(IMAGE.image, IMAGE.diff_ids, never)
    assert again == first


def test_a_layer_shared_by_two_images_is_compressed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(tmp_path, FORMS["overlay2"])
    other = Saved(layers=(IMAGE.layers[0], layer("three")), labels={})
    made: list[str] = []
    compress = layers._COMPRESSORS["zstd"][1]
    name = layers._COMPRESSORS["zstd"][0]
    counted = {"zstd": (name, lambda: made.append("one") or compress())}  # type: ignore[func-returns-value]
    monkeypatch.setattr(layers, "_COMPRESSORS", counted)
    result = Blobs(folder=tmp_path).pack(
        other.image, other.diff_ids, lambda: pieces(other.layout("plain"))
    )
    assert len(result.layers) == 2
    assert made == ["one"]


def test_a_truncated_blob_is_made_again(tmp_path: Path) -> None:
    first = pack(tmp_path, FORMS["overlay2"])
    whole = first.layers[1].path.read_bytes()
    first.layers[1].path.write_bytes(whole[:100])
    again = pack(tmp_path, FORMS["overlay2"])
    assert again == first
    assert again.layers[1].path.read_bytes() == whole


def test_no_partial_file_is_left(tmp_path: Path) -> None:
    archive = FORMS["overlay2"]

    def broken() -> Iterator[bytes]:
        yield archive[: len(archive) // 2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Blobs(folder=tmp_path).pack(IMAGE.image, IMAGE.diff_ids, broken)
    assert not list(tmp_path.rglob(".making-*"))
    assert pack(tmp_path, archive).config == IMAGE.config


def test_files_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    killed = """
import os, sys
from pathlib import Path
from cannery.registry.image_archive import Blobs

def broken():
    yield b"x" * 600
    os.kill(os.getpid(), 9)
    yield b""

Blobs(folder=Path(sys.argv[1])).pack("sha256:" + "0" * 64, [], broken)
"""
    done = subprocess.run([sys.executable, "-c", killed, tmp_path], cwd=CHECKOUT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [*tmp_path.rglob(".making-*")]
    pack(tmp_path, FORMS["overlay2"])
    assert not [*tmp_path.rglob(".making-*")]


def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(FileError, match="cannot write"):
        pack(tmp_path / "blobs", FORMS["overlay2"])


def test_an_archive_without_a_layer(tmp_path: Path) -> None:
    other = Saved(layers=IMAGE.layers[:1], labels={})
    with pytest.raises(EngineError, match="does not contain its config"):
        pack(tmp_path, other.layout("plain"))
    with pytest.raises(EngineError, match=r"archive of .* cannot be read"):
        pack(tmp_path, b"no archive" * 100)


def test_a_layer_of_another_compression(tmp_path: Path) -> None:
    blob = pack(tmp_path, FORMS["overlay2"]).layers[0].blob
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpacked(blob, pieces(b"something else"))
