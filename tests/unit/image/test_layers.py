# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cannery.building.plan import change_of
from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.image.layers import Layer, components_named, shared
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project
from tests.unit.image.test_render import stages
from tests.unit.matrices import CHECKOUT, Checkout

REAL = Project(root=CHECKOUT)


def layers(checkout: Checkout, target: Target) -> dict[str, Layer]:
    lock = parse_lock(checkout.project.lock(target).read_text(encoding="utf-8"))
    return {layer.name: layer for layer in plan_image(target, lock).layers}


@pytest.mark.parametrize("target", REAL.matrix().targets.values(), ids=lambda target: target.id)
def test_the_dockerfile_copies_the_layers_in_their_order(target: Target) -> None:
    found = Renderer(REAL).render(target)
    text = found.files["Dockerfile"]
    image = text.partition("\nFROM base AS image\n")[2]
    copied = re.findall(r"^COPY --link --from=(\S+) /layer/ /$", image, re.MULTILINE)
    assert copied == [layer.stage for layer in found.layers]
    assert len({layer.name for layer in found.layers}) == len(copied)
    assert {*copied} <= {*stages(text)}


def test_targets_with_equal_components_share_them(checkout: Checkout) -> None:
    full = checkout.target()
    other = replace(full, id="other", torch="2.1.0")
    text = checkout.project.lock(full).read_text().replace("torch==2.3.1", "torch==2.1.0")
    checkout.lock(other, text)
    found = shared({each.id: [*layers(checkout, each).values()] for each in (full, other)})
    names = {each.layer.name for each in found}
    assert {"os", "toolkit", "kernels", "nnal", "wheels-deepspeed"} <= names
    assert not names & {"wheels-torch", "guard"}
    assert {each.targets for each in found} == {("full", "other")}


def test_another_cann_leaves_the_wheels(checkout: Checkout) -> None:
    full = checkout.target()
    other = replace(full, cann=replace(full.cann, version="8.0.RC4"))
    before, after = layers(checkout, full), layers(checkout, other)
    moved = {name for name in before if before[name].identity != after[name].identity}
    assert moved == {"toolkit", "kernels", "nnal", "cann-python", "guard"}


def test_another_base_moves_the_system_and_only_it_where_wheels_fit_both(
    checkout: Checkout,
) -> None:
    full = checkout.target()
    before = layers(checkout, full)
    newer = replace(full, base=replace(full.base, image="debian:11@sha256:" + "1" * 64))
    after = layers(checkout, newer)
    assert {name for name in before if before[name].identity != after[name].identity} == {"os"}


@pytest.mark.parametrize(
    ("component", "names"),
    [
        ("torch", ["wheels-torch", "wheels-torch-deps", "guard"]),
        ("deepspeed", ["wheels-deepspeed", "guard"]),
        ("nnal", ["nnal", "cann-python", "guard"]),
        ("kernels", ["kernels", "nnal", "cann-python", "guard"]),
        ("toolkit", ["toolkit", "kernels", "nnal", "cann-python", "wheels-cann", "guard"]),
        ("cann", ["toolkit", "kernels", "nnal", "cann-python", "wheels-cann", "guard"]),
        ("apex", ["wheels-vendor-apex", "guard"]),
    ],
)
def test_what_a_change_makes_anew(checkout: Checkout, component: str, names: list[str]) -> None:
    full, bare = checkout.target("full"), checkout.target("bare")
    found = {each.id: [*layers(checkout, each).values()] for each in (full, bare)}
    change = change_of(component, [full, bare], found)
    assert [*change.rebuilt["full"]] == names
    for name in ("full", "bare"):
        both = {*change.rebuilt.get(name, ()), *change.kept[name]}
        assert both == {layer.name for layer in found[name]}
    assert ("bare" in change.rebuilt) == (component in bare.components or component == "cann")


def test_the_build_base_makes_everything(checkout: Checkout) -> None:
    full = checkout.target()
    change = change_of("build_base", [full], {"full": [*layers(checkout, full).values()]})
    assert change.kept == {"full": ()}


def test_a_component_that_nothing_has(checkout: Checkout) -> None:
    with pytest.raises(UsageError, match=r"has a component 'torhc'\. Did you mean 'torch'\?"):
        components_named("torhc", [checkout.target()])
