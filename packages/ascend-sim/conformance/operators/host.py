# SPDX-License-Identifier: Apache-2.0
"""A simulated host on this machine: a driver, its devices, and the library beside them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ascend_sim.command.errors import UsageError
from ascend_sim.packages.packer.chips import accepted_types, load_chip, types_file

SOURCE = Path(__file__).parents[2] / "device"
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel"
LIBRARY = "toolkit/lib64/libascendcl.so"
FOLDERS = ("toolkit/lib64", "nnal/cxx_abi_1")
"""Of libraries. The wheels of torch that are run here have the newer C++ ABI."""
CANN = "9.1.0"
"""The newest release of the targets that have a software device."""

VERSIONS = (
    "import torch, torch_npu;print(f'torch {torch.__version__}, torch_npu {torch_npu.__version__}')"
)


def built(out: Path) -> Path:
    """The device, compiled for this machine into `out`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", str(SOURCE / "build.sh"), str(out), platform.machine()]
    subprocess.run(command, check=True, env={**os.environ, "PATH": path})
    return out


def environment(device: Path, folder: Path, cann: str = CANN, chip: str = "910b") -> dict[str, str]:
    """The environment of a process that uses `device` as CANN `cann`; its files go into `folder`.

    Raises:
        UsageError: there is no compiled device.
    """
    if not (device / LIBRARY).is_file():
        raise UsageError(
            f"there is no {device / LIBRARY}: make it with build.sh, or leave --device"
        )
    driver = folder / "driver"
    shutil.copytree(device / "driver", driver, dirs_exist_ok=True)
    facts = load_chip(chip)
    (driver / "simulated_devices.conf").write_text(facts.settings(count=8))
    (driver / "version.info").write_text("Version=24.1.rc3-sim\n")
    kernels = folder / KERNELS / facts.kernels
    kernels.mkdir(parents=True, exist_ok=True)
    (kernels / "accepted_types").write_text(types_file(accepted_types(chip)))
    info = folder / f"{platform.machine()}-linux" / "ascend_toolkit_install.info"
    for needed in (info.parent, folder / "runtime", folder / "compiler"):
        needed.mkdir(exist_ok=True)
    info.write_text(f"version={cann}\n")
    libraries = [*(str(device / name) for name in FOLDERS), str(driver / "lib64" / "driver")]
    settings = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(libraries),
        "ASCEND_HOME_PATH": str(folder),
        "ASCEND_OPP_PATH": str(folder / "opp"),
        "OMP_NUM_THREADS": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    settings.pop("PYTHONPATH", None)
    return settings


def versions(python: str, settings: Mapping[str, str], cann: str) -> str:
    """What is measured: torch, torch_npu and the release of CANN.

    Raises:
        UsageError: there is no torch_npu.
    """
    asked = [python, "-W", "ignore", "-c", VERSIONS]
    done = subprocess.run(asked, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{python} cannot import torch_npu:\n{done.stderr[-1000:]}")
    return f"{done.stdout.splitlines()[-1]}, and told to be CANN {cann}"
