# SPDX-License-Identifier: Apache-2.0
"""Each wrong thing in a matrix is reported once, at its own line and column, with what to do.

Forms of bases and interpreters that are right beside those that are wrong are here, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from tests.unit.matrices import DIGEST, edited, load, place, refused

FULL = "cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}"
SUMMARY = "summary: everything"
BARE = "cann: {toolkit: 8.0.T39, kernels: 8.0.T39, chip: 910b}"


# old text, new text, where the problem is (the first place with this text), what is said of it
PROBLEMS = {
    "another schema": ("schema: 2", "schema: 1", "1", "schema 2 only"),
    "unknown build base": (
        "build_base: debian-12",
        "build_base: debian-13",
        "debian-13",
        "there is no base 'debian-13'. Did you mean 'debian-1",
    ),
    "missing key": ("    suite: bullseye\n", "", "image: debian:11", "has no 'suite'"),
    "misspelt key": (
        "summary: everything",
        "sumary: everything",
        "sumary",
        "unknown key 'sumary' in targets.full. Did you mean 'summary'?",
    ),
    "unknown top key": (
        "deepspeed_plugins:",
        "deepspeed_plugs:",
        "deepspeed_plugs",
        "Did you mean 'deepspeed_plugins'?",
    ),
    "duplicate key": (
        "    torch: 2.3.1\n",
        "    torch: 2.3.1\n    torch: 2.1.0\n",
        "torch: 2.1.0",
        "'torch' is given twice, first in line",
    ),
    "torch without torch_npu": (
        "    torch_npu: 2.3.1.post2\n",
        "",
        SUMMARY,
        "targets.full: there is no 'torch_npu'. Add it.",
    ),
    "torch_npu without torch": (
        "    torch: 2.3.1\n",
        "",
        SUMMARY,
        "targets.full: there is no 'torch'. Add it.",
    ),
    "misspelt torch_npu": (
        "torch_npu: 2.3.1.post2",
        "torch_npi: 2.3.1.post2",
        "torch_npi",
        "Did you mean 'torch_npu'?",
    ),
    "boolean for text": ("suite: bullseye", "suite: yes", "yes", "must be text, not true or false"),
    "folder in a file name": (
        "file: nnal_8",
        "file: a/nnal_8",
        "a/nnal_8",
        "without folders",
    ),
    "short hash": (f"sha256: {DIGEST}", "sha256: abc", "abc\n", "64 digits"),
    "python without patch level": (
        "version: 3.9.2",
        "version: 3.10",
        "3.10",
        "'3.10' has no patch",
    ),
    "unknown kind of python": (
        "source: debian",
        "source: conda",
        "conda",
        "there is no 'conda'. Known: base, debian, standalone.",
    ),
    "unknown edition": ("interim", "interrim", "interrim", "Did you mean 'interim'?"),
    "interim without a public release": (
        "    nearest_public: 8.0.RC3\n",
        "",
        "layout: ascend-toolkit\n    edition",
        "has no 'nearest_public'",
    ),
    "unknown field of a file name": (
        "linux_{machine}.whl",
        "linux_{arch}.whl",
        "apex-0.1",
        "only {tag}, {abi} and {machine}",
    ),
    "kernels of a release that is not declared": (
        FULL,
        FULL.replace("kernels: 8.0.RC2", "kernels: 8.0.RC3"),
        "8.0.RC3, nnal",
        "there is no CANN release '8.0.RC3'. Did you mean '8.0.RC2'?",
    ),
    "kernels of another release": (
        FULL,
        FULL.replace("kernels: 8.0.RC2", "kernels: 8.0.T39"),
        "{toolkit: 8.0.RC2",
        (
            "kernels 8.0.T39 cannot be installed on toolkit 8.0.RC2, only on the toolkit of the "
            "same version. Source: the makers, 2026, compat.yaml:"
        ),
    ),
    "nnal that the release has not": (
        BARE,
        BARE.replace("chip", "nnal: 8.0.T39, chip"),
        "8.0.T39, chip",
        (
            "matrix.yaml has no NNAL file of CANN 8.0.T39. Huawei has it: add nnal: {file: "
            "Ascend-cann-nnal_8.0.T39_linux-aarch64.run, origin: ...} to the release."
        ),
    ),
    "unknown release": (
        BARE,
        BARE.replace("toolkit: 8.0.T39", "toolkit: 8.0.T38"),
        "8.0.T38",
        "Did you mean '8.0.T39'?",
    ),
    "unknown chip": (BARE, BARE.replace("910b", "910c"), "910c", "Known: 910b."),
    "chip whose file is only missing here": (
        FULL,
        FULL.replace("910b", "a3"),
        "a3}",
        (
            "matrix.yaml has no kernels file of CANN 8.0.RC2 for chip 'a3'. Huawei has it: add a3 "
            "to its chips, or a3: {file: Atlas-A3-cann-kernels_8.0.RC2_linux-aarch64.run, "
            "origin: ...} to its kernels."
        ),
    ),
    "several chips": (
        BARE,
        BARE.replace("910b", "[910b, a3]"),
        "[910b, a3]",
        "a target is for one chip. The operator packages of several chips cannot share one",
    ),
    "id that is no tag": ("  bare:\n", "  Bare_:\n", "summary: nothing", "cannot be an image tag"),
    "id that is too long": (
        "  bare:\n",
        f"  {'a' * 125}:\n",
        "summary: nothing",
        "the id aaaaaaaaaaaaaaaaaaaa... has 125 characters, and may have 124.",
    ),
    "id of a simulated image": (
        "  bare:\n",
        "  full-sim:\n",
        "summary: nothing",
        "the id 'full-sim' ends in '-sim', which marks simulated images. Rename the target.",
    ),
    "unknown platform": (
        "platform: linux/arm64\n    base: debian-11\n    python: base",
        "platform: linux/aarch64\n    base: debian-11\n    python: base",
        "linux/aarch64",
        "Did you mean 'linux/arm64'?",
    ),
    "python of another base": (
        "base: debian-11\n    python: base-python",
        "base: debian-12\n    python: base-python",
        "base-python\n    cann",
        "base-python comes with base debian-11, not debian-12",
    ),
    "unknown apex": ("apex: 0.1+ascend", "apex: 0.2", "0.2", "there is no apex build '0.2'"),
    "torch_npu of another torch": (
        "torch_npu: 2.3.1.post2",
        "torch_npu: 2.1.0.post6",
        "2.1.0.post6",
        "cannot be imported with torch 2.3.1",
    ),
    "requirement that is none": (
        "- numpy<2",
        "- numpy=<2",
        "numpy=<2",
        "'numpy=<2' is not a requirement",
    ),
    "requirement with an address": (
        "- numpy<2",
        "- numpy @ file:///x",
        "numpy @",
        "names an address",
    ),
}


IMAGE = f"debian:11@sha256:{DIGEST}"
ARCHIVE = f"      file: cpython-3.8.18-aarch64.tar.gz\n      sha256: {DIGEST}\n"
BY_MACHINE = "      file: cpython-3.8.18-{machine}.tar.gz\n      "

# the same of bases and interpreters
BASE_PROBLEMS = {
    "image without tag": (
        IMAGE,
        f"debian@sha256:{DIGEST}",
        f"debian@sha256:{DIGEST}",
        "is not an image with a tag. Write it as name:tag@sha256:digest, or as name:tag",
    ),
    "unknown distribution": (
        "    suite: bullseye\n",
        "    suite: bullseye\n    distribution: debain\n",
        "debain",
        "there is no 'debain'. Did you mean 'debian'?",
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
        "there is no 'arm'. Known: aarch64, x86_64.",
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


@pytest.mark.parametrize(
    ("old", "new", "anchor", "said"),
    [*PROBLEMS.values(), *BASE_PROBLEMS.values()],
    ids=[*PROBLEMS, *BASE_PROBLEMS],
)
def test_one_problem(tmp_path: Path, old: str, new: str, anchor: str, said: str) -> None:
    text = edited(old, new)
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, anchor))
    assert said in problem


def test_every_problem_is_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = edited("suite: bookworm", "siute: bookworm")
    # Looked at after the bases, and before them in the file.
    text = edited("build_base: debian-12", "build_base: none", text)
    text = edited("torch: 2.3.1", "torch: {}", text)
    with pytest.raises(MatrixError) as caught:
        load(tmp_path, text)
    places = [problem.where for problem in caught.value.problems if problem.where]
    assert len(places) == len(caught.value.problems) == 3
    assert places == sorted(places)


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
