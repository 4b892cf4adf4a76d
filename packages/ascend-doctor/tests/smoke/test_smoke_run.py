# SPDX-License-Identifier: Apache-2.0
"""The steps of 'smoke', with containers that print what was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import EngineError, UsageError
from cannery.deploy.run_spec import RunSpec, npus, simulated_device
from cannery.engine import client, containers
from cannery.options.smoke import SmokeOptions
from cannery.smoke import run as smoke
from cannery.smoke.model import Document
from cannery.verify.audit.result import Result, Standing
from cannery.verify.probing import NoFactsError
from tests.unit.audits import OURS, PROJECT, found_with
from tests.unit.smokes import good_items, printed

NONE = Result(check="device/used", standing=Standing.NOT_RUN, text="No NPU.", fix="Add --simulate.")
DEVICES = {"npu": npus([0, 1, 2, 3]), "simulated": simulated_device(Path("/host"))}


@dataclass
class Engine:
    """An engine with one image, and one container that runs."""

    said: str = field(default_factory=lambda: printed(good_items()))
    device: str = "npu"
    environment: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    specs: list[str] = field(default_factory=list)

    @contextmanager
    def container(self, _: str, __: str, spec: RunSpec, ___: None) -> Iterator[str]:
        self.specs.append(str(spec.kind))
        yield "c1"

    def run_program(
        self, _: str, name: str, seconds: float, environment: Mapping[str, str]
    ) -> tuple[int, str]:
        assert name == "smoke.py"
        self.settings = json.loads(environment["CANNERY_SMOKE"])
        assert seconds > self.settings["seconds"]
        return 0, self.said

    def device_for(self, *_: object, **__: object) -> tuple[RunSpec | None, list[Result]]:
        spec = DEVICES.get(self.device)
        return spec, [] if spec else [NONE]

    def check_running(self, _: str) -> dict[str, Any]:
        return {"Config": {"Env": self.environment}, "Image": "sha256:1"}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(containers, "container", made.container)
    monkeypatch.setattr(containers, "check_running", made.check_running)
    monkeypatch.setattr(client, "image_architecture", lambda _: "arm64")
    monkeypatch.setattr(smoke, "read_config", lambda _: OURS)
    monkeypatch.setattr(smoke, "probe", lambda _: found_with())
    monkeypatch.setattr(smoke, "hardware", lambda kind, machine: f"{machine}, {kind}")
    monkeypatch.setattr(smoke, "run_program", made.run_program)
    monkeypatch.setattr(smoke, "device_for", made.device_for)
    return made


def in_image(**options: Any) -> Document:
    return smoke.smoke_image(PROJECT, SmokeOptions(image="mine:1", **options))


def test_an_image(engine: Engine) -> None:
    found = in_image(cards=4)
    assert engine.specs == ["none", "npu"]
    assert engine.settings == {"cards": 4, "seconds": 60, "simulated": False}
    assert (found.where, found.hardware, found.failures) == ("mine:1", "aarch64, npu", ())


def test_a_simulated_device_has_more_time(engine: Engine) -> None:
    engine.device = "simulated"
    engine.said = printed(good_items(simulated=True))
    found = in_image(simulate=True)
    assert engine.settings == {"cards": 0, "seconds": 600, "simulated": True}
    assert found.device.simulated


def test_a_container(engine: Engine) -> None:
    options = SmokeOptions(container="c", seconds=30)
    assert not smoke.smoke_container(options).device.simulated
    assert engine.settings == {"cards": 0, "seconds": 30, "simulated": False}
    engine.environment.append("CANNERY_SIMULATED=1")
    assert smoke.smoke_container(options).device.simulated
    assert engine.settings["simulated"] is True


def test_a_container_whose_device_says_that_it_is_simulated(engine: Engine) -> None:
    engine.said += "cannery: simulated Ascend device; results say nothing about an NPU\n"
    assert smoke.smoke_container(SmokeOptions(container="c")).device.simulated


def test_no_device(engine: Engine) -> None:
    engine.device = ""
    with pytest.raises(EngineError, match=r"No NPU\. Add --simulate\."):
        in_image()
    assert engine.specs == ["none"]


def test_too_many_cards(engine: Engine) -> None:
    with pytest.raises(UsageError, match="--cards 5 is more than this host has, 4"):
        in_image(cards=5)


def test_no_result(engine: Engine) -> None:
    engine.said = "cannery-sh: machine\taarch64\n"
    with pytest.raises(EngineError, match=r"mine:1 has no Python of 3\.5 or later"):
        in_image()
    engine.said = "Segmentation fault\ncannery-other: 1\n"
    with pytest.raises(EngineError) as caught:
        in_image()
    assert str(caught.value) == (
        "mine:1: no card could be used: the script ended without a word. Its last lines:\n"
        "Segmentation fault\n Check the devices with 'ascend-doctor' in the container."
    )


def test_nothing_can_be_run(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(_: str) -> None:
        raise NoFactsError("no shell")

    monkeypatch.setattr(smoke, "probe", probe)
    with pytest.raises(EngineError, match="nothing can be run in mine:1: no shell"):
        in_image()
