# SPDX-License-Identifier: Apache-2.0
"""Where matrix.yaml says that files can be had, and what is wrong with it."""

from __future__ import annotations

import pytest

from cannery.common.bases import Address
from cannery.common.errors import MatrixError
from cannery.common.model import CannPackages, CannRelease
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import DIGEST, MATRIX, edited

MIRRORS = """\
downloads:
  eula: https://example.com/eula
  mirrors:
    - {url: "https://one.example.com/", headers: {Referer: "https://example.com/"}}
    - url: https://two.example.com/mirror

cann:
"""
RELEASE = "    layout: ascend-toolkit\n"
TOOLKIT = "      file: toolkit_8.0.RC2_linux-aarch64.run\n"


def matrix(release: str = "", toolkit: str = "", top: str = MIRRORS) -> str:
    text = MATRIX.replace("DIGEST", DIGEST).replace("cann:\n", top, 1)
    text = text.replace(RELEASE, RELEASE + release, 1)
    return text.replace(TOOLKIT, TOOLKIT + toolkit, 1)


def release(text: str) -> CannRelease:
    return parse_matrix(text, "matrix.yaml").cann["8.0.RC2"]


def test_a_wheel_has_the_hash_of_the_file_for_its_target() -> None:
    name = "apex-0.1+ascend-cp39-cp39-linux_aarch64.whl"
    other = "apex-0.1+ascend-cp310-cp310-linux_x86_64.whl"
    apex = "    file: apex-0.1+ascend-{tag}-{abi}-linux_{machine}.whl\n"
    hashes = f"    sha256: {{{name}: {DIGEST}, {other}: {'1' * 64}}}\n"
    full = parse_matrix(edited(apex, apex + hashes), "matrix.yaml").targets["full"]
    assert (full.artifacts["apex"].name, full.artifacts["apex"].sha256) == (name, DIGEST)
    with pytest.raises(MatrixError, match="is no name that 'apex-"):
        parse_matrix(edited(apex, f"{apex}    sha256: {{apex.whl: {DIGEST}}}\n"), "matrix.yaml")


def packages(text: str) -> CannPackages:
    return release(text).packages["aarch64"]


def test_a_file_is_in_the_folder_of_its_release_below_each_mirror() -> None:
    found = packages(matrix("    download: CANN/CANN%208.0.RC2\n"))
    name = "CANN/CANN%208.0.RC2/toolkit_8.0.RC2_linux-aarch64.run"
    referer = (("Referer", "https://example.com/"),)
    assert found.toolkit.addresses == (
        Address(url=f"https://one.example.com/{name}", headers=referer),
        Address(url=f"https://two.example.com/mirror/{name}"),
    )
    assert found.toolkit.eula == "https://example.com/eula"
    assert found.kernels["910b"].is_downloadable


def test_without_a_folder_there_is_no_address() -> None:
    assert not packages(matrix()).toolkit.is_downloadable
    assert not packages(matrix()).toolkit.eula


def test_a_file_has_a_folder_of_its_own_or_is_not_there() -> None:
    own = packages(matrix("    download: CANN\n", "      download: https://example.com/f+1/\n"))
    name = "toolkit_8.0.RC2_linux-aarch64.run"
    assert own.toolkit.addresses == (Address(url=f"https://example.com/f+1/{name}"),)
    assert not own.toolkit.eula
    gone = packages(matrix("    download: CANN\n", "      download: none\n"))
    assert not gone.toolkit.is_downloadable
    assert gone.kernels["910b"].is_downloadable


def test_a_name_is_quoted_in_an_address() -> None:
    text = matrix().replace(
        "      file: cpython-3.8.18-aarch64.tar.gz\n",
        "      file: cpython-3.8.18+1-aarch64.tar.gz\n      download: https://example.com/d\n",
    )
    found = parse_matrix(text, "matrix.yaml")
    [archive] = {file for t in found.targets.values() for file in t.python.archives.values()}
    assert archive.addresses[0].url == "https://example.com/d/cpython-3.8.18%2B1-aarch64.tar.gz"


def test_a_zip_is_beside_the_file() -> None:
    found = packages(matrix("    download: CANN\n", f"      zip: {{sha256: {DIGEST}, size: 5}}\n"))
    archive = found.toolkit.zip
    assert archive
    assert (archive.name, archive.sha256, archive.size) == (
        "toolkit_8.0.RC2_linux-aarch64.zip",
        DIGEST,
        5,
    )
    assert archive.addresses[0].url == f"https://one.example.com/CANN/{archive.name}"


def test_images_of_a_release() -> None:
    found = release(matrix("    image: {910b: quay.io/ascend/cann:8.0}\n"))
    assert found.images == {"910b": "quay.io/ascend/cann:8.0"}


@pytest.mark.parametrize(
    ("more", "toolkit", "said"),
    [
        ("    download: ../x\n", "", "'../x' is not a folder of a server."),
        ("    download: /x\n", "", "'/x' is not a folder of a server."),
        ("    download: ftp://x/y\n", "", "'ftp://x/y' is not a web address."),
        ("    downlod: x\n", "", "unknown key 'downlod' in cann.8.0.RC2. Did you mean"),
        (
            "    image: {910c: quay.io/b:1}\n",
            "",
            "the release has no kernels for chip '910c'. Known: 910b.",
        ),
        ("    image: {910b: cann}\n", "", "'cann' is not the reference of an image."),
        ("    image: {910b: a/b}\n", "", "'a/b' is not the reference of an image."),
        ("", "      size: 0\n", "'0' is not a size in bytes."),
        ("", "      zip: {size: 3}\n", "has no 'sha256'."),
        ("", "      zip: {sha256: abc}\n", "a sha256 has 64 digits"),
        ("", f"      zip: {{sha256: {DIGEST}, file: a/b}}\n", "'a/b' must be a file name"),
    ],
)
def test_mistakes(more: str, toolkit: str, said: str) -> None:
    with pytest.raises(MatrixError) as raised:
        release(matrix(more, toolkit))
    assert said in str(raised.value)
    assert all(each.where for each in raised.value.problems)


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ("downloads: {mirrors: []}\ncann:\n", "has no 'eula'"),
        ("downloads: {eula: x, mirrors: []}\ncann:\n", "'x' is not a web address."),
        ("downloads: {eula: https://x.y}\ncann:\n", "has no 'mirrors'"),
        (
            "downloads: {eula: a://b, mirrors: [{url: https://x.y, headers: {a b: c}}]}\ncann:\n",
            "'a b' is not a request header.",
        ),
        ("downloads: {eula: https://x.y, mirrors: [{url: 'https://a:b'}]}\ncann:\n", "not a web"),
    ],
)
def test_mistakes_of_the_mirrors(top: str, said: str) -> None:
    with pytest.raises(MatrixError) as raised:
        release(matrix(top=top))
    assert said in str(raised.value)


def test_a_folder_needs_a_mirror() -> None:
    with pytest.raises(MatrixError, match="there is no mirror with the folder 'CANN'"):
        release(matrix("    download: CANN\n", top="cann:\n"))
