# SPDX-License-Identifier: Apache-2.0
"""The simulated pyACL, which is in the packages of the toolkit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .hosts import FOLDER, Host

MODULES = FOLDER / "ascend_sim/packages/toolkit"
ROUND_TRIP = """\
import ctypes, json, acl
text = ctypes.create_string_buffer(b"sixteen letters.", 16)
codes = [acl.init(), acl.rt.set_device(2)]
device, code = acl.rt.malloc(16, 0)
codes.append(code)
host, code = acl.rt.malloc_host(16)
codes.append(code)
codes.append(acl.rt.memcpy(device, 16, ctypes.addressof(text), 16, 1))
codes.append(acl.rt.memcpy(host, 16, device, 16, 2))
copied = ctypes.string_at(host, 16).decode()
too_small = acl.rt.memcpy(device, 8, host, 16, 1)
codes += [acl.rt.synchronize_device(), acl.rt.free_host(host), acl.rt.free(device)]
used = acl.rt.get_device()
codes += [acl.rt.reset_device(2), acl.finalize()]
print(json.dumps([acl.get_soc_name(), acl.rt.get_device_count(), used, copied, too_small, codes]))
"""


def run(host: Host, program: str, libraries: str) -> subprocess.CompletedProcess[str]:
    environment = host.environment({"LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(MODULES)})
    argv = [sys.executable, "-B", "-c", program]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def toolkit(host: Host) -> str:
    return str(host.built / "toolkit/lib64")


def test_memory_is_copied_to_a_device_and_back(host: Host, toolkit: str) -> None:
    done = run(host, ROUND_TRIP, f"{toolkit}:{host.driver_library}")
    assert done.returncode == 0, done.stderr
    name, count, used, copied, too_small, codes = json.loads(done.stdout)
    assert (name, count, used) == ("Ascend910B3", [8, 0], [2, 0])
    assert copied == "sixteen letters."
    assert too_small != 0
    assert set(codes) == {0}


def test_without_a_driver_there_is_no_device(host: Host, toolkit: str) -> None:
    program = "import acl; print(acl.init(), acl.get_soc_name(), acl.rt.set_device(0) != 0)"
    done = run(host, program, toolkit)
    assert done.stdout.split() == ["0", "None", "True"], done.stderr


def test_without_the_library_the_import_fails(host: Host) -> None:
    done = run(host, "import acl", str(host.driver_library))
    assert done.returncode == 1
    assert "libascendcl.so: cannot open shared object file" in done.stderr
