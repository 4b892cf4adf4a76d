# SPDX-License-Identifier: Apache-2.0
"""``build.py completion``: the script with which a shell completes commands, options and ids."""

from __future__ import annotations

import shlex
import sys

import shtab

from cannery.cli.arguments import TARGETS
from cannery.cli.common import read
from cannery.cli.parser import complete_parser
from cannery.matrix.project import Project
from cannery.options.completion import CompletionOptions
from cannery.options.given import Given

_FUNCTION = "_build_py_targets"
_BODIES = {
    "bash": 'compgen -W "$({list})" -- "$1"',
    "zsh": 'local -a ids=(${{(f)"$({list})"}}); compadd -a ids',
}


def run(given: Given, project: Project) -> int:
    """Print the script for a shell. It asks build.py for the ids of targets when they are typed."""
    shell = read(CompletionOptions, given, project).shell
    ask = shlex.join([sys.executable, str(project.root / "build.py"), "list", "--format", "names"])
    body = _BODIES[shell].format(list=f"{ask} 2>/dev/null")
    text = shtab.complete(
        complete_parser(),
        shell=shell,
        preamble=f"{_FUNCTION}() {{\n  {body}\n}}",
        choice_functions={TARGETS: _FUNCTION},
    )
    print(text)
    return 0
