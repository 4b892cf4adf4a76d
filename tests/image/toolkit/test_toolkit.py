# SPDX-License-Identifier: Apache-2.0
"""The CANN toolkit."""

from __future__ import annotations

import re
from typing import Any

import pytest
from testinfra.backend.base import CommandResult

Facts = dict[str, Any]


@pytest.mark.inherited
def test_version(facts: Facts, record: Facts) -> None:
    """The installed toolkit says that it is the target's version."""
    info = facts["infos"]["toolkit"]
    assert info["version"] == record["components"]["toolkit"]
    assert info["arch"] == record["machine"]


@pytest.mark.inherited
def test_version_cfg(facts: Facts, record: Facts) -> None:
    """The files that name a version of the toolkit's parts name the same one."""
    # version.cfg, which CANN before 8.5 has, also names the operators, which may be of another.
    lines = [line for line in facts["version_cfg"].splitlines() if "_running_version" in line]
    lines = [line for line in lines if not line.startswith("opp_kernel")]
    assert lines or facts["parts"]
    version = record["components"]["toolkit"]
    assert not [line for line in lines if not line.endswith(f":{version}]")], lines
    assert {*facts["parts"].values()} <= {version}


def test_environment_is_what_set_env_sets(facts: Facts) -> None:
    """ENV has exactly the values that the installed set_env.sh scripts set."""
    sourced = facts["sourced"]
    assert "ASCEND_HOME_PATH" in sourced, "set_env.sh set nothing"
    ours = {name: facts["environment"].get(name, "") for name in sourced}
    assert {name: _searched(name, value) for name, value in ours.items()} == {
        name: _searched(name, value) for name, value in sourced.items()
    }


def _searched(name: str, value: str) -> list[str]:
    """What is searched, in order. A second mention of a folder changes nothing.

    Newer scripts append devlib, the stand-in for the driver, where they find no driver; an image
    must not have it, because a driver may be mounted later.
    """
    if not name.endswith("PATH"):
        return [value]
    folders = (folder.rstrip("/") for folder in value.split(":"))
    return [*dict.fromkeys(f for f in folders if not f.endswith("/devlib"))]


@pytest.mark.inherited
def test_compiler_imports(imported: Facts) -> None:
    """The modules of the operator compiler import, with all that they need of Python."""
    errors = {name: imported[name]["error"] for name in ("te", "tbe", "hccl")}
    assert not any(errors.values()), errors


@pytest.mark.inherited
@pytest.mark.runs(command="{devlib} atc --help")
def test_atc(ran: CommandResult) -> None:
    """The model converter ``atc`` starts and explains itself."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "--soc_version" in ran.stdout


@pytest.mark.inherited
@pytest.mark.device
@pytest.mark.torch
def test_loaded_library(on_device: Any, record: Facts) -> None:
    """The libascendcl.so that a process loads is this toolkit's."""
    loaded = [path for path in on_device("device")["libraries"] if "/libascendcl.so" in path]
    assert loaded, "no libascendcl.so was loaded"
    version = record["components"]["toolkit"]
    home = record["toolkit_home"].replace("latest", version)
    assert [path for path in loaded if not path.startswith(home + "/")] == []


@pytest.mark.inherited
def test_installer_record(facts: Facts) -> None:
    """Third-party builds find the toolkit through /etc/Ascend/ascend_cann_install.info."""
    # Toolkit_InstallPath before, Install_Path in later releases.
    assert re.search(r"(?m)^\w*Install_?Path=/usr/local/Ascend", facts["install_record"])


@pytest.mark.inherited
def test_files(facts: Facts) -> None:
    """What the packages' own lists of files name is there; a list may be wrong about a few."""
    assert [each for each in facts["lists"] if each["missing"] and not each["few"]] == []
