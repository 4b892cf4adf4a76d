# SPDX-License-Identifier: Apache-2.0
"""A machine on which nothing of the project has been installed yet."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout

ROOT = Path(__file__).resolve().parents[2]

OLD_PYTHON = """
import runpy, sys
sys.version_info, sys.version = (3, 7, 17, "final", 0), "3.7.17 (default)"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


INTERRUPT = """
import os, signal, sys, time, weakref

class Gone:
    pass

def interrupt(number):
    gone = Gone()
    kept = weakref.ref(gone, lambda _: os.kill(os.getpid(), number))
    del gone
"""
"""Interrupts in a callback of Python's own, as one of an import, where nothing can be raised."""

IN_A_COMMAND = f"""
{INTERRUPT}
from cannery import cli

def parse(_):
    interrupt(getattr(signal, sys.argv[1]))
    time.sleep(20)

cli.parse = parse
sys.exit(cli.main(["list"]))
"""


def said(*argv: str) -> tuple[int, str, str]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words", [["list"], ["check"], ["--all", "--simulate"], ["run", "--target", "x"]]
)
def test_without_the_requirements(program: Checkout, words: list[str]) -> None:
    # Without site-packages, nothing but Python's own modules can be imported.
    _, build, *_ = program.argv()
    code, out, err = said(sys.executable, "-S", build, *words)
    assert (code, out) == (6, ""), err
    first, missing, rest = err.split("'", 2)
    assert missing in ("docker", "packaging", "yaml")
    assert first + rest == (
        f"build.py: {sys.executable} has no module . Install the requirements of build.py into a "
        "virtual environment, and use its Python:\n"
        f"    bash {program.root}/setup.sh --venv && . {program.root}/.venv/bin/activate\n"
    )


def test_help_needs_no_requirements(program: Checkout) -> None:
    code, out, err = said(sys.executable, "-S", *program.argv()[1:], "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: build.py")


def test_an_older_python(program: Checkout) -> None:
    code, out, err = said(sys.executable, "-c", OLD_PYTHON, *program.argv()[1:], "list")
    assert (code, out) == (6, "")
    assert err == (
        f"build.py: Python 3.11 or newer is needed; {sys.executable} is 3.7.17. Use a newer one, "
        "for example: python3.11 build.py list\n"
    )


def test_an_older_python_can_parse_build_py() -> None:
    """One of 2.7, too, which knows no f-strings, annotations, or underscores in numbers."""
    text = (ROOT / "build.py").read_text(encoding="ascii")
    parsed = [type(node) for node in ast.walk(ast.parse(text, feature_version=(3, 4)))]
    newer = {ast.JoinedStr, ast.AnnAssign, ast.arg, ast.AsyncFunctionDef, ast.Nonlocal}
    assert newer.isdisjoint(parsed)
    assert not re.search(r"[0-9]_[0-9]", text)
    # The modules need the newer syntax, so the version is checked before one is imported.
    assert text.index("sys.version_info") < text.index("from cannery")


def listed_beside(program: Checkout, folder: Path) -> tuple[int, str, str]:
    """What 'list' says with the modules of ``folder`` before all others."""
    _, build, *_ = program.argv()
    lines = (
        "import sys",
        f"sys.path[:0] = [{str(folder)!r}, {str(Path(build).parent)!r}]",
        "from cannery.cli import main",
        "sys.exit(main(['list']))",
    )
    return said(sys.executable, "-c", "\n".join(lines))


def test_with_an_old_requirement(program: Checkout, tmp_path: Path) -> None:
    old = tmp_path / "packaging"
    old.mkdir()
    (old / "__init__.py").touch()
    for name in ("markers", "requirements", "specifiers", "tags", "utils", "version"):
        (old / f"{name}.py").touch()
    code, out, err = listed_beside(program, tmp_path)
    assert (code, out) == (6, ""), err
    assert f"{sys.executable} cannot use its module 'packaging." in err
    assert "': cannot import name '" in err
    assert "Install the requirements of build.py" in err


def test_with_a_requirement_that_does_not_load(program: Checkout, tmp_path: Path) -> None:
    (suffix,) = EXTENSION_SUFFIXES[:1]
    (tmp_path / f"yaml{suffix}").write_bytes(b"no library")
    code, out, err = listed_beside(program, tmp_path)
    assert (code, out) == (6, ""), err
    path = f"{tmp_path}/yaml{suffix}"
    assert f"{sys.executable} cannot use its module 'yaml': {path}: " in err
    assert "too old" not in err
    assert "Install the requirements of build.py" in err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_after_everything_was_done(tmp_path: Path, name: str) -> None:
    text = f"import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.{name})\n"
    (tmp_path / "sitecustomize.py").write_text(text, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, str(ROOT / "build.py"), "--version"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "text",
    ["raise KeyboardInterrupt", f"{INTERRUPT}\ninterrupt(signal.SIGINT)\nmain = print\n"],
    ids=["at once", "in a callback"],
)
def test_an_interrupt_before_anything_has_begun(tmp_path: Path, text: str) -> None:
    (tmp_path / "build.py").write_text((ROOT / "build.py").read_text(encoding="utf-8"))
    (tmp_path / "cannery").mkdir()
    program = (ROOT / "cannery" / "__main__.py").read_text(encoding="utf-8")
    (tmp_path / "cannery" / "__main__.py").write_text(program, encoding="utf-8")
    (tmp_path / "cannery" / "cli.py").write_text(text, encoding="utf-8")
    assert said(sys.executable, str(tmp_path / "build.py"), "list") == (130, "", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_dropped_by_python_is_repeated(name: str) -> None:
    code, out, err = said(sys.executable, "-c", IN_A_COMMAND, name)
    assert (code, out) == (130, "")
    assert err == "build.py: interrupted; what was running has been stopped.\n"
