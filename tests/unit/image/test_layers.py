# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.errors import UsageError
from cannery.image.layers import Layer, components_named, layers_of, shared
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.plan.plan import change_of
from tests.unit.image.test_render import rendered, stages
from tests.unit.matrices import CHECKOUT, Checkout

REAL = Project(root=CHECKOUT)


def parts(checkout: Checkout, target: Target) -> dict[str, Layer]:
    return {part.name: part for part in layers_of(target, rendered(checkout, target))}


@pytest.mark.parametrize("target", REAL.matrix().targets.values(), ids=lambda target: target.id)
def test_every_part_is_a_stage_of_the_dockerfile_and_every_layer_is_a_part(target: Target) -> None:
    checkout = Checkout(project=REAL, matrix=REAL.matrix())
    files = rendered(checkout, target)
    names = [part.name for part in layers_of(target, files)]
    assert len(set(names)) == len(names)
    assert {*names} <= {*stages(files["Dockerfile"])}
    copied = {
        line.partition("--from=")[2].split()[0].removeprefix("layer-")
        for line in files["Dockerfile"].splitlines()
        if line.startswith("COPY --link --from=")
    }
    assert copied == {*names}


def test_targets_with_equal_components_share_them(checkout: Checkout) -> None:
    full = checkout.target()
    other = replace(full, id="other", torch="2.1.0")
    checkout.lock(other, checkout.project.lock(full).read_text().replace("torch==2.3.1", "torch=="))
    text = checkout.project.lock(full).read_text().replace("torch==2.3.1", "torch==2.1.0")
    checkout.lock(other, text)
    found = shared(
        {each.id: [*parts(checkout, each).values()] for each in (full, other)},
    )
    names = {part.name for part in found}
    assert {"os", "toolkit", "kernels", "nnal", "wheels-deepspeed"} <= names
    assert not names & {"wheels-torch", "guard"}
    assert {*found.values()} == {("full", "other")}


DIFFERENT = {
    "base": {"os", "wheels-torch"},
    "platform": {"os", "toolkit", "kernels"},
}


def test_another_cann_leaves_the_wheels(checkout: Checkout) -> None:
    full = checkout.target()
    other = replace(full, cann=replace(full.cann, version="8.0.RC4"))
    before, after = parts(checkout, full), parts(checkout, other)
    moved = {name for name in before if before[name] != after[name]}
    assert moved == {"toolkit", "kernels", "nnal", "guard"}


def test_another_base_moves_the_system_and_only_it_where_wheels_fit_both(
    checkout: Checkout,
) -> None:
    full = checkout.target()
    before = parts(checkout, full)
    newer = replace(full, base=replace(full.base, image="debian:11@sha256:" + "1" * 64))
    after = parts(checkout, newer)
    assert {name for name in before if before[name] != after[name]} == {"os"}


@pytest.mark.parametrize(
    ("component", "layers"),
    [
        ("torch", ["wheels-torch", "wheels-torch-deps", "guard"]),
        ("deepspeed", ["wheels-deepspeed", "guard"]),
        ("nnal", ["nnal", "guard"]),
        ("kernels", ["kernels", "nnal", "guard"]),
        ("toolkit", ["toolkit", "kernels", "nnal", "wheels-cann", "guard"]),
        ("cann", ["toolkit", "kernels", "nnal", "wheels-cann", "guard"]),
        ("apex", ["wheels-vendor-apex", "guard"]),
    ],
)
def test_what_a_change_makes_anew(checkout: Checkout, component: str, layers: list[str]) -> None:
    full, bare = checkout.target("full"), checkout.target("bare")
    found = {each.id: [*parts(checkout, each).values()] for each in (full, bare)}
    change = change_of(component, [full, bare], found)
    assert [*change.anew["full"]] == layers
    for name in ("full", "bare"):
        both = {*change.anew.get(name, ()), *change.stays[name]}
        assert both == {part.name for part in found[name]}
    assert ("bare" in change.anew) == (component in bare.components or component == "cann")


def test_the_tools_make_everything(checkout: Checkout) -> None:
    full = checkout.target()
    change = change_of("tools", [full], {"full": [*parts(checkout, full).values()]})
    assert change.stays == {"full": ()}


def test_a_component_that_nothing_has(checkout: Checkout) -> None:
    with pytest.raises(UsageError, match=r"has a 'torhc'\. Did you mean 'torch'\?"):
        components_named("torhc", [checkout.target()])
