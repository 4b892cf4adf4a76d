# SPDX-License-Identifier: Apache-2.0
"""The layers of images: their order, what shares them, and what makes them anew."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cannery.building.plan import change_of
from cannery.common.errors import UsageError
from cannery.common.model import EXTRAS, Target
from cannery.common.wheels import VendorWheel
from cannery.image.layers import Layer, components_named, shared
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import INPUTS, Lock, parse_lock
from cannery.lock.requirements import Requirements
from cannery.matrix.project import Project
from tests.unit.image.test_render import stages
from tests.unit.matrices import CHECKOUT, Checkout, lock_for, locked

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
def test_the_layers_rebuilt_by_a_change(
    checkout: Checkout, component: str, names: list[str]
) -> None:
    full, bare = checkout.target("full"), checkout.target("bare")
    found = {each.id: [*layers(checkout, each).values()] for each in (full, bare)}
    change = change_of(component, [full, bare], found)
    assert [*change.rebuilt["full"]] == names
    for name in ("full", "bare"):
        both = {*change.rebuilt.get(name, ()), *change.kept[name]}
        assert both == {layer.name for layer in found[name]}
    assert ("bare" in change.rebuilt) == (component in bare.components or component == "cann")


def test_an_unknown_component_is_refused(checkout: Checkout) -> None:
    with pytest.raises(UsageError, match=r"has a component 'torhc'\. Did you mean 'torch'\?"):
        components_named("torhc", [checkout.target()])


VERSIONS = {name: f"1.{number}.0" for number, name in enumerate(EXTRAS)}
WHEEL = VendorWheel(
    version=VERSIONS["triton_ascend"],
    file="triton_ascend-1.5.0-{tag}-{abi}-linux_{machine}.whl",
    origin="its makers",
)


def with_extras(checkout: Checkout, *names: str) -> Target:
    chosen = {name: VERSIONS[name] for name in EXTRAS if name in names}
    return replace(checkout.target(), extras=chosen, requirements=("tqdm==1.0",))


def lock_of(target: Target, *more: str) -> Lock:
    text = lock_for(target) + locked("tqdm==1.0", "-r application.in")
    for name, version in target.extras.items():
        if not (name == "triton_ascend" and target.triton_ascend_wheel):
            text += locked(f"{EXTRAS[name]}=={version}", f"-r {name}.in")
    return parse_lock(f"{INPUTS}{Requirements(target).digest}\n{text}" + "".join(more))


def names(target: Target, lock: Lock) -> list[str]:
    return [layer.name for layer in plan_image(target, lock).layers]


def test_each_has_a_group_and_a_layer(checkout: Checkout) -> None:
    target = with_extras(checkout, *EXTRAS)
    groups = Requirements(target).groups
    for name, package in EXTRAS.items():
        assert groups[name] == (f"{package}=={VERSIONS[name]}",)
        assert target.components[name] == VERSIONS[name]
    found = names(target, lock_of(target))
    assert {f"wheels-{name}" for name in EXTRAS} <= {*found}


def test_triton_ascend_is_the_last_wheel(checkout: Checkout) -> None:
    target = with_extras(checkout, *EXTRAS)
    assert names(target, lock_of(target))[-2:] == ["wheels-triton_ascend", "guard"]
    assert [*target.components][-1] == "triton_ascend"


def test_triton_is_installed_before_triton_ascend(checkout: Checkout) -> None:
    target = with_extras(checkout, "triton_ascend")
    lock = lock_of(target, locked("triton==3.5.0", "triton-ascend"))
    last = plan_image(target, lock).layers[-3:]
    assert [layer.name for layer in last] == [
        *("wheels-triton_ascend-deps", "wheels-triton_ascend", "guard"),
    ]
    assert [wheel.name for wheel in last[0].wheels] == ["triton"]


def test_a_file_of_triton_ascend_is_last_too(checkout: Checkout) -> None:
    target = replace(with_extras(checkout, "triton_ascend"), triton_ascend_wheel=WHEEL)
    assert "triton_ascend" not in Requirements(target).groups
    assert names(target, lock_of(target))[-2:] == ["wheels-vendor-triton_ascend", "guard"]
    assert (
        target.artifacts["triton_ascend"].name == "triton_ascend-1.5.0-cp39-cp39-linux_aarch64.whl"
    )


def test_later_installs_keep_them(checkout: Checkout) -> None:
    target = with_extras(checkout, "torchvision", "ray")
    found = {each.name: each.requirement for each in plan_image(target, lock_of(target)).pins}
    assert found["torchvision"] == "torchvision==1.0.0"
    assert found["ray"] == f"ray=={VERSIONS['ray']}"
