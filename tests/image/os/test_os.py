# SPDX-License-Identifier: Apache-2.0
"""The image as a file system and as an environment."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]


@pytest.mark.inherited
def test_architecture(facts: Facts, record: Facts) -> None:
    """The container runs on the target's architecture."""
    assert facts["machine"] == record["machine"]


@pytest.mark.inherited
def test_elf_files(facts: Facts, record: Facts) -> None:
    """Every program and library of CANN and of the wheels is for that architecture."""
    assert facts["elf"]["counts"].get(record["machine"], 0) > 100, facts["elf"]
    assert facts["elf"]["wrong"] == []


def test_nothing_left_over(facts: Facts) -> None:
    """No installer, archive, cache or package list is left."""
    assert facts["left_overs"] == []


@pytest.mark.inherited
def test_stand_ins(facts: Facts, record: Facts, simulated: bool) -> None:
    """Each package of the vendor's is a stand-in in a simulated image, and none is in another."""
    packages = {path.rpartition("/")[2] for path in facts["stand_ins"] if "/simulated/" in path}
    found = {_component(package) for package in packages}
    found |= {"apex"} & {path.split("/")[-2] for path in facts["stand_ins"]}
    expected = {"toolkit", "kernels", "nnal", "apex"} & {*record["components"]}
    assert found == (expected if simulated else set()), facts["stand_ins"]
    assert simulated or not facts["stand_ins"]


def _component(package: str) -> str:
    """The component of a package such as ``Ascend-cann-910b-ops``."""
    name = package.rpartition("-")[2]
    return name if name in ("toolkit", "nnal") else "kernels"


@pytest.mark.inherited
def test_a_simulated_image_says_so(facts: Facts, simulated: bool) -> None:
    """The environment and target.json say of a simulated image that it is one, and of no other."""
    assert facts["environment"].get("CANNERY_SIMULATED") == ("1" if simulated else None)
    assert facts["own_record"].get("simulated", False) is simulated


def test_user_of_the_devices(host: Host) -> None:
    """The user to whom the driver gives its devices is in the image, with a home of its own."""
    said = host.check_output("getent passwd 1000; getent group 1000; stat -c %u:%g ~HwHiAiUser")
    user, group, home = said.splitlines()
    assert user == "HwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash"
    assert group == "HwHiAiUser:x:1000:"
    assert home == "1000:1000"
    assert host.check_output("su - HwHiAiUser -c 'id --user --name; id --groups; pwd'") == (
        "HwHiAiUser\n1000\n/home/HwHiAiUser"
    )


def test_no_path_gives_rights(facts: Facts) -> None:
    """No program is setuid, and a user can write to its home and /tmp only."""
    assert facts["rights"] == ["/home/HwHiAiUser"]


def test_environment_without_profile(facts: Facts, record: Facts) -> None:
    """``docker exec`` has the whole environment: nothing needs a shell profile."""
    environment = facts["environment"]
    assert {name: environment.get(name) for name in record["environment"]} == record["environment"]


def test_environment_of_a_login_shell(host: Host, facts: Facts, record: Facts) -> None:
    """A login shell that begins with an empty environment has all of it too."""
    result = host.run("env -i HOME=/root bash -lc env")
    found = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    for name, value in record["environment"].items():
        if ":" in value:
            assert [each for each in value.split(":") if each not in found[name].split(":")] == []
        else:
            assert found.get(name) == value, name
    assert found["PIP_CONSTRAINT"] == facts["environment"]["PIP_CONSTRAINT"]


def test_search_paths_have_no_empty_element(facts: Facts) -> None:
    """No search path has an empty element, which would mean the current directory."""
    for name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH"):
        elements = facts["environment"][name].split(":")
        assert "" not in elements, f"{name}={facts['environment'][name]}"
        assert not [element for element in elements if "devlib" in element]


@pytest.mark.inherited
def test_scripts_have_an_interpreter(facts: Facts) -> None:
    """Every script in /usr/local/bin names an interpreter that exists."""
    assert facts["broken_scripts"] == []


def test_tools_for_building_extensions(host: Host) -> None:
    """A compiler, make and Python's headers are there, for extensions built on first use."""
    script = 'g++ --version && make --version && test -f "$(python3 -c %s)/Python.h"'
    result = host.run(script, "import sysconfig; print(sysconfig.get_paths()['include'])")
    assert result.rc == 0, result.stderr
