# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cannery.publish.difference import (
    Contents,
    LayerContent,
    SideKind,
    difference,
    difference_json,
    difference_text,
)

BEFORE = Contents(
    name="cannery:one",
    kind=SideKind.IMAGE,
    sections={
        "wheels": {"torch": "2.1.0", "numpy": "1.26.4", "six": "1.16", "fire": "1"},
        "environment": {"PATH": "/usr/bin:" * 9},
    },
    files={"wheels": {"numpy": "numpy.whl (sha256 a)", "torch": "torch.whl (sha256 a)"}},
    layers=[
        LayerContent(name="base", identity="b", size=100),
        LayerContent(name="os", identity="1", size=2_000_000),
        LayerContent(name="old", identity="3", size=None),
    ],
    size=5_000_000,
)
AFTER = replace(
    BEFORE,
    name="cannery:two",
    sections={
        "wheels": {"torch": "2.3.1", "numpy": "1.26.4", "six": "1.16", "tqdm": "4"},
        "environment": {"PATH": "/bin"},
    },
    files={"wheels": {"numpy": "numpy.whl (sha256 b)", "torch": "torch.whl (sha256 b)"}},
    layers=[
        LayerContent(name="base", identity="b", size=100),
        LayerContent(name="os", identity="2", size=3_000_000),
        LayerContent(name="new", identity="4", size=7),
    ],
    size=4_000_000,
)


def test_files_known_to_only_one_side_are_no_difference() -> None:
    result = difference(BEFORE, replace(BEFORE, files={}))
    assert not result.differs
    assert [*result.sections] == ["wheels", "environment"]


def test_sections_of_one_side_are_named_and_not_compared() -> None:
    record = replace(AFTER, kind=SideKind.RECORD, sections={"wheels": {}, "components": {}})
    result = difference(BEFORE, record)
    assert [*result.sections] == ["wheels"]
    assert result.only_one == ("components", "environment")
    assert "not compared, because only one side has them: components, environment" in (
        difference_text(result)
    )


def test_the_text_is_tables() -> None:
    assert difference_text(difference(BEFORE, AFTER)) == (
        "before  cannery:one  image\n"
        "after   cannery:two  image\n"
        "\n"
        "size: 5.0 MB -> 4.0 MB (-1.0 MB), unpacked\n"
        "\n"
        "wheels: 1 changed, 1 added, 1 removed, 2 equal\n"
        "         before  after\n"
        "  fire   1       -\n"
        "  torch  2.1.0   2.3.1\n"
        "  tqdm   -       4\n"
        "\n"
        "files of wheels: 1 changed\n"
        "         before                after\n"
        "  numpy  numpy.whl (sha256 a)  numpy.whl (sha256 b)\n"
        "\n"
        "environment: 1 changed\n"
        "  PATH\n"
        f"    before  {'/usr/bin:' * 9}\n"
        "    after   /bin\n"
        "\n"
        "layers: 1 changed, 1 added, 1 removed, 1 equal\n"
        "                 before   after\n"
        "  base  equal     100 B   100 B\n"
        "  os    changed  2.0 MB  3.0 MB\n"
        "  new   added         -     7 B\n"
        "  old   removed       -       -"
    )


def test_equal_sides_have_no_difference() -> None:
    result = difference(BEFORE, replace(BEFORE, name="cannery:copy"))
    assert not result.differs
    text = difference_text(result)
    assert text.endswith("\n\nno difference")
    assert "wheels" not in text


def test_sizes_of_other_kinds_are_shown_and_not_subtracted() -> None:
    record = replace(AFTER, kind=SideKind.RECORD)
    text = difference_text(difference(BEFORE, record))
    assert "size: 5.0 MB -> 4.0 MB (unpacked and compressed, which cannot be compared)" in text


def test_without_sizes_only_changed_layers_are_listed() -> None:
    before, after = (
        replace(
            side,
            kind=SideKind.COMMIT,
            size=None,
            layers=[replace(layer, size=None) for layer in side.layers],
        )
        for side in (BEFORE, AFTER)
    )
    text = difference_text(difference(before, after))
    assert "size" not in text
    assert text.endswith("  os   changed\n  new  added\n  old  removed")
    assert "base" not in text


def test_lines_fit_the_terminal() -> None:
    lines = difference_text(difference(BEFORE, replace(AFTER, name="a b " * 30)), 60).splitlines()
    assert max(len(line) for line in lines if "/usr/bin" not in line) <= 60


VALUES = st.dictionaries(st.sampled_from("abcd"), st.text(max_size=3))
SIDES = st.builds(
    Contents,
    name=st.text(max_size=5),
    kind=st.sampled_from([SideKind.IMAGE, SideKind.RECORD]),
    sections=st.dictionaries(st.sampled_from(["wheels", "labels"]), VALUES),
    files=st.dictionaries(st.just("wheels"), VALUES),
    layers=st.lists(
        st.builds(
            LayerContent,
            name=st.sampled_from("xyz"),
            identity=st.sampled_from("12"),
            size=st.none() | st.integers(0, 10**10),
        ),
        unique_by=lambda layer: layer.name,
    ),
    size=st.none() | st.integers(0, 10**10),
)


@given(SIDES, SIDES)
def test_every_entry_is_counted_once_and_both_ways_are_mirrors(
    one: Contents, two: Contents
) -> None:
    result, back = difference(one, two), difference(two, one)
    assert result.differs == back.differs
    for name, section in result.sections.items():
        if name in one.sections:
            both = {*one.sections[name], *two.sections[name]}
            counted = [*section.added, *section.removed, *section.changed]
            assert len(counted) + section.equal == len(both)
    assert {name: section.added for name, section in result.sections.items()} == {
        name: section.removed for name, section in back.sections.items()
    }
    difference_text(result, 40)
    assert json.loads(difference_json(result))["differs"] == result.differs


def test_json_has_all_of_it() -> None:
    result = json.loads(difference_json(difference(BEFORE, AFTER)))
    assert result["before"] == {"name": "cannery:one", "kind": "image", "size": 5_000_000}
    assert result["sections"]["wheels"] == {
        "added": {"tqdm": "4"},
        "removed": {"fire": "1"},
        "changed": {"torch": ["2.1.0", "2.3.1"]},
        "equal": 2,
    }
    # The file of a package with another version is another one in any case.
    assert {*result["sections"]["files of wheels"]["changed"]} == {"numpy"}
    assert result["layers"][1] == {"name": "os", "state": "changed", "sizes": [2000000, 3000000]}
    assert (result["differs"], result["not_compared"]) == (True, [])


def test_control_characters_are_escaped() -> None:
    odd = "a\n::error::b\x1b[2J\x9b\u202e"
    sections = {"labels": {odd: odd, "long": odd * 9}}
    after = replace(BEFORE, sections=sections, layers=[LayerContent(name=odd, identity="")])
    result = difference(BEFORE, after)
    for text in (difference_text(result), difference_text(result, 40), difference_json(result)):
        lines = text.split("\n")
        assert all(line.isprintable() for line in lines)
        assert not [line for line in lines if line.lstrip().startswith("::")]
