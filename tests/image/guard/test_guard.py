# SPDX-License-Identifier: Apache-2.0
"""The image keeps what fits its CANN."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]

CONSTRAINTS = "/usr/local/share/cannery/constraints.txt"


def test_constraints(facts: Facts, record: Facts) -> None:
    """pip and uv read constraints that the installed versions fit, with a reason each."""
    lines = [line for line in facts["constraints"].splitlines() if not line.startswith("#")]
    assert [line.partition("  # ")[0] for line in lines] == record["held"]
    assert all(line.partition("  # ")[2] for line in lines)
    held = {canonicalize_name(each.name): each for each in map(Requirement, record["held"])}
    for name, each in facts["distributions"].items():
        if name in held:
            assert held[name].specifier.contains(each["version"], prereleases=True), name
    framework = {"torch", "torch_npu", "mindspore"} & {*record["components"]}
    assert (
        {canonicalize_name(each) for each in framework} | {"numpy"}
        <= held.keys()
        <= facts["distributions"].keys()
    )


@pytest.mark.inherited
def test_each_package_has_one_version(facts: Facts) -> None:
    """No wheel was unpacked over another, which would leave both wheels' metadata."""
    assert facts["twice"] == {}


def test_the_guard_is_in_virtual_environments(host: Host) -> None:
    """A virtual environment has the guard, which warns there of another torch."""
    script = (
        "python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c %s; rm -r /tmp/venv"
    )
    said = host.check_output(script, "import sys; print('cannery_guard' in sys.modules)")
    assert said == "True"


def _install(wanted: str) -> str:
    return f"{{trust}} PIP_RETRIES=0 PIP_TIMEOUT=10 pip install {wanted}"


def _held(record: Facts) -> str:
    """The image's constraint on torch, as ``torch==2.9.0+cpu``."""
    [held] = [text for text in record["held"] if text.startswith("torch==")]
    return str(held)


def _another_torch(record: Facts) -> str:
    held = _held(record).partition("+")[0]
    return _install("torch==2.4.0" if held != "torch==2.4.0" else "torch==2.5.1")


def _torchvision_of_another(record: Facts) -> str:
    is_2_7_1 = _held(record).partition("+")[0] == "torch==2.7.1"
    return _install("torchvision==0.21.0" if is_2_7_1 else "torchvision==0.22.1")


def _torch(host: Host, record: Facts) -> list[str]:
    """The version of each torch whose metadata is there."""
    return [
        name[len("torch-") : -len(".dist-info")]
        for name in host.check_output("ls -1 %s", record["site_packages"]).splitlines()
        if name.startswith("torch-") and name.endswith(".dist-info")
    ]


@pytest.mark.inherited
@pytest.mark.torch
@pytest.mark.runs(command=_another_torch)
def test_pip_refuses_another_torch(
    host: Host, record: Facts, locked: Any, ran: CommandResult
) -> None:
    """``pip install torch==2.4.0`` is refused, changes nothing, and says what to do."""
    said = ran.stdout + ran.stderr
    assert ran.rc != 0, said
    assert f"constraint) {_held(record)}" in said, said
    assert CONSTRAINTS in said and "unset PIP_CONSTRAINT" in said, said
    [torch] = _torch(host, record)
    assert torch in locked("torch")


@pytest.mark.torch
@pytest.mark.runs(command=_torchvision_of_another)
def test_pip_refuses_a_package_that_brings_another_torch(
    host: Host, record: Facts, locked: Any, ran: CommandResult
) -> None:
    """``pip install torchvision==0.22.1``, which wants torch 2.7.1, is refused too."""
    said = ran.stdout + ran.stderr
    assert ran.rc != 0, said
    if "depends on torch==" not in said:
        pytest.skip("no package index can be reached from the container")
    assert CONSTRAINTS in said and "unset PIP_CONSTRAINT" in said, said
    [torch] = _torch(host, record)
    assert torch in locked("torch")
