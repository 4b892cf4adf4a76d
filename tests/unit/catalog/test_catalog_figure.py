# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from itertools import pairwise

from cannery.catalog.facets import NONE, age, choices, facets, places
from cannery.catalog.figure import Figure, figure
from cannery.catalog.gather import gather
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

FOUND = gather(Project(root=CHECKOUT), lambda _, __: "")
TARGETS = [each.target for each in FOUND.entries]
IDS = [target.id for target in TARGETS]
LAYERS = {
    "Python": ("os", "python"),
    "CANN": ("toolkit",),
    "torch": ("wheels-torch", "wheels-vendor-torch"),
}


def drawn() -> Figure:
    return figure(TARGETS, FOUND.layers)


def identities(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(layer.identity for layer in FOUND.layers[name] if layer.name in names)


def test_every_image_has_a_line_and_a_place_of_its_own() -> None:
    found = drawn()
    assert [line.id for line in found.lines] == IDS
    heights = sorted(line.y for line in found.lines)
    assert all(later - earlier > 15 for earlier, later in pairwise(heights))


def test_lines_pass_through_one_box_if_and_only_if_they_share_its_layer() -> None:
    found = drawn()
    columns = sorted({box.x for box in found.boxes})
    for x, names in zip(columns, LAYERS.values(), strict=True):
        by_layer: dict[tuple[str, ...], set[str]] = {}
        for name in IDS:
            own = identities(name, names) or identities(name, ("wheels-application",))
            by_layer.setdefault(own, set()).add(name)
        boxes = {frozenset(box.ids) for box in found.boxes if box.x == x}
        assert boxes == {*map(frozenset, by_layer.values())}


def test_a_box_is_called_by_what_its_images_have() -> None:
    by_id = {target.id: target for target in TARGETS}
    for box in drawn().boxes:
        word, version = box.label.split()
        for each in box.ids:
            known = {"Python": by_id[each].python.version, "CANN": by_id[each].cann.version}
            assert {**known, **by_id[each].components}[word] == version


def test_nothing_overlaps_and_all_is_within_the_picture() -> None:
    found = drawn()
    for x in {box.x for box in found.boxes}:
        column = sorted((box.y, box.y + box.height) for box in found.boxes if box.x == x)
        assert all(end <= start for (_, end), (start, _) in pairwise(column))
        assert column[0][0] >= 0
        assert column[-1][1] <= found.height
    for line in found.lines:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", line.path)]
        assert all(0 <= number <= max(found.width, found.height) for number in numbers)
        assert line.x < found.width


def test_a_line_ends_where_its_name_stands_and_enters_each_of_its_boxes() -> None:
    found = drawn()
    for line in found.lines:
        assert line.path.endswith(f"{line.x:g} {line.y:g}")
        for box in (box for box in found.boxes if line.id in box.ids):
            entered = re.findall(rf"(?:M| ){box.x:g} ([\d.]+)", line.path)
            assert any(box.y < float(y) < box.y + box.height for y in entered)


def test_a_picture_of_nothing() -> None:
    assert figure([], {}).lines == ()


def test_choices_are_all_there_are_with_the_newest_first() -> None:
    found = choices(TARGETS)
    for facet, values in found.items():
        assert {*values} == {facets(target)[facet] for target in TARGETS}
        assert len({*values}) == len(values)
        assert NONE not in values[:-1]
    assert found["python"] == ("3.13", "3.12", "3.11", "3.10", "3.9", "3.8", "3.7")
    assert found["cann"][0] == "9.2.0"
    assert found["cann"].index("8.0.RC3") < found["cann"].index("8.0.RC2")
    assert found["torch"][:2] == ("2.14.0", "2.13.0")
    assert found["torch"][-1] == NONE


def test_places_follow_the_versions() -> None:
    found = places(TARGETS)
    for target in TARGETS:
        for other in TARGETS:
            for facet in ("torch", "cann"):
                ages = [age(facet, facets(each)[facet]) for each in (target, other)]
                ranks = [found[facet][each.id] for each in (target, other)]
                assert (ages[0] < ages[1]) == (ranks[0] < ranks[1])


def test_a_version_that_is_none_is_the_oldest() -> None:
    assert age("cann", "our own") > age("cann", "6.3.RC1.alpha003")
    assert age("torch", NONE) > age("torch", "1.11.0")
