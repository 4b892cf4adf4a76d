# SPDX-License-Identifier: Apache-2.0
"""Each wrong thing in a base or an interpreter is reported once, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from tests.unit.matrices import DIGEST, edited, load
from tests.unit.matrix.test_schema_problems import place

IMAGE = f"debian:11@sha256:{DIGEST}"
ARCHIVE = f"      file: cpython-3.8.18-aarch64.tar.gz\n      sha256: {DIGEST}\n"
BY_MACHINE = "      file: cpython-3.8.18-{machine}.tar.gz\n      "

# old text, new text, where the problem is (the first place with this text), what is said of it
PROBLEMS = {
    "image without tag": (
        IMAGE,
        f"debian@sha256:{DIGEST}",
        f"debian@sha256:{DIGEST}",
        "is not an image with a tag. Write it as name:tag@sha256:digest, or as name:tag",
    ),
    "image with a short digest": (
        IMAGE,
        "debian:11@sha256:0123",
        "debian:11@sha256:0123",
        "is not an image with a tag.",
    ),
    "image and snapshot": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    snapshot: 20261101T000000Z\n",
        "20261101T000000Z",
        "a base has an image or a snapshot, not both. Remove one of them.",
    ),
    "a snapshot of another distribution": (
        f"    image: {IMAGE}\n",
        "    snapshot: 20261101T000000Z\n    distribution: ubuntu\n",
        "20261101T000000Z",
        "a base of ubuntu cannot be bootstrapped from a snapshot. Name an image with a digest",
    ),
    "a day that does not exist": (
        f"    image: {IMAGE}\n",
        "    snapshot: 20260231T000000Z\n",
        "20260231T000000Z",
        "'20260231T000000Z' is not a time of a snapshot. Write it as in 20261101T000000Z.",
    ),
    "neither image nor snapshot": (
        f"    image: {IMAGE}\n",
        "",
        "suite: bullseye",
        "bases.debian-11 has no 'image'. Add it.",
    ),
    "unknown distribution": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    distribution: debain\n",
        "debain",
        "there is no distribution 'debain'. Did you mean 'debian'?",
    ),
    "suite of another distribution": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    distribution: ubuntu\n",
        "bullseye",
        "bullseye is a release of debian, not of ubuntu. Source: ",
    ),
    "package with a space": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    packages: {ssh: [openssh client]}\n",
        "openssh client",
        "'openssh client' is not the name of a package.",
    ),
    "package that nothing asks for": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    packages: {shh: [openssh-client]}\n",
        "[openssh-client]",
        "nothing asks for 'shh'. Did you mean 'ssh'?",
    ),
    "glibc that is no version": (
        "glibc: 2.31",
        "glibc: banana",
        "banana",
        "'banana' is not a version of glibc. Write it as in 2.36.",
    ),
    "hash for an unknown machine": (
        ARCHIVE,
        BY_MACHINE + f"hashes: {{arm: {DIGEST}}}\n",
        f"{DIGEST}}}",
        "there is no machine 'arm'.",
    ),
    "short hash for a machine": (
        ARCHIVE,
        BY_MACHINE + "hashes: {x86_64: 0123}\n",
        "0123}",
        "a sha256 has 64 digits",
    ),
    "hash for each machine of one archive": (
        ARCHIVE,
        ARCHIVE.replace(f"sha256: {DIGEST}", f"hashes: {{aarch64: {DIGEST}}}"),
        "{aarch64: ",
        "is one file. Write {machine} into its name.",
    ),
    "one hash of two archives": (
        ARCHIVE,
        BY_MACHINE + f"sha256: {DIGEST}\n",
        f"{DIGEST}\n      origin: the interpreter",
        "one sha256 cannot be that of the archives for two machines.",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), PROBLEMS.values(), ids=PROBLEMS)
def test_one_problem(tmp_path: Path, old: str, new: str, anchor: str, said: str) -> None:
    text = edited(old, new)
    with pytest.raises(MatrixError) as caught:
        load(tmp_path, text)
    assert len(caught.value.problems) == 1, str(caught.value)
    assert str(caught.value).startswith(place(text, anchor) + ": ")
    assert said in str(caught.value)


def test_an_archive_for_each_machine(tmp_path: Path) -> None:
    machines = "hashes: {x86_64: " + DIGEST + "}\n      download: https://example.com/d\n"
    text = edited(ARCHIVE, BY_MACHINE + machines)
    old, new = "left out\n    platform: linux/arm64", "left out\n    platform: linux/amd64"
    text = edited(old, new, text)
    matrix = load(tmp_path, text)
    file = matrix.targets["bare"].artifacts["python"]
    assert (file.name, file.sha256) == ("cpython-3.8.18-x86_64.tar.gz", DIGEST)
    assert file.addresses[0].url == "https://example.com/d/cpython-3.8.18-x86_64.tar.gz"
    other = matrix.targets["bare"].python.archives["aarch64"]
    assert (other.name, other.sha256) == ("cpython-3.8.18-aarch64.tar.gz", "")


def test_an_image_without_a_digest_can_be_built_on(tmp_path: Path) -> None:
    matrix = load(tmp_path, edited(IMAGE, "debian:11"))
    assert not matrix.targets["full"].base.is_pinned
    assert matrix.targets["full"].build_base.is_pinned


def test_the_older_name_of_the_bases_own_python(tmp_path: Path) -> None:
    older, newer = load(tmp_path), load(tmp_path, edited("source: debian", "source: base"))
    assert older.targets["full"].python == newer.targets["full"].python
