# SPDX-License-Identifier: Apache-2.0
"""Real targets where other tests have small ones: from a bundle, and all checks of an audit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.matrix.project import Project

from .conftest import MAIN, ROOT, Built, Said
from .rooms import equal, equal_layers, machine, room

APPLICATION = "py39-torch231-cann8t39-llamafactory090"


def test_real_targets_from_a_bundle(project: Project, main: Built, tmp_path: Path) -> None:
    """An empty engine without a network builds and checks them; equal components are one layer."""
    file = tmp_path / "x.bundle"
    targets = ["--target", MAIN, "--target", APPLICATION]
    (tmp_path / "maker").mkdir()
    with machine(tmp_path / "maker", 3) as maker:
        said = maker.build_py("bundle", *targets, "--simulate", "--out", str(file))
        assert said.code == 0, said.text[-4000:]
    application = project.matrix().targets[APPLICATION]
    with room(tmp_path, 7, ROOT) as offline:
        offline.from_bundle(file, main.target, application)
        same = equal_layers(project, main.target, application)
        assert equal(offline.layers(main.target), offline.layers(application)) == same
    assert {"os", "wheels-torch"} <= same


@pytest.mark.parametrize("option", [[], ["--simulate"]])
def test_every_check_of_the_main_image(
    main: Built, build_py: Callable[..., Said], tmp_path: Path, option: list[str]
) -> None:
    report = tmp_path / "report.json"
    said = build_py("test", "--image", main.image, "--json", str(report), *option)
    assert said.code == 0, said.text[-4000:]
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (found["origin"], found["verdict"]) == ("ours", "passed")
