# SPDX-License-Identifier: Apache-2.0
"""The probe that runs programs in copies of one process: they end as processes of their own do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).parents[2] / "image" / "probes" / "copies.py"

PYTHON = os.path.realpath(sys.executable)
"""The interpreter itself, because a program of a virtual environment is started by it."""

MODULE = """\
with open(__file__ + ".imported", "a") as stream:
    stream.write("x")
"""
PROGRAM = """\
#!{python}
import sys, slow
print(sys.argv[0].rsplit("/", 1)[1], *sys.argv[1:], __name__)
print("a warning", file=sys.stderr)
sys.exit(len(sys.argv))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of PATH with a program and the module that it imports."""
    (tmp_path / "slow.py").write_text(MODULE, encoding="utf-8")
    program(tmp_path, "prog", PROGRAM.format(python=PYTHON))
    return tmp_path


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(0o755)


def copies(folder: Path, *commands: str, modules: tuple[str, ...] = ("slow",)) -> dict[str, Any]:
    """What came of ``commands``."""
    programs = {command: {"argv": command.split()} for command in commands}
    asked = json.dumps({"modules": modules, "places": [], "programs": programs})
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(folder)}
    text = PROBE.read_text(encoding="utf-8")
    done = subprocess.run(
        [PYTHON, "-c", text, asked], env=environment, capture_output=True, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def imported(folder: Path) -> int:
    """How often the module was imported."""
    return len((folder / "slow.py.imported").read_text(encoding="utf-8"))


def test_one_import_serves_all_copies(folder: Path) -> None:
    answers = copies(folder, "prog", "prog a b")
    assert answers["prog"] == {"code": 1, "stdout": "prog __main__\n", "stderr": "a warning\n"}
    assert answers["prog a b"]["stdout"] == "prog a b __main__\n"
    assert answers["prog a b"]["code"] == 3
    assert imported(folder) == 1


def test_a_failed_import_leaves_each_program_to_itself(folder: Path) -> None:
    answers = copies(folder, "prog", "prog a", modules=("slow", "no_such_module"))
    assert [each["code"] for each in answers.values()] == [1, 2]
    assert imported(folder) == 1 + 2


def test_only_programs_of_this_interpreter_are_copies(folder: Path) -> None:
    """Not one of a virtual environment, although its interpreter is a link to this one."""
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").write_text(f"home = {Path(PYTHON).parent}\n", encoding="utf-8")
    (folder / "venv" / "bin" / "python").symlink_to(PYTHON)
    program(folder, "other", PROGRAM.format(python=folder / "venv" / "bin" / "python"))
    program(folder, "shell", "#!/bin/sh\necho $0 $1\n")
    answers = copies(folder, "other", "shell x", "missing", "env true")
    assert answers["other"]["stdout"] == "other __main__\n"
    assert answers["shell x"]["stdout"] == f"{folder}/shell x\n"
    assert answers["missing"] == {"code": 1, "stdout": "", "stderr": "missing is not in PATH\n"}
    assert answers["env true"]["code"] == 0
    assert imported(folder) == 1 + 1
