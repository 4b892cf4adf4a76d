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
from operator import itemgetter
from pathlib import Path

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.model import Layout, Target

_FILE = Path(__file__).with_name("cann_environment.json")


@cache
def atb_variables(version: str) -> Mapping[str, str]:
    """Variable to value as the script of NNAL ``version`` has it, in its order.

    ``~`` and ``$ATB_HOME_PATH`` are left to the reader.
    """
    rows = _atb_rows()
    oldest = min(first for values in rows.values() for first, _ in values)
    release = max(CannVersion.parse(version), oldest)
    variables: dict[str, str] = {}
    for name, values in rows.items():
        reached = [value for first, value in values if first <= release]
        if reached and reached[-1] is not None:
            variables[name] = reached[-1]
    return variables


@cache
def _atb_rows() -> Mapping[str, list[tuple[CannVersion, str | None]]]:
    """Variable to the values that hold from a release on; None: it is not set any more."""
    table: dict[str, dict[str, str | None]] = json.loads(_FILE.read_text(encoding="utf-8"))["atb"]
    rows = {
        name: [(CannVersion.parse(first), value) for first, value in values.items()]
        for name, values in table.items()
    }
    return {name: sorted(values, key=itemgetter(0)) for name, values in rows.items()}


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

_HOME = "ASCEND_TOOLKIT_HOME"
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


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The ENV of an image, with unquoted values.

    ``steps`` are the instructions for CANN's variables, which may use those before them: its home,
    the toolkit's, then NNAL's, which puts its folders before those that are there, as CANN's
    scripts do. ``cann`` has the variables after them, ``all`` also the application's and those for
    constraints.
    """

    toolkit_home: str
    """The folder that ASCEND_TOOLKIT_HOME names."""
    steps: tuple[Mapping[str, str], ...]
    cann: Mapping[str, str]
    all: Mapping[str, str]


def environment_of(target: Target) -> Environment:
    """The ENV of the image of ``target``."""
    toolkit = _toolkit(target.cann.layout, target.cann.version, target.machine)
    home, cann = toolkit[_HOME], toolkit
    others = {name: v.replace(home, f"${_HOME}") for name, v in toolkit.items() if name != _HOME}
    steps: tuple[Mapping[str, str], ...] = ({_HOME: home}, others)
    if target.with_nnal:
        atb = f"{ASCEND}/nnal/atb/latest/atb/cxx_abi_{target.cxx_abi}"
        # ENV has one folder for the logs of every user, where the script has the user's home.
        known = {"~": "/tmp", "$ATB_HOME_PATH": atb}  # noqa: S108
        settings = atb_variables(target.nnal.version)
        libraries = f"{atb}/lib:{atb}/examples:{atb}/tests/atbopstest"
        nnal = {
            "ATB_HOME_PATH": atb,
            **{name: known.get(value, value) for name, value in settings.items()},
            "PATH": f"{atb}/bin:$PATH",
            "LD_LIBRARY_PATH": f"{libraries}:$LD_LIBRARY_PATH",
        }
        steps = (*steps, nnal)
        cann = toolkit | {
            name: value.replace(f"${name}", toolkit.get(name, "")) for name, value in nnal.items()
        }
    application = target.application.environment if target.application else {}
    return Environment(
        toolkit_home=home,
        steps=steps,
        cann=cann,
        all={
            **cann,
            **CONSTRAINT_VARIABLES,
            **{name: value.strip('"') for name, value in application.items()},
            **target.environment,
        },
    )


@cache
def _toolkit(layout: Layout, version: str, machine: str) -> dict[str, str]:
    folder = f"cann-{version}" if layout is Layout.CANN else "ascend-toolkit/latest"
    home = f"{ASCEND}/{folder}"
    tbe = f"{home}/opp/built-in/op_impl/ai_core/tbe"
    folders = _FOLDERS[layout]
    has_aml = layout is Layout.CANN and CannVersion.parse(version) < _WITHOUT_AML
    libraries = [
        *(f"{home}/{folder}" for folder in folders.libraries),
        f"{tbe}/op_tiling/lib/linux/{machine}",
        *(f"{home}/{folder}" for folder in (_AML if has_aml else ())),
        *DRIVER_LIBRARIES,
    ]
    cmake = ":".join(f"{home}/{folder}" for folder in folders.cmake)
    return {
        _HOME: home,
        "ASCEND_HOME_PATH": home,
        "ASCEND_AICPU_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "TOOLCHAIN_HOME": f"{home}/toolkit",
        "PYTHONPATH": f"{home}/python/site-packages:{tbe}:{GUARD}",
        **({"CMAKE_PREFIX_PATH": cmake} if cmake else {}),
        "PATH": ":".join([*(f"{home}/{folder}" for folder in folders.programs), *SYSTEM_PATH]),
        "LD_LIBRARY_PATH": ":".join(libraries),
    }
