# SPDX-License-Identifier: Apache-2.0
"""All commands, in the order of the help."""

from __future__ import annotations

from cannery.cli.command import Command
from cannery.cli.image_commands import IMAGE_COMMANDS
from cannery.cli.matrix_commands import MATRIX_COMMANDS
from cannery.cli.publish_commands import PUBLISH_COMMANDS

_DOCTOR = Command(
    name="doctor",
    summary="find what is wrong with this host, or with a failed run",
    description="Runs ascend-doctor, which every image has too, with the words that follow.",
    reads="this host, npu-smi and hccn_tool",
    writes="nothing; with --fix it shows what it changes, and asks",
    example="doctor --log train.log",
    options=(),
    passes_on=True,
)
OF_DOCTOR = ("align", "nan-hunt", "ranktable", "smoke", "stuck")
"""Commands of ascend-doctor, which users look for here."""

_COMPLETION = Command(
    name="completion",
    summary="print the script with which bash or zsh completes words",
    description="Prints a script with which bash or zsh completes commands, options, files "
    "and the ids of targets after ./build.py. The script asks build.py for the ids, so it "
    "knows new targets at once. Print it again after an update of build.py. Needs no engine. "
    "See docs/command-line.md.",
    reads="nothing",
    writes="nothing",
    example="completion bash >~/.build.py.bash",
    options=("completion.CompletionOptions",),
)

_EVERY = (*IMAGE_COMMANDS, _DOCTOR, *MATRIX_COMMANDS, *PUBLISH_COMMANDS, _COMPLETION)

COMMANDS = {command.name: command for command in _EVERY}
