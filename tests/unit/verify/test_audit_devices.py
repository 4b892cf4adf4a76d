# SPDX-License-Identifier: Apache-2.0
"""The simulated driver of a target, and the device on which an image of any origin is tested."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cannery.common.errors import EngineError
from cannery.common.model import DeviceKind, Target
from cannery.common.package_index import PackageIndex
from cannery.deploy.run_spec import RunSpec, no_device, simulated_device
from cannery.image.simulator_spec import DEVICES
from cannery.verify import devices
from cannery.verify.devices import cards_of_spec, device_for, made_host, simulated_host
from tests.unit.audits import PROJECT, TARGET, found_with


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets whose simulated driver is made; none exists before."""
    asked: list[str] = []

    def simulated(_: object, target: Target) -> SimpleNamespace:
        return SimpleNamespace(host=tmp_path / target.id)

    def make(_: object, target: Target, *__: object) -> SimpleNamespace:
        asked.append(target.id)
        return SimpleNamespace(host=tmp_path / target.id)

    monkeypatch.setattr(devices, "simulated", simulated)
    monkeypatch.setattr(devices, "make_simulated", make)
    return asked


def test_the_driver_of_a_target_is_made_once(made: list[str], tmp_path: Path) -> None:
    target, index = PROJECT.matrix().targets[TARGET], PackageIndex(ca=None, index_url="")
    assert made_host(PROJECT, target) is None
    assert simulated_host(PROJECT, target, index) == tmp_path / TARGET
    assert made == [TARGET]
    (tmp_path / TARGET).mkdir()
    assert made_host(PROJECT, target) == simulated_host(PROJECT, target, index) == tmp_path / TARGET
    assert made == [TARGET]


def test_the_driver_of_the_own_target_is_made(made: list[str], tmp_path: Path) -> None:
    spec, results = device_for(PROJECT, "aarch64", found_with(), simulate=True)
    assert (spec, results, made) == (simulated_device(tmp_path / TARGET), [], [TARGET])


def test_a_driver_for_the_same_chip_will_do(made: list[str], tmp_path: Path) -> None:
    others = [
        each
        for each in PROJECT.matrix().targets.values()
        if (each.chip, each.machine) == ("910b", "aarch64") and each.id != TARGET
    ]
    (tmp_path / others[-1].id).mkdir()
    spec, _ = device_for(PROJECT, "aarch64", found_with(own_record=[]), simulate=True)
    assert (spec, made) == (simulated_device(tmp_path / others[-1].id), [])


def test_a_chip_without_a_simulated_device(made: list[str]) -> None:
    found = found_with(ascend={"operators": ["ascend310b"]})
    with pytest.raises(EngineError, match="no simulated device for aarch64 and chip 310b"):
        device_for(PROJECT, "aarch64", found, simulate=True)


def test_an_image_without_cann_needs_no_device(made: list[str]) -> None:
    spec, [result] = device_for(PROJECT, "aarch64", found_with(ascend={"homes": {}}), simulate=True)
    assert spec is None
    assert "The image has no CANN." in result.text


def test_cards() -> None:
    assert cards_of_spec(simulated_device(Path("/host"))) == DEVICES
    assert cards_of_spec(no_device()) == 0
    named = ("/dev/davinci0", "/dev/davinci11", "/dev/davinci_manager", "/dev/hisi_hdc")
    assert cards_of_spec(RunSpec(kind=DeviceKind.NPU, devices=named)) == 2
