# SPDX-License-Identifier: Apache-2.0
"""The files of layers, in the archives that engines make and in the blobs of registries."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from cannery.common.errors import EngineError
from cannery.publish.originals import blob_layer, saved_layers
from tests.unit.archives import COMPRESSED, Saved, layer, pieces, tar

SAVED = Saved(layers=(layer("base"), layer("own")), labels={})
BASE, OWN = SAVED.diff_ids
ARCHIVES = {**{name: SAVED.layout(name) for name in COMPRESSED}, "older": SAVED.older()}


@pytest.mark.parametrize("archive", ARCHIVES.values(), ids=ARCHIVES)
def test_the_files_of_a_saved_image(archive: bytes) -> None:
    found = saved_layers("an image", pieces(archive), [OWN], [BASE])
    assert {digest: [*files] for digest, files in found.items()} == {OWN: ["own"]}


def test_an_archive_without_a_layer() -> None:
    with pytest.raises(EngineError, match=f"archive of an image lacks these layers: sha256:{'0'}"):
        saved_layers("an image", pieces(SAVED.layout("plain")), ["sha256:0", OWN], [])


def test_an_archive_that_is_cut_off() -> None:
    archive = SAVED.layout("plain")
    with pytest.raises(EngineError, match="archive of an image"):
        saved_layers("an image", pieces(archive[: len(archive) // 3]), [BASE, OWN], [])


@pytest.mark.parametrize("compression", COMPRESSED)
def test_the_files_of_a_blob(compression: str) -> None:
    blob = COMPRESSED[compression](SAVED.layers[1])
    digest, files = blob_layer(pieces(blob))
    assert (digest, [*files]) == (OWN, ["own"])


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_blob_that_is_damaged(compression: str, at: float) -> None:
    blob = bytearray(COMPRESSED[compression](SAVED.layers[1]))
    blob[int(len(blob) * at)] ^= 1
    # Nothing but a ValueError may come of it; what still unpacks has another digest.
    with suppress(ValueError):
        assert blob_layer(pieces(bytes(blob)))[0] != OWN


@pytest.mark.parametrize("blob", [b"", b"{}", b"\x1f\x8b", random.Random(1).randbytes(3000)])
def test_a_blob_that_is_no_layer(blob: bytes) -> None:
    with pytest.raises(ValueError, match="it is not a layer"):
        blob_layer(pieces(blob))


def test_a_blob_is_read_to_its_end() -> None:
    """A registry's client compares the digest of a blob at its end."""
    ended = []

    def chunks() -> object:
        yield tar({"a": b""}) + b"\0" * 100_000
        ended.append(True)

    blob_layer(chunks())  # type: ignore[arg-type]
    assert ended
