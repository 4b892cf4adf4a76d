# SPDX-License-Identifier: Apache-2.0
"""The interpreter and the set of installed packages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]


def test_version(facts: Facts, record: Facts) -> None:
    """The interpreter has the target's version, patch level included."""
    assert facts["python"] == record["components"]["python"]


def test_is_the_only_python3(host: Host, record: Facts) -> None:
    """``python`` and ``python3`` are that interpreter."""
    result = host.run("realpath $(command -v python) $(command -v python3)")
    assert set(result.stdout.split()) == {record["interpreter"]}


def test_pip_and_venv(host: Host, record: Facts) -> None:
    """pip's programs are named after this Python, venv works, and uv is there only if required."""
    minor = ".".join(record["components"]["python"].split(".")[:2])
    command = "ls /usr/local/bin | grep ^pip; python3 -m ensurepip --version; command -v uv"
    *programs, ensurepip = host.run(command).stdout.splitlines()
    has_uv = ensurepip.endswith("/uv")
    if has_uv:
        ensurepip = programs.pop()
    # Other packages have programs whose names begin so.
    assert [each for each in programs if re.fullmatch(r"pip[0-9.]*", each)] == [
        *("pip", "pip3", f"pip{minor}")
    ]
    assert ensurepip.startswith("pip ")
    assert has_uv is ("uv" in record["wheels"])


def test_wheels_are_where_pip_puts_them(host: Host, record: Facts) -> None:
    """pip would install packages, data and headers into the folders in which they are."""
    asked = "from pip._internal.locations import get_scheme as s; x = s('x')"
    said = host.check_output("python3 -c %s", f"{asked}; print(x.purelib, x.data, x.headers)")
    site = record["site_packages"]
    prefix, minor = site.rsplit("/", 3)[0], record["components"]["python"].rpartition(".")[0]
    home = prefix if minor in ("3.7", "3.8", "3.9") else record["interpreter"].rsplit("/", 2)[0]
    assert said.split() == [site, prefix, f"{home}/include/python{minor}/x"]


def test_packages(facts: Facts, record: Facts) -> None:
    """Every locked wheel is installed in its locked version."""
    found = {name: each["version"] for name, each in facts["distributions"].items()}
    assert {name: found.get(name) for name in record["wheels"]} == record["wheels"]


@pytest.mark.runs(command="pip check")
def test_pip_check(ran: CommandResult, record: Facts) -> None:
    """``pip check`` finds the packages consistent, but for what the matrix overrides."""
    said = (ran.stdout + ran.stderr).splitlines()
    expected = [f"{verb} {n}" for verb in ("requires", "requirement") for n in record["overridden"]]
    unexpected = [line for line in said if not any(text in line for text in expected)]
    assert ran.rc == 0 or not unexpected, unexpected


def test_py_spy(host: Host) -> None:
    """py-spy, which shows where a training hangs, is there and runs."""
    assert host.run("py-spy --version").rc == 0
