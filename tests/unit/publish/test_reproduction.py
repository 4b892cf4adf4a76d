# SPDX-License-Identifier: Apache-2.0
"""The result of ``reproduce`` as people and programs read it."""

from __future__ import annotations

import json
from dataclasses import replace

from cannery.publish.originals import FileChange
from cannery.publish.reproducing import (
    BuiltLayer,
    Reproduction,
    compared_layers,
    reproduction_json,
    reproduction_text,
)

EQUAL = Reproduction(
    image="registry.example.com/ascend:full",
    target="full",
    commit="c" * 40,
    original_key="sha256:1",
    rebuilt_key="sha256:1",
    layers=compared_layers(["sha256:a", "sha256:b"], ["sha256:a", "sha256:b"], ["base", "guard"]),
)
FILES = tuple(FileChange(path=f"opt/{number:02}", how=("content", "mode")) for number in range(22))


def differing(files: tuple[FileChange, ...] | None) -> Reproduction:
    guard = BuiltLayer(name="guard", original="sha256:b", rebuilt="sha256:c", files=files)
    return replace(EQUAL, layers=[EQUAL.layers[0], guard])


def test_equal_images() -> None:
    assert EQUAL.equal
    assert reproduction_text(EQUAL).splitlines() == [
        "image   registry.example.com/ascend:full",
        "target  full",
        f"commit  {'c' * 40}",
        "",
        "base   equal  sha256:a",
        "guard  equal  sha256:b",
        "",
        "all 2 layers are equal",
    ]


def test_a_layer_that_differs() -> None:
    text = reproduction_text(differing(FILES[:1]))
    assert "\nguard  differs  sha256:b -> sha256:c\n" in text
    assert "\nguard: 1 file differs\n  opt/00  content, mode\n" in text
    assert text.endswith("\n1 of 2 layers differ: guard")


def test_many_files_are_counted() -> None:
    text = reproduction_text(differing(FILES))
    assert "guard: 22 files differ\n" in text
    assert "  opt/19  content, mode\n  and 2 more; --format json has all\n" in text
    assert len(json.loads(reproduction_json(differing(FILES)))["layers"][1]["files"]) == 22
    assert "more" not in reproduction_text(differing(FILES[:20]))


def test_what_is_known_of_the_files() -> None:
    assert "guard: the files that differ are not known" in reproduction_text(differing(None))
    assert "guard: the files are equal, and their order" in reproduction_text(differing(()))
    assert json.loads(reproduction_json(differing(None)))["layers"][1]["files"] is None


def test_a_layer_of_one_image_only() -> None:
    layers = compared_layers(["sha256:a", "sha256:b"], ["sha256:a"], ["base"])
    found = replace(EQUAL, layers=layers, commit="", notes=["A note."])
    assert not found.equal
    text = reproduction_text(found)
    assert "\nlayer 2  differs  sha256:b -> no such layer\n" in text
    assert "commit" not in text
    assert "\nA note.\n" in text


def test_json() -> None:
    found = json.loads(reproduction_json(differing(FILES[:1])))
    assert found["equal"] is False
    assert found["keys"] == {"original": "sha256:1", "rebuilt": "sha256:1"}
    assert found["layers"][0] == {
        "name": "base",
        "equal": True,
        "original": "sha256:a",
        "rebuilt": "sha256:a",
        "files": None,
    }
    assert found["layers"][1]["files"] == [{"path": "opt/00", "differs": ["content", "mode"]}]
