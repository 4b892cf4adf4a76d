# SPDX-License-Identifier: Apache-2.0
"""The checks of ascend-sim; 'nox -s simulator' at the root runs types and tests."""

import glob
import os
import platform
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["types", "tests"]

MACHINE = platform.machine()
# Tests of what is shipped. A build with sanitizers is not: it needs the glibc of the machine.
SHIPPED = ("test_libraries.py::test_an_old_glibc_is_enough", "test_wheel_of_device.py")


@nox.session
def types(session: nox.Session) -> None:
    """Types, with mypy --strict."""
    session.run("mypy", "ascend_sim", "conformance", "device", "tools", "tests")


@nox.session
def tests(session: nox.Session) -> None:
    """The device, the packages and their installers, the wheel and its command."""
    folders = [f"tests/{name}" for name in ("device", "packages", "command", "conformance")]
    session.run("pytest", "--quiet", *(session.posargs or folders))


@nox.session
def sanitize(session: nox.Session) -> None:
    """The device's tests on a build with AddressSanitizer and UndefinedBehaviorSanitizer."""
    built = str(Path(session.create_tmp()).resolve() / "device")
    session.run("sh", "device/build.sh", built, MACHINE, "address,undefined")
    tests = ["tests/device", *(f"--deselect=tests/device/{name}" for name in SHIPPED)]
    session.run("pytest", "--quiet", *tests, *session.posargs, env={"NPUSIM_TEST_BUILD": built})


@nox.session
def fuzz(session: nox.Session) -> None:
    """1,000,000 random calls of the device's C interface, on a build with sanitizers."""
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def kills(session: nox.Session) -> None:
    """100 kills of a rank at a random moment: the others end within their timeout."""
    session.run("python", "-m", "tests.device.kills", *session.posargs)


@nox.session
def operators(session: nox.Session) -> None:
    """Operators of PyTorch and NNAL, what people do, and 40 operators by date.

    Needs CANNERY_TORCH_PYTHON.
    """
    python = os.environ.get("CANNERY_TORCH_PYTHON")
    if not python:
        session.error("set CANNERY_TORCH_PYTHON to a Python that has torch and numpy")
    names = ("test_torch_operators.py", "test_torch_npu_on_device.py")
    session.run("pytest", "--quiet", *(f"tests/device/{name}" for name in names), *session.posargs)
    session.run("python", "-m", "conformance.operators", "--python", python, "--draw", "40")


@nox.session
def releases(session: nox.Session) -> None:
    """Read and run every torch_npu of the package index on the device: 50 GB to download, hours."""
    session.run("nice", "-n", "10", "python", "-m", "conformance.releases", *session.posargs)


@nox.session
def usage(session: nox.Session) -> None:
    """What people do with torch_npu, with four of its releases, and the page of that."""
    session.run("nice", "-n", "10", "python", "-m", "conformance.usage", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel for both architectures into dist/."""
    session.run("python", "-m", "tools.wheel", *session.posargs)


@nox.session(name="wheel-check")
def wheel_check(session: nox.Session) -> None:
    """Each documented way to install torch, in a bare environment (a GB to download).

    '-- --torch 2.9.0' does it with other options of 'ascend-sim install'.
    """
    with tempfile.TemporaryDirectory(prefix="ascend-sim-") as folder:
        session.run("python", "-m", "tools.wheel", "--machine", MACHINE, "--out", folder)
        settings = {
            "CANNERY_SIM_WHEEL": glob.glob(f"{folder}/*.whl")[0],
            "CANNERY_SIM_INSTALL": " ".join(session.posargs),
        }
        session.run("pytest", "--quiet", "tests/command/test_sim_in_venv.py", env=settings)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Frameworks on the device, and their page (15 GB of packages)."""
    with tempfile.TemporaryDirectory(prefix="frameworks-") as folder:
        session.run("python", "-m", "tools.wheel", "--machine", MACHINE, "--out", folder)
        settings = {"CANNERY_FRAMEWORKS": folder, "UV_CACHE_DIR": f"{folder}/cache"}
        try:
            session.run("pytest", "--quiet", "tests/frameworks", *session.posargs, env=settings)
        finally:
            if not session.posargs:
                session.run("python", "-m", "tests.frameworks.results", f"{folder}/results")
