# SPDX-License-Identifier: Apache-2.0
"""``build.py doctor``: the program ``ascend-doctor``: its sources, or the file in images."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from cannery.cli.command import Command
from cannery.common.option import OptionSet, option
from cannery.common.tool import CHECKOUT, INSTALLED, tool_path
from cannery.matrix.project import Project


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(OptionSet):
    """The words for ascend-doctor."""

    words: tuple[str, ...] = option(
        "the words for ascend-doctor; --help lists them",
        default=(),
        positional=True,
        rest=True,
        metavar="WORD",
        count="*",
    )


COMMAND = Command(
    description="Runs ascend-doctor, which every image has too, with the words that follow.",
    reads="this host, npu-smi and hccn_tool",
    writes="nothing; with --fix it shows what it changes, and asks",
    example="doctor --log train.log",
    options=DoctorOptions,
    passes_on=True,
    without_project=True,
)


FOLDER = CHECKOUT / "packages" / "ascend-doctor"


def run(options: DoctorOptions, _: Project) -> int:
    """Run it with the words as they were typed; the exit code is its own."""
    if INSTALLED:
        argv = [
            sys.executable,
            "-P",
            str(tool_path("cannery/image/context/ascend-doctor")),
            *options.words,
        ]
        return subprocess.run(argv, check=False).returncode
    path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
    # -P: nothing in the working directory stands in for a module.
    argv = [sys.executable, "-P", "-m", "ascend_doctor", *options.words]
    return subprocess.run(argv, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
