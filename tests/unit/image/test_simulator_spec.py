# SPDX-License-Identifier: Apache-2.0
"""What the packer of simulated packages is asked to make, and the symbols that they lack."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cannery.common.cann_version import CannVersion
from cannery.common.errors import UsageError
from cannery.image import simulator_spec
from cannery.image.simulator_spec import SYMBOLS, missing_symbols, package_spec
from cannery.matrix.schema import parse_matrix
from tests.unit.applications import TEXT
from tests.unit.matrices import load


def test_the_packages_made_by_the_simulator(tmp_path: Path) -> None:
    targets = load(tmp_path, TEXT).targets
    asked = {
        name: [package["component"] for package in package_spec(target)["packages"]]
        for name, target in targets.items()
    }
    assert asked == {
        "full": ["toolkit", "kernels", "nnal"],
        "bare": ["toolkit", "kernels"],
        "served": ["toolkit", "kernels", "nnal"],
        "old": ["toolkit", "kernels"],
        "other": ["toolkit", "kernels", "nnal"],
    }
    assert package_spec(targets["served"])["apex"] is None
    assert package_spec(targets["old"])["apex"] == {
        "file": "apex-0.1+ascend-cp38-cp38-linux_aarch64.whl"
    }


@pytest.mark.parametrize("layout", ["ascend-toolkit", "cann"])
def test_the_layout_and_the_version_are_the_targets(layout: str) -> None:
    text = TEXT.replace("layout: ascend-toolkit", f"layout: {layout}")
    spec = package_spec(parse_matrix(text, "matrix.yaml").targets["served"])
    assert (spec["layout"], spec["cann"], spec["arch"]) == (layout, "8.0.RC2", "aarch64")


def test_a_chip_unknown_to_the_simulator_is_an_error() -> None:
    target = parse_matrix(TEXT.replace("910b", "310b"), "matrix.yaml").targets["served"]
    with pytest.raises(UsageError) as caught:
        package_spec(target)
    assert str(caught.value) == (
        "served has chip 310b, but the software device supports only 910b, a3, 310p, 910, 950. "
        "Build it from Huawei's packages."
    )


def test_a_cannery_without_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = parse_matrix(TEXT, "matrix.yaml").targets["served"]
    monkeypatch.setattr(simulator_spec, "SOURCES", tmp_path / "none")
    with pytest.raises(UsageError, match="Install cannery again"):
        package_spec(target)


def test_each_package_has_the_version_of_its_release() -> None:
    target = parse_matrix(TEXT, "matrix.yaml").targets["served"]
    newer = replace(target.cann, version="8.0.RC3")
    spec = package_spec(replace(target, kernels_release=newer))
    versions = {package["component"]: package["version"] for package in spec["packages"]}
    assert spec["cann"] == "8.0.RC2"
    assert versions == {"toolkit": "8.0.RC2", "kernels": "8.0.RC3", "nnal": "8.0.RC2"}


def test_the_recipe_is_of_the_device_and_the_packages_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = parse_matrix(TEXT, "matrix.yaml").targets["served"]
    monkeypatch.setattr(simulator_spec, "SOURCES", tmp_path)
    monkeypatch.setattr(simulator_spec, "_sources", simulator_spec._sources.__wrapped__)

    def recipe_with(name: str) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
        return simulator_spec.recipe(target)

    before = recipe_with("device/build.sh")
    assert recipe_with("ascend_sim/command/host.py") == recipe_with("tools/archive.py") == before
    assert recipe_with("ascend_sim/packages/README.md") == before
    assert recipe_with("ascend_sim/packages/chips/310p.json") == before
    assert (own := recipe_with("ascend_sim/packages/chips/910b.types")) != before
    assert recipe_with("ascend_sim/packages/pack.py") not in (before, own)


NEW = "libascendcl aclrtDeviceGetBareTgid"
"""Whose first source is of CANN 8.3.RC1."""


@pytest.mark.parametrize(
    ("cann", "lacks"), [("8.0.RC2", True), ("8.2.RC1", True), ("8.3.RC1", False), ("9.1.0", False)]
)
def test_an_older_release_lacks_newer_symbols(cann: str, lacks: bool) -> None:
    assert (NEW in missing_symbols(CannVersion.parse(cann))) is lacks


def test_a_later_release_has_all_symbols_of_an_earlier_one() -> None:
    order = sorted(CannVersion.parse(text) for text in json.loads(SYMBOLS.read_text("utf-8")))
    every = [set(missing_symbols(cann)) for cann in order]
    assert all(later < earlier for earlier, later in pairwise(every))
    assert every[-1] == set()


def test_spec_lists_missing_symbols(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    symbols = tmp_path / "symbols.json"
    symbols.write_text('{"8.0.RC3": ["libascendcl aclLater"], "8.5.0": ["libatb _ZN3atb"]}')
    monkeypatch.setattr(simulator_spec, "SYMBOLS", symbols)
    monkeypatch.setattr(simulator_spec, "firsts", simulator_spec.firsts.__wrapped__)
    final = parse_matrix(TEXT, "matrix.yaml").targets["served"]
    assert package_spec(final)["lacks"] == ["libascendcl aclLater", "libatb _ZN3atb"]


def test_an_interim_build_has_the_symbols_of_the_nearest_release(tmp_path: Path) -> None:
    target = load(tmp_path).targets["bare"]
    assert target.cann.interim
    assert package_spec(target)["lacks"] == missing_symbols(
        CannVersion.parse(target.cann.nearest_public)
    )
