# SPDX-License-Identifier: Apache-2.0
"""Components that are one package each: their requirements, layers and record."""

from __future__ import annotations

from dataclasses import replace

from cannery.common.model import EXTRAS, Target
from cannery.common.wheels import VendorWheel
from cannery.image.plan import plan_image
from cannery.lock.lock_file import INPUTS, Lock, parse_lock
from cannery.lock.requirements import Requirements
from tests.unit.matrices import Checkout, lock_for, locked

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


def test_triton_is_installed_before_the_triton_ascend_that_requires_it(checkout: Checkout) -> None:
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
