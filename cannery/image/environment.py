# SPDX-License-Identifier: Apache-2.0
"""The variables that CANN's set_env.sh scripts set, as fixed values for ENV.

Source: the ENV blocks of Ascend/cann-container-image (8.1.RC1 and 8.5.0, 910b), which mirror the
scripts; the op_tiling path from environments on real hosts; for NNAL, by release,
cann_environment.json, which names its sources. The program install-cann and the image tests compare
these values with what the installed scripts set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.model import Layout, Target

_FILE = Path(__file__).with_name("cann_environment.json")

_Values = dict[str, str | None]
"""Release to the value that holds from it on; None: the script sets the variable no more."""


def atb_variables(version: str) -> dict[str, str]:
    """Variable to value as the script of NNAL ``version`` has it, in its order.

    ``~`` and ``$ATB_HOME_PATH`` are left to the reader.
    """
    known = CannVersion.parse(version)
    selected = {name: _value(values, known) for name, values in _variables().items()}
    return {name: value for name, value in selected.items() if value is not None}


def _value(values: _Values, version: CannVersion) -> str | None:
    """The value of the newest release that is not newer than ``version`` and has a row."""
    before = max(version, _oldest())
    reached = [each for each in values if CannVersion.parse(each) <= before]
    return values[max(reached, key=CannVersion.parse)] if reached else None


@cache
def _variables() -> dict[str, _Values]:
    table: dict[str, _Values] = json.loads(_FILE.read_text(encoding="utf-8"))["atb"]
    return table


@cache
def _oldest() -> CannVersion:
    return min(CannVersion.parse(each) for values in _variables().values() for each in values)


ASCEND = "/usr/local/Ascend"
DRIVER_LIBRARIES = (
    f"{ASCEND}/driver/lib64",
    f"{ASCEND}/driver/lib64/common",
    f"{ASCEND}/driver/lib64/driver",
)
"""Mounted from the host. Only the set_env.sh of CANN 8.5 and later has these folders.

Where that finds no driver in them, it appends the toolkit's devlib (hicann/runtime,
scripts/package/runtime/set_env.sh). ENV never has devlib, because a driver may be mounted later.
"""


@dataclass(frozen=True, kw_only=True)
class _Folders:
    """The search paths that a layout's set_env.sh sets, relative to the toolkit's home."""

    programs: tuple[str, ...]
    libraries: tuple[str, ...]
    cmake: tuple[str, ...] = ()


_FOLDERS = {
    Layout.ASCEND_TOOLKIT: _Folders(
        programs=("bin", "compiler/ccec_compiler/bin", "tools/ccec_compiler/bin"),
        libraries=(
            "tools/aml/lib64",
            "tools/aml/lib64/plugin",
            "lib64",
            "lib64/plugin/opskernel",
            "lib64/plugin/nnengine",
        ),
    ),
    # Source: the script of that layout.
    Layout.CANN: _Folders(
        programs=(
            # Set by share/info/ascendnpu-ir/bin/set_env.sh, which the vendor's images source too.
            "tools/bishengir/bin",
            "bin",
            "tools/ccec_compiler/bin",
            "tools/profiler/bin",
            "tools/ascend_system_advisor/asys",
            "tools/show_kernel_debug_data",
            "tools/msobjdump",
        ),
        libraries=("lib64", "lib64/plugin/opskernel", "lib64/plugin/nnengine"),
        cmake=("toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake"),
    ),
}

_AML = ("tools/aml/lib64", "tools/aml/lib64/plugin")
_WITHOUT_AML = CannVersion.parse("9.0.0-beta.1")
"""The first release of its layout whose set_env.sh does not have these folders.

Source: hicann/runtime, scripts/package/runtime/set_env.sh of the tags v8.5.0 and v9.0.0.
"""

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

CONSTRAINT_VARIABLES = {
    "PIP_CONSTRAINT": "/usr/local/share/cannery/constraints.txt",
    "UV_CONSTRAINT": "/usr/local/share/cannery/constraints.txt",
}
"""The variables through which pip and uv read the image's constraints."""

GUARD = "/usr/local/share/cannery/python"
"""The folder through which any Python loads the guard, such as that of a virtual environment."""


def toolkit_home(target: Target) -> str:
    """The folder that ASCEND_TOOLKIT_HOME names."""
    return _home(target.cann.layout, target.cann.version)


def _home(layout: Layout, version: str) -> str:
    folder = f"cann-{version}" if layout is Layout.CANN else "ascend-toolkit/latest"
    return f"{ASCEND}/{folder}"


@dataclass(frozen=True, kw_only=True)
class PythonPaths:
    """Where an image has its interpreter.

    ``compiled`` are the folders in which Python files are compiled. CANN's are compiled into a
    layer of their own, because images with different Pythons share its layers. None are compiled
    for an interpreter that the building machine cannot have from the same place.
    """

    prefix: str
    interpreter: str
    site_packages: str
    compiled: tuple[str, ...]


def python_paths(target: Target) -> PythonPaths:
    """The paths of the image's interpreter, of its prefix and of its site-packages."""
    minor, distribution = target.python.minor, target.base.distribution
    prefix = f"/usr/local/python{minor}"
    compiled: tuple[str, ...] = ()
    site_packages = f"{prefix}/lib/python{minor}/site-packages"
    if target.python.source is PythonSource.BASE:
        prefix, site_packages = "/usr", distribution.site_packages.format(minor=minor)
        if distribution.native_python:
            standard = (f"/usr/lib/python{minor}", "/usr/lib/python3")
            compiled = (*standard, site_packages, "/opt", ASCEND)
    return PythonPaths(
        prefix=prefix,
        interpreter=f"{prefix}/bin/python{minor}",
        site_packages=site_packages,
        compiled=compiled,
    )


def image_environment(target: Target) -> Mapping[str, str]:
    """The variables of CANN in the image's ENV, in the order of the Dockerfile."""
    return _environment(
        target.cann.layout,
        target.cann.version,
        target.machine,
        target.nnal.version if target.with_nnal else "",
        target.cxx_abi,
    )


@cache
def _environment(
    layout: Layout, version: str, machine: str, nnal: str, abi: int
) -> Mapping[str, str]:
    """The variables for a toolkit and, unless it is empty, for the release ``nnal`` of NNAL.

    ``abi`` is the C++ ABI of its libraries. Many targets have the same variables, and each is asked
    for them several times.
    """
    home = _home(layout, version)
    tbe = f"{home}/opp/built-in/op_impl/ai_core/tbe"
    env = {
        "ASCEND_TOOLKIT_HOME": home,
        "ASCEND_HOME_PATH": home,
        "ASCEND_AICPU_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "TOOLCHAIN_HOME": f"{home}/toolkit",
        "PYTHONPATH": f"{home}/python/site-packages:{tbe}:{GUARD}",
    }
    folders = _FOLDERS[layout]
    path = [*(f"{home}/{folder}" for folder in folders.programs), *SYSTEM_PATH]
    libraries = [
        *(f"{home}/{folder}" for folder in folders.libraries),
        f"{tbe}/op_tiling/lib/linux/{machine}",
        *(f"{home}/{folder}" for folder in _late_libraries(layout, version)),
        *DRIVER_LIBRARIES,
    ]
    if folders.cmake:
        env["CMAKE_PREFIX_PATH"] = ":".join(f"{home}/{folder}" for folder in folders.cmake)
    if nnal:
        atb = f"{ASCEND}/nnal/atb/latest/atb/cxx_abi_{abi}"
        env |= {"ATB_HOME_PATH": atb} | _atb_settings(nnal, atb)
        path.insert(0, f"{atb}/bin")
        libraries = [f"{atb}/lib", f"{atb}/examples", f"{atb}/tests/atbopstest", *libraries]
    return env | {"PATH": ":".join(path), "LD_LIBRARY_PATH": ":".join(libraries)}


def environment_steps(target: Target) -> list[Mapping[str, str]]:
    """``image_environment`` as the instructions ENV set it: the toolkit's, then NNAL's.

    As CANN's scripts do, NNAL's puts its folders before those that are there.
    """
    release = target.cann
    toolkit = _environment(release.layout, release.version, target.machine, "", 0)
    if not target.with_nnal:
        return [toolkit]
    nnal = {
        name: value.removesuffix(toolkit[name]) + f"${name}" if name in toolkit else value
        for name, value in image_environment(target).items()
        if value != toolkit.get(name)
    }
    return [toolkit, nnal]


def _atb_settings(version: str, home: str) -> dict[str, str]:
    """What NNAL's set_env.sh sets beside its home and search paths."""
    # ENV has one folder for the logs of every user, where the script has the user's home.
    known = {"~": "/tmp", "$ATB_HOME_PATH": home, "": '""'}  # noqa: S108
    return {name: known.get(value, value) for name, value in atb_variables(version).items()}


def _late_libraries(layout: Layout, version: str) -> tuple[str, ...]:
    """What the release's set_env.sh has after the operators' folder, relative to the home."""
    is_old = layout is Layout.ASCEND_TOOLKIT
    return () if is_old or CannVersion.parse(version) >= _WITHOUT_AML else _AML


def full_environment(target: Target) -> dict[str, str]:
    """All variables of the image's ENV, also the application's, with unquoted values."""
    application = target.application.environment if target.application else {}
    every = {**image_environment(target), **CONSTRAINT_VARIABLES, **application}
    return {name: value.strip('"') for name, value in every.items()}
