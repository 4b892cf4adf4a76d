# SPDX-License-Identifier: Apache-2.0
"""The checks of ascend-doctor; 'nox -s doctor' at the root runs types and tests."""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["types", "tests"]

PINNED = "../../cannery/image/context/ascend-doctor"


@nox.session
def types(session: nox.Session) -> None:
    """Types, with mypy --strict."""
    session.run("mypy", "ascend_doctor", "tests", "tools")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests, on all cores."""
    words = ("--quiet", "--numprocesses", "auto", "--dist", "worksteal")
    session.run("pytest", *words, "tests", *session.posargs)


@nox.session
def pack(session: nox.Session) -> None:
    """Pack the program and make it the one that images get, which moves their content keys."""
    with session.chdir("../.."):
        session.run("python", "-m", "cannery.image.doctor_facts")
    session.run("python", "tools/pack.py", "ascend_doctor", PINNED)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel into dist/."""
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ".")
