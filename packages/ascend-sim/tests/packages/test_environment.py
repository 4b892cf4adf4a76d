# SPDX-License-Identifier: Apache-2.0
"""What the set_env.sh files set, in bash: those of NNAL and of 8.5 on are for bash alone."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .conftest import ARCH, VARIABLES, Machine, Packed

LD, PYTHON, CMAKE, PATH = "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH", "PATH"
DRIVER_FOLDERS = [f"/usr/local/Ascend/driver/lib64{f}" for f in ("", "/common", "/driver")]
HOST_HAS_DRIVER = any(Path(f, "libascend_hal.so").exists() for f in DRIVER_FOLDERS)
START = {"PATH": "/usr/bin:/bin:/sbin", "HOME": "/root"}


def sourced(
    script: Path, arguments: str = "", start: dict[str, str] | None = None, shell: str = "bash -e"
) -> subprocess.CompletedProcess[str]:
    code = f"set -- {arguments}; . {shlex.quote(str(script))}; /usr/bin/env -0"
    environment = {**START, **(start or {})}
    return subprocess.run(
        [*shell.split(), "-c", code], capture_output=True, text=True, env=environment, check=False
    )


def source(
    script: Path, arguments: str = "", start: dict[str, str] | None = None
) -> dict[str, str]:
    """The environment after sourcing, in which nothing was said on stderr."""
    result = sourced(script, arguments, start)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    pairs = (item.split("=", 1) for item in result.stdout.split("\0") if item)
    ignored = {"_", "PWD", "SHLVL", "OLDPWD"}
    return {name: value for name, value in pairs if name not in ignored}


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


def test_toolkit_of_the_old_layout(installed: Callable[[str], Machine]) -> None:
    machine = installed("t39")
    home = f"{machine.ascend}/ascend-toolkit/latest"
    tbe = f"{home}/opp/built-in/op_impl/ai_core/tbe"
    environment = source(machine.ascend / "ascend-toolkit/set_env.sh")
    libraries = ["tools/aml/lib64", "tools/aml/lib64/plugin", "lib64"]
    libraries += ["lib64/plugin/opskernel", "lib64/plugin/nnengine"]
    libraries += [f"opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/{ARCH}"]
    programs = ("bin", "compiler/ccec_compiler/bin", "tools/ccec_compiler/bin")
    assert environment == {
        "HOME": "/root",
        **homes(home),
        # As the vendor's: an empty element where a list was empty.
        LD: f"{joined(home, libraries)}:",
        PYTHON: f"{home}/python/site-packages:{tbe}:",
        PATH: f"{joined(home, programs)}:{START[PATH]}",
    }
    assert_folders(home, environment)


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
        PATH: joined(home, CANN_PROGRAMS),
        LD: ":".join([joined(home, CANN_LIBRARIES), *DRIVER_FOLDERS]),
        PYTHON: joined(home, ("python/site-packages", CANN_LIBRARIES[3].split("/op_t")[0])) + ":",
        CMAKE: joined(home, ("toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake")),
    }


def on_aarch64(machine: Machine) -> dict[str, str]:
    """The PATH to start with, on which ``arch`` says aarch64."""
    return {PATH: f"{machine.root / 'bin'}:{START[PATH]}"}


@pytest.mark.parametrize(
    "script", ["ascend-toolkit/set_env.sh", "cann/set_env.sh", "cann-9.1.1/set_env.sh"]
)
def test_toolkit_of_the_new_layout(installed: Callable[[str], Machine], script: str) -> None:
    machine = installed("a3")
    start = on_aarch64(machine)
    home = f"{machine.ascend}/cann-9.1.1"
    environment = source(machine.ascend / script, start=start)
    expected = {"HOME": "/root", **cann_variables(home)}
    expected[PATH] += f":{start[PATH]}"
    if not HOST_HAS_DRIVER:
        expected[LD] += f":{home}/devlib"
    assert environment == expected
    assert_folders(home, environment)


def test_sbin_is_put_on_path(installed: Callable[[str], Machine]) -> None:
    found = source(installed("cann91").ascend / "cann/set_env.sh", start={PATH: "/usr/bin:/bin"})
    assert found[PATH].endswith(":/usr/bin:/bin:/sbin")


def test_the_compiler_is_put_on_path(installed: Callable[[str], Machine], tmp_path: Path) -> None:
    home = installed("cann91").ascend / "cann-9.1.1"
    found = source(home / "share/info/ascendnpu-ir/bin/set_env.sh")
    assert found == {"HOME": "/root", PATH: f"{home}/tools/bishengir/bin:{START[PATH]}"}
    kernel = tmp_path / "kernel.mlir"
    kernel.write_text("module {}\n")
    code = 'bishengir-compile "$1" --enable-hfusion-compile=true -o "$2" && hivmc'
    # As triton-ascend calls it, which gives the output's name without .o.
    for output in (tmp_path / "kernel", tmp_path / "other.o"):
        words = ["bash", "-c", code, "x", str(kernel), str(output)]
        done = subprocess.run(words, env=found, capture_output=True, text=True, check=False)
        assert "hivmc (simulated)" in done.stderr
        assert output.with_suffix(".o").read_text().startswith("SIMULATED by cannery")
    helped = ["bash", "-c", "bishengir-compile --help"]
    said = subprocess.run(helped, env=found, capture_output=True, text=True, check=True).stdout
    assert "limit-auto-multi-buffer-buffer" in said
    # As triton-ascend names it.
    output.unlink()
    subprocess.run([*words[:-1], str(output.with_suffix(""))], env=found, check=False)
    assert output.read_text().startswith("SIMULATED by cannery")
    kernel.unlink()
    done = subprocess.run(words, env=found, capture_output=True, text=True, check=False)
    assert f"there is no input file '{kernel}'" in done.stderr


def test_the_first_release_of_the_new_layout_has_two_more_folders(
    installed: Callable[[str], Machine],
) -> None:
    machine = installed("cann85")
    home = f"{machine.ascend}/cann-8.5.0"
    environment = source(machine.ascend / "cann/set_env.sh")
    found = environment[LD].split(":")
    assert [each for each in found if "/aml/" in each] == [
        f"{home}/tools/aml/lib64",
        f"{home}/tools/aml/lib64/plugin",
    ]
    assert found.index(f"{home}/tools/aml/lib64/plugin") + 1 == found.index(DRIVER_FOLDERS[0])
    assert_folders(home, environment)


@pytest.mark.parametrize("place", ["driver/lib64", "driver/lib64/driver"])
def test_devlib_is_left_out_where_the_driver_is(
    installed: Callable[[str], Machine], tmp_path: Path, place: str
) -> None:
    machine = installed("a3")
    folder = tmp_path / place
    folder.mkdir(parents=True)
    start = {**on_aarch64(machine), LD: str(folder)}
    script = machine.ascend / "cann/set_env.sh"
    without = source(script, start=start)
    (folder / "libascend_hal.so").touch()
    found = source(script, start=start)
    expected = cann_variables(f"{machine.ascend}/cann-9.1.1")[LD]
    assert found[LD] == f"{expected}:{folder}"
    if not HOST_HAS_DRIVER:
        assert without[LD] == f"{expected}:{folder}:{machine.ascend}/cann-9.1.1/devlib"


def test_new_layout_replaces_earlier_settings(installed: Callable[[str], Machine]) -> None:
    """As in a container whose ENV has it all, also from another version; the rest is kept."""
    machine = installed("a3")
    start = on_aarch64(machine)
    script = machine.ascend / "cann/set_env.sh"
    once = source(script, start=start)
    other = machine.ascend / "cann-9.0.0"
    beside = f"{machine.ascend}/cannery:/my own/*"
    before = {PYTHON: f"{other}/x:{beside}", PATH: f"{other}/bin:{start[PATH]}"}
    replaced = source(script, start=before)
    assert replaced[PATH] == once[PATH]
    assert replaced[PYTHON] == f"{once[PYTHON]}{beside}"
    twice = source(script, start=once)
    # Only these are taken out: CMAKE_PREFIX_PATH and the driver's folders are named once more.
    for name in (LD, CMAKE):
        assert [*dict.fromkeys(twice[name].split(":"))] == once[name].split(":")
    assert {**twice, LD: "", CMAKE: ""} == {**once, LD: "", CMAKE: ""}


@pytest.mark.parametrize("release", ["cann91", "t39"])
def test_earlier_path_entries_come_last(installed: Callable[[str], Machine], release: str) -> None:
    script = installed(release).ascend / "ascend-toolkit/set_env.sh"
    found = source(script, start={LD: "/mine", PYTHON: "/mine"})
    assert found[PYTHON].endswith(":/mine")
    assert "/mine" in found[LD].split(":")[-2:]
    assert not [name for name in found if name.startswith("ascend_")]


@pytest.mark.parametrize("release", ["t39", "rc3", "cann85", "cann91"])
@pytest.mark.parametrize("abi", ["0", "1"])
def test_atb(
    request: pytest.FixtureRequest, installed: Callable[[str], Machine], release: str, abi: str
) -> None:
    machine = installed(release)
    packed: Packed = request.getfixturevalue(release)
    home = f"{machine.ascend}/nnal/atb/latest/atb/cxx_abi_{abi}"
    found = source(machine.ascend / "nnal/atb/set_env.sh", f"--cxx_abi={abi}")
    variables = VARIABLES[packed.spec["cann"]]
    meant = {"~": "/root", "$ATB_HOME_PATH": home}
    assert found == {
        "HOME": "/root",
        "ATB_HOME_PATH": home,
        LD: joined(home, ("lib", "examples", "tests/atbopstest")) + ":",
        PATH: f"{home}/bin:{START[PATH]}",
        **{name: meant.get(value, value) for name, value in variables.items()},
    }


@pytest.mark.parametrize(
    ("answer", "abi"), [("echo False", "0"), ("echo True", "1"), ("echo no torch >&2; exit 1", "1")]
)
def test_atb_asks_torch_for_the_abi(
    installed: Callable[[str], Machine], tmp_path: Path, answer: str, abi: str
) -> None:
    (tmp_path / "python3").write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "python3").chmod(0o755)
    script = installed("t39").ascend / "nnal/atb/set_env.sh"
    found = source(script, "", {PATH: f"{tmp_path}:{START[PATH]}"})
    assert found["ATB_HOME_PATH"].endswith(f"cxx_abi_{abi}")


def test_atb_reads_an_unset_variable(installed: Callable[[str], Machine]) -> None:
    script = installed("t39").ascend / "nnal/atb/set_env.sh"
    result = sourced(script, "--cxx_abi=1", shell="bash -eu")
    assert result.returncode != 0
    assert "ZSH_VERSION: unbound variable" in result.stderr


@pytest.mark.parametrize(
    ("release", "script"), [("cann91", "cann/set_env.sh"), ("t39", "nnal/atb/set_env.sh")]
)
def test_other_shells_than_bash_cannot_source_them(
    installed: Callable[[str], Machine], release: str, script: str
) -> None:
    if os.path.realpath("/bin/sh").endswith("bash"):
        pytest.skip("sh is bash here")
    result = sourced(installed(release).ascend / script, "--cxx_abi=1", shell="sh -e")
    assert "ASCEND_HOME_PATH" not in result.stdout
    assert "ATB_HOME_PATH" not in result.stdout
