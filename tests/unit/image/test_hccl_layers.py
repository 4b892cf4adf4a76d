# SPDX-License-Identifier: Apache-2.0
"""The HCCL tests: their layers, stages and record, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.image.layers import Layer, LayerKind
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import read_lock
from tests.unit.applications import stacked_checkout
from tests.unit.built_wheels import built_checkout
from tests.unit.compat_targets import cann, changed, problems
from tests.unit.matrices import Checkout, edited, make_checkout

TEXT = edited("    deepspeed: 0.15.0\n", "    deepspeed: 0.15.0\n    hccl_test: true\n")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path, TEXT)


def layers(checkout: Checkout, target: Target) -> dict[str, Layer]:
    found = plan_image(target, read_lock(checkout.project, target)).layers
    return {each.name: each for each in found}


def test_its_layers(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    found = layers(checkout, target)
    names = [*found]
    mpi, tests = found["packages-hccl_test"], found["hccl_test"]
    assert names.index("wheels-deepspeed") < names.index("packages-hccl_test")
    assert [names.index(name) for name in ("packages-hccl_test", "hccl_test", "guard")] == [
        *range(len(names) - 3, len(names))
    ]
    assert (mpi.kind, mpi.packages) == (LayerKind.PACKAGES, ("libmpich-dev", "mpich"))
    assert tests.kind is LayerKind.HCCL_TEST
    assert {"hccl_test", "toolkit", "base"} <= tests.components
    assert target.components["hccl_test"] == target.cann.version


def test_all_other_layers_are_those_of_the_sister(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    own, other = layers(checkout, target), layers(checkout, replace(target, hccl_test=False))
    assert own.keys() - other.keys() == {"packages-hccl_test", "hccl_test"}
    moved = {name for name in other if own[name].identity != other[name].identity}
    assert moved == {"guard"}


@pytest.mark.parametrize(
    "changes", ["toolkit", "base", "mpi"], ids=lambda change: f"another {change}"
)
def test_it_is_compiled_again_for(checkout: Checkout, changes: str) -> None:
    target = checkout.matrix.targets["full"]
    base, cann_of_target = target.base, target.cann
    if changes == "toolkit":
        target = replace(target, cann=replace(cann_of_target, version="8.0.RC3"))
    elif changes == "base":
        target = replace(target, base=replace(base, image="debian:11@sha256:1"))
    else:
        packages = {**base.distribution.packages, "mpi": ("openmpi-bin",)}
        distribution = replace(base.distribution, packages=packages)
        target = replace(target, base=replace(base, distribution=distribution))
    before = layers(checkout, checkout.matrix.targets["full"])["hccl_test"]
    assert layers(checkout, target)["hccl_test"].identity != before.identity


def test_packages_of_an_application_are_in_the_same_layer(tmp_path: Path) -> None:
    checkout = stacked_checkout(tmp_path)
    served = replace(checkout.matrix.targets["served"], hccl_test=True)
    found = layers(checkout, served)
    assert found["packages-application"].packages == ("git", "libmpich-dev", "mpich", "pdsh")
    assert {"serve", "hccl_test"} <= found["packages-application"].components
    assert "packages-hccl_test" not in found
    assert found["hccl_test"].after == "packages-application"


def test_one_stage_builds_it_and_wheels(tmp_path: Path) -> None:
    checkout = built_checkout(tmp_path)
    served = replace(checkout.matrix.targets["served"], hccl_test=True)
    text = Renderer(checkout.project).render(served).files["Dockerfile"]
    assert text.count("FROM base AS builder\n") == 1
    assert "FROM builder AS built-hccl_test\n" in text


def said(target: Target) -> str:
    found = [each for each in problems(target) if "'hccl-test' is refused" in each]
    return found[0] if found else ""


def test_it_needs_a_cann_with_the_tool() -> None:
    refused = said(changed(hccl_test=True, cann=cann("6.3.RC1")))
    assert "no source has tools/hccl_test in a CANN before 7.0" in refused
    assert "CANN 7.0.0" in refused
    assert not said(changed(hccl_test=True, cann=cann("7.0.0")))
