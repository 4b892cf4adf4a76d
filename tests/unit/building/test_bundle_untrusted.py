# SPDX-License-Identifier: Apache-2.0
"""Bundles made on purpose: their last block is right, and what they say is not."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cannery.building.bundle.archive import MANIFEST, unpack
from cannery.building.bundle.gateway import Recorded, is_local
from cannery.building.bundle.wheels import LIST, listed
from cannery.common.errors import ArtifactError

FILE = b"a body"
DIGEST = hashlib.sha256(FILE).hexdigest()
GOOD: dict[str, Any] = {
    "schema": 2,
    "simulate": True,
    "targets": {"py39": "0" * 64},
    "images": {"cannery/bootstrap:bookworm-amd64": f"sha256:{'1' * 64}"},
    "commit": "c" * 40,
    "files": [{"path": "x", "size": len(FILE), "sha256": DIGEST}],
}


def _bundle(path: Path, members: Mapping[str, bytes]) -> Path:
    """A bundle with these members, in which nothing but its last block was checked."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    end = b"cannery-bundle sha256:" + hashlib.sha256(stream.getvalue()).hexdigest().encode() + b"\n"
    path.write_bytes(stream.getvalue() + end.ljust(512, b"\0"))
    return path


def _with_manifest(tmp_path: Path, manifest: object) -> Path:
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return _bundle(tmp_path / "x.bundle", {MANIFEST: text, "x": FILE})


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        [],
        "text",
        {},
        {**GOOD, "schema": [1]},
        {name: value for name, value in GOOD.items() if name != "simulate"},
        {**GOOD, "simulate": "yes"},
        {**GOOD, "targets": []},
        {**GOOD, "targets": {"../x": "0" * 64}},
        {**GOOD, "targets": {"py39": 7}},
        {**GOOD, "images": {"python:3": "../../x"}},
        {**GOOD, "images": None},
        {**GOOD, "commit": "\x1b[2J"},
        {**GOOD, "files": {}},
        {**GOOD, "files": [7]},
        {**GOOD, "files": []},
        {**GOOD, "files": [{**GOOD["files"][0], "sha256": "0" * 64}]},
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, manifest: object) -> None:
    with pytest.raises(ArtifactError, match=r"of the bundle is not valid|of another version"):
        unpack(_with_manifest(tmp_path, manifest), tmp_path / "out")
    assert [*(tmp_path / "out").iterdir()] == []


def test_an_unpacked_bundle_that_was_changed_is_unpacked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = _with_manifest(tmp_path, GOOD)
    folder, contents = unpack(bundle, tmp_path / "out")
    inode = (folder / "x").stat().st_ino
    assert unpack(bundle, tmp_path / "out") == (folder, contents)
    assert (folder / "x").stat().st_ino == inode
    for change in ("x", "more", MANIFEST):
        (folder / change).write_bytes(b"changed")
        assert unpack(bundle, tmp_path / "out") == (folder, contents)
        assert (folder / "x").read_bytes() == FILE
        assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "x"]
        assert "was changed" in capsys.readouterr().err
    (folder / "x").unlink()
    (folder / "x").symlink_to("/etc/passwd")
    unpack(bundle, tmp_path / "out")
    assert not (folder / "x").is_symlink()


ANSWER = {"status": 200, "headers": {"ETag": "a"}, "sha256": DIGEST}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {**ANSWER, "sha256": "../../x"},
        {**ANSWER, "sha256": "/etc/passwd"},
        {**ANSWER, "sha256": "0" * 64},
        {**ANSWER, "sha256": "2" * 64},
        {**ANSWER, "sha256": "3" * 64},
        {**ANSWER, "status": "200"},
        {**ANSWER, "status": 7},
        {**ANSWER, "headers": {"ETag": "a\r\nSet-Cookie: b"}},
        {**ANSWER, "headers": {"Set-Cookie": "b"}},
        {**ANSWER, "more": 1},
    ],
)
def test_the_gateway_answers_with_files_of_their_hash_only(tmp_path: Path, answer: object) -> None:
    """The hosts' files are above the folder, behind a link, and under a wrong name."""
    (tmp_path / "x").write_bytes(FILE)
    folder = tmp_path / "a" / "debian"
    folder.mkdir(parents=True)
    (folder / DIGEST).write_bytes(FILE)
    (folder / ("2" * 64)).symlink_to(tmp_path / "x")
    (folder / ("3" * 64)).write_bytes(FILE)
    list_ = folder / "answers.json"
    list_.write_text(json.dumps({"http://mirror/x": ANSWER}))
    assert Recorded.read(folder).answers["http://mirror/x"].sha256 == DIGEST
    list_.write_text(json.dumps({"http://mirror/x": answer}))
    with pytest.raises(ArtifactError, match="of the bundle is not valid"):
        Recorded.read(folder)


@pytest.mark.parametrize(
    "files",
    [
        None,
        {"../x": DIGEST},
        {"x": DIGEST},
        {"a.whl": "0" * 64},
        {"a.whl": 'abc"><script>'},
        {"none.whl": DIGEST},
    ],
)
def test_the_index_has_files_of_their_hash_only(tmp_path: Path, files: object) -> None:
    (tmp_path / "x").write_bytes(FILE)
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "a.whl").write_bytes(FILE)
    (folder / "x").symlink_to("../x")
    (folder / LIST).write_text(json.dumps({"a": {"a.whl": DIGEST}}))
    assert listed(folder) == {"a": {"a.whl": DIGEST}}
    (folder / LIST).write_text(json.dumps({"a": files}))
    with pytest.raises(ArtifactError, match="of the bundle is not valid"):
        listed(folder)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", True),
        ("169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("localhost", True),
        ("a.LocalHost.", True),
        ("192.0.2.7", False),
        ("10.0.0.7", False),
        ("mirror.example", False),
    ],
)
def test_which_addresses_are_of_this_machine(address: str, local: bool) -> None:
    assert is_local(address) is local
