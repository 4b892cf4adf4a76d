# SPDX-License-Identifier: Apache-2.0
"""Whoever adds an option that ``--resume`` remembers edits one place: here, in a copy."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
BEFORE = "    builder: str = field(\n"
FIELD = """\
    colour: str = field(
        default="red",
        metadata=option(choices=("red", "blue"), help="made up, for a test", remembered=True),
    )
"""
RUN = """
import sys
from pathlib import Path
from cannery.cli import ROOT
from cannery.cli.common import read
from cannery.cli.parser import parse
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions
from cannery.options.remembered import resumed
from cannery.build.journal import Journal, Progress, read_journal
project = Project(root=ROOT)
path = project.state / "journal.json"
given = parse(["build", "--all", "--simulate", "--colour", "blue"])[1]
options = read(BuildOptions, given, project)
Journal(path=path, options=options).note(sys.argv[1], Progress.WAITING)
earlier = read_journal(path)
print(resumed(earlier.options, earlier.withheld, parse(["build", "--resume"])[1]).colour)
"""


def python(checkout: Checkout, code: str, *words: str) -> str:
    argv = [sys.executable, "-c", code, *words]
    done = subprocess.run(argv, cwd=checkout.root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_one_field_is_a_whole_option(installed: Checkout) -> None:
    journal = installed.root / ".cannery" / "journal.json"
    installed.edit(BEFORE, FIELD + BEFORE, "cannery/options/build.py")
    assert "made up, for a test (default: red)" in installed.start("build", "--help").out
    assert python(installed, RUN, TARGET) == "blue"
    installed.start("--resume", "--plan").accepted()
    installed.start("--resume", "--colour", "red").refused(2, "Leave out --colour.")
    installed.start("--all", "--colour", "bleu").refused(2, "Did you mean 'blue'?")
    # A journal of the version before it.
    journal.write_text(journal.read_text(encoding="utf-8").replace('"colour"', '"color"'))
    installed.start("--resume").refused(
        9, "is not a journal of this version of build.py. Remove it"
    )
