# SPDX-License-Identifier: Apache-2.0
"""CANN releases by the names of their layout, and what is wrong with them."""

from __future__ import annotations

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import CannRelease
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import DIGEST, MATRIX

OTHER = "f" * 64
BRACES = "may have {release}, {chip} and {machine} only."
TWO = "one sha256 cannot be that of the files for two machines."
LAYOUTS = """\
downloads:
  eula: https://example.com/eula
  mirrors: [{url: https://one.example.com}]

cann_layouts:
  cann:
    origin: the vendor
    download: CANN/{release}
    toolkit: toolkit_{release}_{machine}.run
    kernels:
      default: "{chip}-ops_{release}_{machine}.run"
      a3: A3-ops_{release}_{machine}.run
    nnal: nnal_{release}_{machine}.run
    requirements: [attrs]

cann:
  9.1.1:
    layout: cann
    chips: [910b, a3]
"""


def text(release: str = "", layouts: str = LAYOUTS) -> str:
    return MATRIX.replace("cann:\n", layouts + release, 1)


def release(more: str = "", layouts: str = LAYOUTS) -> CannRelease:
    return parse_matrix(text(more, layouts), "matrix.yaml").cann["9.1.1"]


def names(found: CannRelease, machine: str) -> list[str]:
    return [file.name for file in found.packages[machine].files]


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_the_files_of_each_machine_have_the_names_of_the_layout(machine: str) -> None:
    found = release()
    assert names(found, machine) == [
        f"toolkit_9.1.1_{machine}.run",
        f"910b-ops_9.1.1_{machine}.run",
        f"A3-ops_9.1.1_{machine}.run",
        f"nnal_9.1.1_{machine}.run",
    ]
    toolkit = found.packages[machine].toolkit
    assert toolkit.addresses[0].url == f"https://one.example.com/CANN/9.1.1/{toolkit.name}"
    assert (toolkit.origin, toolkit.eula) == ("the vendor", "https://example.com/eula")
    assert found.chips == ("910b", "a3")
    assert found.requirements == ("attrs",)
    assert found.has_nnal


def test_a_community_version_has_the_file_names_of_the_release() -> None:
    layouts = LAYOUTS.replace("9.1.1", "8.0.RC2.beta1")
    found = parse_matrix(text(layouts=layouts), "matrix.yaml").cann["8.0.RC2.beta1"]
    assert names(found, "x86_64")[0] == "toolkit_8.0.RC2_x86_64.run"


def test_a_release_has_its_own_in_place_of_the_layout_s() -> None:
    found = release(
        "    origin: a partner\n    download: none\n"
        "    without: [nnal]\n    requirements: [scipy]\n"
        '    toolkit: {file: "own_{release}-{machine}.run"}\n'
        "    kernels:\n"
        "      a3: {origin: another, download: https://example.com/d}\n"
        "      310p: {file: own.run}\n"
    )
    x86 = found.packages["x86_64"]
    assert names(found, "x86_64") == [
        "own_9.1.1-x86_64.run",
        "910b-ops_9.1.1_x86_64.run",
        "A3-ops_9.1.1_x86_64.run",
        "own.run",
    ]
    assert not x86.toolkit.is_downloadable
    assert x86.kernels["a3"].addresses[0].url == "https://example.com/d/A3-ops_9.1.1_x86_64.run"
    assert [file.origin for file in x86.files] == ["a partner", "a partner", "another", "a partner"]
    assert found.requirements == ("scipy",)
    assert not found.has_nnal
    assert x86.nnal is None


def test_an_invalid_release_is_an_error() -> None:
    with pytest.raises(MatrixError, match=r"'9\.1' is not a CANN version"):
        parse_matrix(text(layouts=LAYOUTS.replace("9.1.1", "9.1")), "matrix.yaml")


def test_a_hash_is_of_the_file_or_of_the_zip_with_this_name() -> None:
    found = release(
        f"    sha256:\n      toolkit_9.1.1_aarch64.zip: {DIGEST}\n"
        f"      nnal_9.1.1_x86_64.run: {OTHER}\n"
    )
    arm, x86 = (found.packages[machine] for machine in ("aarch64", "x86_64"))
    assert arm.toolkit.zip
    assert (arm.toolkit.zip.name, arm.toolkit.zip.sha256) == ("toolkit_9.1.1_aarch64.zip", DIGEST)
    assert arm.toolkit.sha256 == ""
    assert x86.toolkit.zip is None
    assert arm.nnal and x86.nnal
    assert (arm.nnal.sha256, x86.nnal.sha256) == ("", OTHER)


VARIANTS = f"""\
    sha256:
      toolkit_9.1.1_aarch64.run:
        - {{sha256: {DIGEST}, origin: one bucket, read: 2026-11-27, size: 1298374045}}
        - {{sha256: {OTHER}, origin: another bucket, read: 2026-11-28}}
"""


def test_files_of_one_name_have_a_hash_each_with_its_origin_and_day() -> None:
    file = release(VARIANTS).packages["aarch64"].toolkit
    assert (file.sha256, file.hashes, file.has_hash) == ("", (DIGEST, OTHER), True)
    assert [each.size for each in file.variants] == [1298374045, 0]
    assert file.published.endswith(f"and {OTHER} (another bucket, read 2026-11-28)")
    of_zip = release(VARIANTS.replace(".run:", ".zip:")).packages["aarch64"].toolkit
    assert of_zip.zip
    assert (of_zip.hashes, of_zip.zip.hashes) == ((), (DIGEST, OTHER))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2026-11-27", "27.11.2026", "'27.11.2026' is not a day. Write it as in"),
        (OTHER, DIGEST, "this sha256 is there twice."),
        (f"sha256: {OTHER}, ", "", "has no 'sha256'"),
        (VARIANTS.splitlines()[3], "", "a list has two hashes or more."),
    ],
)
def test_mistakes_of_several_hashes(old: str, new: str, said: str) -> None:
    with pytest.raises(MatrixError) as raised:
        release(VARIANTS.replace(old, new))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("    sha256: {nnal_9.1.1_arch64.zip: DIGEST}\n", "Did you mean 'nnal_9.1.1_aarch64.zip'?"),
        ("    sha256: {toolkit_9.1.1_aarch64.zip: abc}\n", "a sha256 has 64 digits"),
        ("    sha256: []\n", "must be a mapping"),
        ("    toolkit: {sha256: DIGEST}\n", TWO),
        ("    toolkit: {zip: {sha256: DIGEST}}\n", TWO),
        ('    toolkit: {file: "{arch}.run"}\n', BRACES),
        ('    toolkit: {file: "a/b.run"}\n', "'a/b.run' must be a file name without folders."),
        ("    without: [toolkit]\n", "'toolkit' cannot be left out; nnal can."),
        ("    without: [nnal]\n    nnal: {file: n.run}\n", "the release declares nnal."),
        ("    kernels: {A3: {file: a.run}}\n", "'A3' is not a chip."),
        ("    download: ../x\n", "'../x' is not a folder of a server."),
    ],
)  # fmt: skip
def test_mistakes_of_a_release(more: str, said: str) -> None:
    with pytest.raises(MatrixError) as raised:
        release(more.replace("DIGEST", DIGEST))
    assert said in str(raised.value)
    assert len(raised.value.problems) == 1
    assert raised.value.problems[0].where


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  cann:\n    origin", "  can:\n    origin", "there is no 'can'. Did you mean 'cann'?"),
        ("toolkit_{release}", "toolkit_{version}", BRACES),
        ("toolkit_{release}", "toolkit_{release", BRACES),
        ("toolkit_{release}", "toolkit_{release.x}", BRACES),
        ("CANN/{release}", "CANN/{branch}", BRACES),
        ("CANN/{release}", "../{release}", "is not a folder of a server."),
        ("      a3: A3-ops", "      A3: A3-ops", "'A3' is not a chip."),
        ("[910b, a3]", "[910b, A3]", "'A3' is not a chip."),
        ("[910b, a3]", "[910b, 910c]", "'910c' is not a chip. Write a3."),
        ("      a3: A3-ops", "      requirement: A3-ops", "'requirement' is not a chip."),
        ("[910b, a3]", "[910b, 910b]", "'910b' is there twice"),
        ("      default: ", "      910b: ", ""),
        ("    toolkit: ", "    tolkit: ", "unknown key 'tolkit'"),
    ],
)  # fmt: skip
def test_mistakes_of_a_layout(old: str, new: str, said: str) -> None:
    layouts = LAYOUTS.replace(old, new, 1)
    assert layouts != LAYOUTS
    if not said:
        assert release(layouts=layouts).chips == ("910b", "a3")
        return
    with pytest.raises(MatrixError) as raised:
        release(layouts=layouts)
    assert said in str(raised.value)


def test_values_in_neither_the_release_nor_its_layout_are_missing() -> None:
    layouts = LAYOUTS.replace("    toolkit: toolkit_{release}_{machine}.run\n", "")
    layouts = layouts.replace("    origin: the vendor\n", "").replace(
        "      default:", "      310p:"
    )
    with pytest.raises(MatrixError) as raised:
        release("    nnal: {file: nnal.run}\n", layouts)
    said = str(raised.value)
    assert "cann.9.1.1: there is no 'toolkit', and cann_layouts has none for its layout." in said
    assert "no file is declared for the kernels of chip '910b'." in said
    assert "nnal: there is no 'origin', and cann_layouts has none for its layout." in said


def test_a_mistake_in_a_layout_is_the_only_problem_reported() -> None:
    layouts = LAYOUTS.replace("toolkit_{release}", "toolkit_{version}")
    old, new = (
        ", ".join(f"{each}: {version}" for each in ("toolkit", "kernels", "nnal"))
        for version in ("8.0.RC2", "9.1.1")
    )
    target = text(layouts=layouts).replace(old, new)
    with pytest.raises(MatrixError) as raised:
        parse_matrix(target, "matrix.yaml")
    assert len(raised.value.problems) == 1


def test_a_file_name_without_a_machine_can_have_a_hash_of_its_own() -> None:
    found = release(f"    kernels: {{310p: {{file: own.run, sha256: {DIGEST}}}}}\n")
    assert {each.kernels["310p"].sha256 for each in found.packages.values()} == {DIGEST}
