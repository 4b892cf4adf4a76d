# SPDX-License-Identifier: Apache-2.0
"""What the set_env.sh files set, in sh and in bash."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from .conftest import ARCH, NNAL, TOOLKIT, Machine, Packed

LD, PYTHON, CMAKE, PATH = "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH", "PATH"
DRIVER_FOLDERS = [f"/usr/local/Ascend/driver/lib64{f}" for f in ("", "/common", "/driver")]
HOST_HAS_DRIVER = any(Path(f, "libascend_hal.so").exists() for f in DRIVER_FOLDERS)
SHELLS = [s for s in ("sh", "bash") if shutil.which(s)]


def source(
    shell: str, script: Path, arguments: str = "", start: dict[str, str] | None = None
) -> tuple[dict[str, str], str]:
    """The environment after sourcing, and what was said on stderr."""
    code = f"set -eu; set -- {arguments}; . {shlex.quote(str(script))}; /usr/bin/env -0"
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/root", **(start or {})}
    result = subprocess.run(
        [shell, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    pairs = (item.split("=", 1) for item in result.stdout.split("\0") if item)
    ignored = {"_", "PWD", "SHLVL", "OLDPWD"}
    return {name: value for name, value in pairs if name not in ignored}, result.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_toolkit_of_the_old_layout(machine: Machine, t39: Packed, shell: str) -> None:
    machine.must_install(t39.file(TOOLKIT))
    home = f"{machine.ascend}/ascend-toolkit/latest"
    tbe = f"{home}/opp/built-in/op_impl/ai_core/tbe"
    environment, _ = source(shell, machine.ascend / "ascend-toolkit/set_env.sh")
    libraries = ["tools/aml/lib64", "tools/aml/lib64/plugin", "lib64"]
    libraries += ["lib64/plugin/opskernel", "lib64/plugin/nnengine"]
    libraries += [f"opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/{ARCH}"]
    programs = ("bin", "compiler/ccec_compiler/bin", "tools/ccec_compiler/bin")
    assert environment == {
        "HOME": "/root",
        **homes(home),
        "LD_LIBRARY_PATH": joined(home, libraries),
        "PYTHONPATH": f"{home}/python/site-packages:{tbe}",
        "PATH": f"{joined(home, programs)}:/usr/bin:/bin",
    }
    assert_folders(home, environment)


def homes(home: str) -> dict[str, str]:
    return {
        "ASCEND_TOOLKIT_HOME": home,
        "ASCEND_HOME_PATH": home,
        "ASCEND_AICPU_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "TOOLCHAIN_HOME": f"{home}/toolkit",
    }


def joined(home: str, folders: Iterable[str]) -> str:
    return ":".join(f"{home}/{folder}" for folder in folders)


def assert_folders(home: str, environment: dict[str, str]) -> None:
    """All that set_env.sh names below ``home`` is there."""
    named = {folder for value in environment.values() for folder in value.split(":")}
    assert [f for f in sorted(named) if f.startswith(home) and not Path(f).is_dir()] == []


CANN_PROGRAMS = (
    "bin",
    "tools/ccec_compiler/bin",
    "tools/profiler/bin",
    "tools/ascend_system_advisor/asys",
    "tools/show_kernel_debug_data",
    "tools/msobjdump",
)
CANN_LIBRARIES = (
    "lib64",
    "lib64/plugin/opskernel",
    "lib64/plugin/nnengine",
    "opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/aarch64",
)


def cann_variables(home: str) -> dict[str, str]:
    """What the vendor's script of this layout sets below ``home``, where a driver is found."""
    return {
        **homes(home),
        "PATH": joined(home, CANN_PROGRAMS),
        "LD_LIBRARY_PATH": ":".join([joined(home, CANN_LIBRARIES), *DRIVER_FOLDERS]),
        "PYTHONPATH": joined(home, ("python/site-packages", CANN_LIBRARIES[3].split("/op_t")[0])),
        "CMAKE_PREFIX_PATH": joined(home, ("toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake")),
    }


def pretend_aarch64(machine: Machine) -> dict[str, str]:
    """The PATH to start with, on which ``uname -m`` says aarch64."""
    machine.pretend_aarch64()
    return {"PATH": f"{machine.root / 'bin'}:/usr/bin:/bin"}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "script", ["ascend-toolkit/set_env.sh", "cann/set_env.sh", "cann-9.1.1/set_env.sh"]
)
def test_toolkit_of_the_new_layout(machine: Machine, a3: Packed, shell: str, script: str) -> None:
    start = pretend_aarch64(machine)
    machine.must_install(a3.file(TOOLKIT))
    home = f"{machine.ascend}/cann-9.1.1"
    environment, _ = source(shell, machine.ascend / script, start=start)
    expected = {"HOME": "/root", **cann_variables(home)}
    expected["PATH"] += f":{start['PATH']}"
    if not HOST_HAS_DRIVER:
        expected["LD_LIBRARY_PATH"] += f":{home}/devlib"
    assert environment == expected
    assert_folders(home, environment)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_first_release_of_the_new_layout_has_two_more_folders(
    machine: Machine, cann85: Packed, shell: str
) -> None:
    machine.must_install(cann85.file(TOOLKIT))
    home = f"{machine.ascend}/cann-8.5.0"
    environment, _ = source(shell, machine.ascend / "cann/set_env.sh")
    found = environment[LD].split(":")
    assert [each for each in found if "/aml/" in each] == [
        f"{home}/tools/aml/lib64",
        f"{home}/tools/aml/lib64/plugin",
    ]
    assert found.index(f"{home}/tools/aml/lib64/plugin") + 1 == found.index(DRIVER_FOLDERS[0])
    assert_folders(home, environment)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("place", ["driver/lib64", "driver/lib64/driver"])
def test_devlib_is_left_out_where_the_driver_is(
    machine: Machine, a3: Packed, shell: str, place: str
) -> None:
    start = pretend_aarch64(machine)
    machine.must_install(a3.file(TOOLKIT))
    folder = machine.root / place
    folder.mkdir(parents=True)
    start["LD_LIBRARY_PATH"] = str(folder)
    script = machine.ascend / "cann/set_env.sh"
    without, _ = source(shell, script, start=start)
    (folder / "libascend_hal.so").touch()
    found, _ = source(shell, script, start=start)
    expected = cann_variables(f"{machine.ascend}/cann-9.1.1")["LD_LIBRARY_PATH"]
    assert found["LD_LIBRARY_PATH"] == f"{expected}:{folder}"
    if not HOST_HAS_DRIVER:
        devlib = f"{machine.ascend}/cann-9.1.1/devlib"
        assert without["LD_LIBRARY_PATH"] == f"{expected}:{folder}:{devlib}"


@pytest.mark.parametrize("shell", SHELLS)
def test_new_layout_replaces_what_was_set_before(machine: Machine, a3: Packed, shell: str) -> None:
    """As in a container whose ENV has it all, also from another version; the rest is kept."""
    start = pretend_aarch64(machine)
    machine.must_install(a3.file(TOOLKIT))
    script = machine.ascend / "cann/set_env.sh"
    once, _ = source(shell, script, start=start)
    other = machine.ascend / "cann-9.0.0"
    beside = f"{machine.ascend}/cannery:/my own/*"
    before = dict.fromkeys((PYTHON, CMAKE), f"{other}/x:{beside}")
    before[PATH] = f"{other}/bin:{start[PATH]}"
    replaced, _ = source(shell, script, start=before)
    assert replaced[PATH] == once[PATH]
    for name in (PYTHON, CMAKE):
        assert replaced[name] == f"{once[name]}:{beside}"
    twice, _ = source(shell, script, start=once)
    # The driver's folders are the host's, not this version's: they are named once more.
    libraries = twice.pop(LD).split(":")
    assert [*dict.fromkeys(libraries)] == once.pop(LD).split(":")
    assert twice == once


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("layout", ["t39", "cann85"])
@pytest.mark.parametrize("before", [None, "", "/mine", ":/mine", "/mine:", "::/m::/mine::", ":"])
def test_paths_have_no_empty_element(
    request: pytest.FixtureRequest,
    machine: Machine,
    shell: str,
    layout: str,
    before: str | None,
) -> None:
    packed: Packed = request.getfixturevalue(layout)
    machine.must_install(packed.file(TOOLKIT))
    latest = machine.ascend / "ascend-toolkit/latest"
    machine.must_install(packed.file(NNAL), ASCEND_TOOLKIT_HOME=str(latest))
    start = {} if before is None else dict.fromkeys((LD, PYTHON), before)
    first, _ = source(shell, machine.ascend / "ascend-toolkit/set_env.sh", start=start)
    second, _ = source(shell, machine.ascend / "nnal/atb/set_env.sh", "--cxx_abi=1", first)
    for name in (LD, PYTHON, CMAKE, PATH):
        elements = second.get(name, "none").split(":")
        assert "" not in elements
        assert layout == "cann85" or not [e for e in elements if "driver" in e]
    if before and "mine" in before:
        libraries = second["LD_LIBRARY_PATH"].removesuffix(f":{machine.ascend}/cann-8.5.0/devlib")
        assert libraries.endswith(":/mine")
    assert not [name for name in second if name.startswith(("ascend_", "atb_"))]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("abi", ["0", "1"])
def test_atb_takes_the_abi(machine: Machine, t39: Packed, shell: str, abi: str) -> None:
    environment, errors = atb(machine, t39, shell, f"--cxx_abi={abi}")
    home = f"{machine.ascend}/nnal/atb/latest/atb/cxx_abi_{abi}"
    assert errors == ""
    assert environment["ATB_HOME_PATH"] == home
    assert environment["ASDOPS_HOME_PATH"] == home
    assert environment["LD_LIBRARY_PATH"].split(":")[0] == f"{home}/lib"
    assert environment["PATH"].split(":")[0] == f"{home}/bin"
    assert environment["ATB_SHARE_MEMORY_NAME_SUFFIX"] == ""
    assert environment["ATB_OPSRUNNER_KERNEL_CACHE_TYPE"] == "3"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("abi", ["0", "1"])
def test_atb_of_the_new_layout(machine: Machine, cann85: Packed, shell: str, abi: str) -> None:
    environment, errors = atb(machine, cann85, shell, f"--cxx_abi={abi}")
    home = f"{machine.ascend}/nnal/atb/latest/atb/cxx_abi_{abi}"
    assert errors == ""
    assert environment == {
        "HOME": "/root",
        "ATB_HOME_PATH": home,
        "LD_LIBRARY_PATH": joined(home, ("lib", "examples", "tests/atbopstest")),
        "PATH": f"{home}/bin:{machine.root / 'bin'}:/usr/bin:/bin",
        "ATB_STREAM_SYNC_EVERY_KERNEL_ENABLE": "0",
        "ATB_STREAM_SYNC_EVERY_RUNNER_ENABLE": "0",
        "ATB_STREAM_SYNC_EVERY_OPERATION_ENABLE": "0",
        "ATB_OPSRUNNER_KERNEL_CACHE_LOCAL_COUNT": "1",
        "ATB_OPSRUNNER_KERNEL_CACHE_GLOABL_COUNT": "5",
        "ATB_WORKSPACE_MEM_ALLOC_ALG_TYPE": "1",
        "ATB_COMPARE_TILING_EVERY_KERNEL": "0",
        "ATB_SHARE_MEMORY_NAME_SUFFIX": "",
        "ATB_MATMUL_SHUFFLE_K_ENABLE": "1",
        "LCCL_DETERMINISTIC": "0",
        "LCCL_PARALLEL": "0",
    }
    assert_folders(home, environment)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("answer", "abi", "warned"), [("echo 0", "0", False), ("exit 1", "1", True)]
)
def test_atb_asks_torch_for_the_abi(
    machine: Machine, t39: Packed, shell: str, answer: str, abi: str, warned: bool
) -> None:
    machine.shim("python3", answer)
    environment, errors = atb(machine, t39, shell, "")
    assert environment["ATB_HOME_PATH"].endswith(f"cxx_abi_{abi}")
    assert ("torch cannot be asked" in errors) == warned


def test_atb_refuses_another_abi(machine: Machine, t39: Packed) -> None:
    environment, errors = atb(machine, t39, "sh", "--cxx_abi=2")
    assert "ATB_HOME_PATH" not in environment
    assert "neither 0 nor 1" in errors


def atb(machine: Machine, packed: Packed, shell: str, arguments: str) -> tuple[dict[str, str], str]:
    machine.must_install(packed.file(TOOLKIT))
    latest = str(machine.ascend / "ascend-toolkit/latest")
    machine.must_install(packed.file(NNAL), ASCEND_TOOLKIT_HOME=latest)
    start = {"PATH": f"{machine.root / 'bin'}:/usr/bin:/bin"}
    return source(shell, machine.ascend / "nnal/atb/set_env.sh", arguments, start)
