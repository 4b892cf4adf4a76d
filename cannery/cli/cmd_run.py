# SPDX-License-Identifier: Apache-2.0
"""``build.py run``: a container with the devices and the driver of its host."""

from __future__ import annotations

import argparse
import os

from cannery.cli.common import PROJECT, selected
from cannery.errors import EngineError, Problem, UsageError
from cannery.pipeline.images import image_name, simulated_host
from cannery.runspec import RunSpec, npu_device, shell_text, simulated_device


def run(options: argparse.Namespace) -> int:
    """Print or become ``docker run`` for one target.

    Raises:
        UsageError: more than one target is selected.
        EngineError: there is no device to hand to the container, or no docker.
    """
    targets = selected(options)
    if len(targets) > 1:
        names = ", ".join(target.id for target in targets)
        raise UsageError(f"run takes one target, and these were named: {names}.")
    target = targets[0]
    if options.simulate:
        spec: RunSpec | None = simulated_device(simulated_host(PROJECT, target))
    else:
        spec = npu_device()
    if spec is None:
        raise EngineError(
            Problem(what="this host has no NPU (/dev/davinci*).", fix="Add --simulate to try it.")
        )
    argv = spec.docker_argv(
        image_name(target, simulate=options.simulate), target.platform, options.command
    )
    if options.print:
        print(shell_text(argv))
        return 0
    if os.isatty(0):
        argv[2:2] = ["--interactive", "--tty"]
    try:
        return os.execvp(argv[0], argv)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise EngineError(
            Problem(what=f"docker cannot be started: {reason}.", fix="'bash setup.sh' installs it.")
        ) from error
