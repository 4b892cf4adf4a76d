# SPDX-License-Identifier: Apache-2.0
"""Images of the flavour runtime, which have no compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Flavour
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import parse_lock
from cannery.matrix.distributions import load_distributions
from cannery.matrix.project import select
from tests.unit.matrices import Checkout, edited, load, lock_for

TEXT = edited("    torch: 2.3.1\n", "    torch: 2.3.1\n    flavour: runtime\n")


@pytest.mark.parametrize("name", ["debian", "ubuntu", "openeuler"])
@pytest.mark.parametrize("own_python", [True, False])
def test_the_first_layer_has_no_compiler_and_no_headers(name: str, *, own_python: bool) -> None:
    distribution = load_distributions()[name]
    devel = {*distribution.first_packages(own_python=own_python, compiler=True)}
    runtime = {*distribution.first_packages(own_python=own_python, compiler=False)}
    assert {*distribution.packages["compiler"]} <= devel - runtime
    assert not [each for each in runtime if each.endswith(("-dev", "-devel"))]
    assert runtime - devel == {*distribution.packages["libraries"]}
    assert ("python3" in runtime) == own_python


def test_all_other_layers_are_those_of_the_sister(tmp_path: Path) -> None:
    devel = load(tmp_path).targets["full"]
    runtime = replace(devel, without_compiler=True)
    lock = parse_lock(lock_for(devel))
    pairs = zip(plan_image(devel, lock).layers, plan_image(runtime, lock).layers, strict=True)
    assert [one.name for one, other in pairs if one.identity != other.identity] == ["os"]


def test_the_dockerfile_and_a_label_name_the_flavour(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    runtime = load(tmp_path / "other", TEXT).targets["full"]
    checkout.lock(runtime, lock_for(runtime))
    renderer = Renderer(checkout.project)
    text = renderer.render(runtime).files["Dockerfile"]
    assert 'io.cannery.flavour="runtime"' in text
    assert "# Flavour runtime: without a compiler" in text
    devel = renderer.render(checkout.matrix.targets["full"]).files["Dockerfile"]
    assert "lavour" not in devel


def test_targets_are_selected_by_their_flavour(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    assert [each.id for each in select(matrix, ["*"], ["flavour=runtime"])] == ["full"]
    assert matrix.targets["bare"].flavour is Flavour.DEVEL


@pytest.mark.parametrize("name", ["runtme", "app"])
def test_an_unknown_flavour_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(MatrixError, match=f"flavour: there is no '{name}'"):
        load(tmp_path, edited("flavour: runtime", f"flavour: {name}", TEXT))
