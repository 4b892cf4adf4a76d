# SPDX-License-Identifier: Apache-2.0
"""What a schema says of keys that are required only in some cases, and where samples fall short."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.yaml_reader import Section
from schemas.__main__ import main
from schemas.files import FOLDER, record
from tests.unit.families import FAMILY
from tests.unit.matrices import MATRIX, edited
from tests.unit.schemas.editors import validator, values

ARCHIVE = "{file: a.tar.gz, origin: its makers}"

# old text, new text; the matrix is refused with it
REFUSED = {
    "the base of a Debian Python": (
        "    source: debian\n    base: debian-11\n",
        "    source: debian\n",
    ),
    "an archive of a Debian Python": (
        "source: debian\n",
        f"source: debian\n    archive: {ARCHIVE}\n",
    ),
    "the public release of an interim one": ("    nearest_public: 8.0.RC3\n", ""),
    "torch_npu beside torch": ("    torch_npu: 2.3.1.post2\n", ""),
    "torch beside torch_npu": ("    torch: 2.3.1\n", ""),
    "an unknown platform": (
        "everything there is\n    platform: linux/arm64",
        "everything there is\n    platform: linux/aarch64",
    ),
    "an unknown layout": (
        "8.0.RC2:\n    layout: ascend-toolkit",
        "8.0.RC2:\n    layout: ascend-tools",
    ),
    "targets or families": ("\ntargets:\n", "\nfamilies: []\ntargets:\n"),
}
ACCEPTED = {
    "the release edition": (
        "8.0.RC2:\n    layout",
        "8.0.RC2:\n    edition: release\n    nearest_public: 8.0.RC2\n    layout",
    ),
    "no torch at all": ("    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n", ""),
    "families beside targets": ("\ntargets:\n", f"\n{FAMILY}\ntargets:\n"),
    "a number as a text": ("suite: bullseye", "suite: 11"),
    "a date as a text": ("suite: bullseye", "suite: 2026-08-21"),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_refused(old: str, new: str) -> None:
    assert not validator("matrix.yaml").is_valid(values(edited(old, new)))


@pytest.mark.parametrize(("old", "new"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(old: str, new: str) -> None:
    assert validator("matrix.yaml").is_valid(values(edited(old, new)))


def test_families_stand_for_targets() -> None:
    head = MATRIX.partition("targets:")[0]
    assert not validator("matrix.yaml").is_valid(values(head))
    assert validator("matrix.yaml").is_valid(values(head + FAMILY))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("summary: one of many", "sumary: one of many"),
        ("deepspeed: 0.15.0", "deepspeed: [0.15.0]"),
        ("requirements: [tqdm, einops]", "requirements: {apend: [tqdm]}"),
        ("requirements: [tqdm, einops]", "requirements: {append: [tqdm], replace: []}"),
        ('id: "{python}-{pair}"', "name: many"),
    ],
)
def test_refused_in_a_family(old: str, new: str) -> None:
    text = MATRIX.partition("targets:")[0] + FAMILY
    assert not validator("matrix.yaml").is_valid(values(edited(old, new, text)))


def sample(folder: Path, text: str) -> Path:
    (folder / "samples").mkdir()
    (folder / "samples" / "small.yaml").write_text(text, encoding="utf-8")
    return folder


def read(top: Section) -> None:
    """Each item has an archive or, as its kind says, a base; ``extra`` may be anywhere."""
    for each in top.mappings("items"):
        if each.choose("kind", {"archive": True, "base": False}, "kind"):
            each.section("archive")
        else:
            each.text("base")
        each.done()
    if extra := top.section("extra", required=False):
        extra.all_texts()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("items: []", "small.yaml:1:1: small.yaml shows no value of 'items'. Add an example"),
        ("items: [{kind: base, base: a}]", "small.yaml:1:1: small.yaml shows no value of 'extra'."),
        ("items: [{kind: base, base: a}, {kind: x, base: a}]", "there is no kind 'x'"),
        ("items: [{kind: base, bas: a}]", "unknown key 'bas'"),
    ],
)
def test_a_sample_that_falls_short(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        record(sample(tmp_path, text), "small.yaml", read)
    assert said in str(caught.value)


def test_cases_that_nothing_tells_apart(tmp_path: Path) -> None:
    def read_in_turn(top: Section) -> None:
        for number, each in enumerate(top.mappings("items")):
            each.text("key", required=number == 0)

    folder = sample(tmp_path, "items: [{key: a}, {key: b}]")
    with pytest.raises(MatrixError, match="do not show when a key is required"):
        record(folder, "small.yaml", read_in_turn)


def test_the_cases_of_a_choice(tmp_path: Path) -> None:
    text = "items: [{kind: base, base: a}, {kind: archive, archive: {}}]\nextra: {a: b}"
    schema, _ = record(sample(tmp_path, text), "small.yaml", read)
    assert schema["properties"]["items"]["items"] == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["archive", "base"]},
            "base": {"$ref": "#/definitions/text"},
            "archive": {"type": "object"},
        },
        "required": ["kind"],
        "additionalProperties": False,
        "anyOf": [
            {
                "properties": {"archive": False, "kind": {"enum": ["base"]}},
                "required": ["base", "kind"],
            },
            {
                "properties": {"base": False, "kind": {"enum": ["archive"]}},
                "required": ["archive", "kind"],
            },
        ],
    }
    assert schema["properties"]["extra"]["additionalProperties"] == {"$ref": "#/definitions/text"}


def test_a_wrong_sample_is_a_message_and_changes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(FOLDER / "samples", tmp_path / "samples")
    matrix = tmp_path / "samples" / "matrix.yaml"
    matrix.write_text("schema: [2]\n", encoding="utf-8")
    assert main(tmp_path) == MatrixError.exit_code
    assert "schemas: schemas/samples/matrix.yaml:1:9: 'schema'" in capsys.readouterr().err
    assert not [*tmp_path.glob("*.json")]
