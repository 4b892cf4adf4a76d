# SPDX-License-Identifier: Apache-2.0
"""``diff`` of the two images that 'nox -s image' has built."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from cannery.common.references import image_name
from cannery.engine import client as engine

from .conftest import MAIN, ROOT, SECOND


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    for each in (SECOND, MAIN):
        if not engine.image_id(image_name(each, simulate=True)):
            pytest.fail(f"there is no image of {each}; 'nox -s image' builds it")
    names = [image_name(each, simulate=True) for each in (SECOND, MAIN)]
    argv = [sys.executable, str(ROOT / "build.py"), "diff", *names, "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_diff_lists_the_changed_packages(found: dict[str, Any]) -> None:
    sections = found["sections"]
    assert sections["components"]["changed"]["torch"] == ["2.1.0", "2.3.1"]
    assert sections["wheels"]["changed"]["torch"] == ["2.1.0", "2.3.1"]
    assert sections["wheels"]["equal"] > 30
    assert sections["vendor"]["changed"]["toolkit"] == ["8.0.RC2", "8.0.T39"]
    assert sections["labels"]["changed"]["io.cannery.target"] == [SECOND, MAIN]


def test_layers_have_names_and_sizes(found: dict[str, Any]) -> None:
    layers = {each["name"]: each for each in found["layers"]}
    assert layers["base"]["state"] == "equal"
    assert layers["wheels-torch"]["state"] == "changed"
    assert all(size > 10**8 for size in layers["wheels-torch"]["sizes"])
    # Base and CANN's wheels are most of the image, and shared.
    assert layers["wheels-cann"]["state"] == "equal"
    unpacked = sum(each["sizes"][1] for each in layers.values())
    assert unpacked == pytest.approx(found["after"]["size"], rel=0.05)


def test_an_image_equals_itself() -> None:
    argv = [sys.executable, str(ROOT / "build.py"), "diff", f"{MAIN}-sim", f"{MAIN}-sim"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nno difference\n")
