# SPDX-License-Identifier: Apache-2.0
"""``test --simulate`` where the image exists and its simulated driver does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cannery.cli import cmd_test
from cannery.cli.parser import parse
from cannery.deploy.run_spec import RunSpec, no_device, simulated_device
from cannery.engine import client as engine
from cannery.verify import devices
from tests.unit.matrices import CHECKOUT

TARGET = "py39-torch231-cann8t39"


@pytest.mark.parametrize("words", [[], ["--image", "registry.example.com/ascend:1"]])
def test_the_simulated_driver_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    specs: list[RunSpec] = []
    tree = SimpleNamespace(host=tmp_path / "driver")

    def check(_: object, __: object, found: list[RunSpec], ___: object) -> None:
        specs.extend(found)

    def make(*_: Any) -> SimpleNamespace:
        tree.host.mkdir()
        return tree

    monkeypatch.setattr(engine, "connect", lambda: None)
    monkeypatch.setattr(engine, "image_id", lambda _: "sha256:1")
    monkeypatch.setattr(cmd_test, "check", check)
    monkeypatch.setattr(devices, "simulated", lambda *_: tree)
    monkeypatch.setattr(devices, "make_simulated", make)
    command, given = parse(["test", "--target", TARGET, "--simulate", *words])
    assert command.run(given, CHECKOUT) == 0
    assert specs == [no_device(), simulated_device(tree.host)]
    assert tree.host.is_dir()
