# SPDX-License-Identifier: Apache-2.0
"""``build.py completion``: the script with which a shell completes commands, options and ids."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import shtab

from cannery.cli.command import Command
from cannery.cli.parser import TARGETS, complete_parser
from cannery.common.option import OptionSet, option
from cannery.matrix.project import Project


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(OptionSet):
    """The shell that is to complete words."""

    shell: str = option("bash or zsh", positional=True, metavar="SHELL", choices=("bash", "zsh"))


COMMAND = Command(
    description="Prints a script with which bash or zsh completes commands, options, files "
    "and the ids of targets after ./build.py. The script asks build.py for the ids, so it "
    "knows new targets at once. Print it again after an update of build.py. Needs no engine. "
    "See docs/reference.md.",
    reads="nothing",
    writes="nothing",
    example="completion bash >~/.build.py.bash",
    options=CompletionOptions,
)


_FUNCTION = "_build_py_targets"
_BODIES = {
    "bash": 'compgen -W "$({list})" -- "$1"',
    "zsh": 'local -a ids=(${{(f)"$({list})"}}); compadd -a ids',
}


def run(options: CompletionOptions, project: Project) -> None:
    """Print the script for a shell. It asks build.py for the ids of targets when they are typed."""
    started = [str(project.root / "build.py")] if project.is_checkout else ["-m", "cannery"]
    ask = shlex.join([sys.executable, *started, "list", "--format", "names"])
    body = _BODIES[options.shell].format(list=f"{ask} 2>/dev/null")
    print(
        shtab.complete(
            complete_parser(),
            shell=options.shell,
            preamble=f"{_FUNCTION}() {{\n  {body}\n}}",
            choice_functions={TARGETS: _FUNCTION},
        )
    )
