# SPDX-License-Identifier: Apache-2.0
"""The checks of ascend-doctor; 'nox -s doctor' at the root runs types and tests."""

import platform

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["types", "tests"]

PYTHONS = ("3.7", "3.9", "3.11", "3.13")
PINNED = "../../cannery/image/context/ascend-doctor"


@nox.session
def types(session: nox.Session) -> None:
    """Types, with mypy --strict."""
    session.run("mypy", "ascend_doctor", "tests", "tools")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests, on all cores, but for those of doctor-pythons."""
    words = ("--quiet", "--numprocesses", "auto", "--dist", "worksteal")
    apart = "--ignore=tests/test_every_python.py"
    session.run("pytest", *words, "tests", apart, *session.posargs)


@nox.session(name="doctor-pythons")
def doctor_pythons(session: nox.Session) -> None:
    """Every command with each Python, from the file and the wheel; uv installs what is missing."""
    required = [*PYTHONS]
    if platform.machine() != "x86_64":
        # uv has the oldest for x86_64 only.
        required.remove(PYTHONS[0])
        session.log(f"Python {PYTHONS[0]} is left out: uv has none for {platform.machine()}")
    missing = str(session.run("python", "-m", "tests.pythons", *required, silent=True)).split()
    if missing:
        session.run("uv", "python", "install", "--quiet", *missing)
    session.run(
        *("pytest", "--quiet", "--numprocesses", "auto", "--dist", "loadfile"),
        *("tests/test_every_python.py", "tests/test_packed_doctor.py", *session.posargs),
        env={"DOCTOR_PYTHONS": " ".join(required)},
    )


@nox.session
def pack(session: nox.Session) -> None:
    """Pack the program and make it the one that images get, which moves their content keys."""
    with session.chdir("../.."):
        session.run("python", "-m", "cannery.image.companion_facts")
    session.run("python", "tools/pack.py", "ascend_doctor", PINNED)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel into dist/."""
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ".")
