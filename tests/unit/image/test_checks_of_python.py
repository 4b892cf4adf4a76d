# SPDX-License-Identifier: Apache-2.0
"""What a target's own requirements bring is no mistake of its image."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CHECKS = Path(__file__).parents[2] / "image" / "python" / "test_python.py"
PIP = ("pip", "pip3", "pip3.9")


@pytest.fixture(autouse=True)
def marker_of_the_checks(pytestconfig: pytest.Config) -> None:
    pytestconfig.addinivalue_line("markers", "runs(command): see tests/image/conftest.py")


def check(*programs: str, uv: str = "", wheels: tuple[str, ...] = ()) -> None:
    """Run the check of pip in an image with these programs; ``uv`` is the path of uv's."""
    spec = importlib.util.spec_from_file_location("checks_of_python", CHECKS)
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    said = "\n".join([*programs, "pip 21.2.4", *([uv] if uv else [])]) + "\n"
    host = SimpleNamespace(run=lambda _: SimpleNamespace(stdout=said, rc=0 if uv else 127))
    record = {"components": {"python": "3.9.2"}, "wheels": dict.fromkeys(wheels, "1")}
    module.test_pip_and_venv(host, record)


def test_pip_alone() -> None:
    check(*PIP)


def test_packages_whose_programs_are_named_like_pip() -> None:
    check("pip", "pip-compile", "pip-sync", "pip3", "pip3.9", "pipdeptree", "pipx")


def test_a_required_uv() -> None:
    check(*PIP, uv="/usr/local/bin/uv", wheels=("uv",))


@pytest.mark.parametrize("programs", [("pip", "pip3"), (*PIP, "pip3.11"), ("pip-compile",)])
def test_programs_of_another_pip(programs: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError):
        check(*programs)


@pytest.mark.parametrize(("uv", "wheels"), [("/usr/local/bin/uv", ()), ("", ("uv",))])
def test_a_uv_that_pretends_or_is_missing(uv: str, wheels: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError):
        check(*PIP, uv=uv, wheels=wheels)
