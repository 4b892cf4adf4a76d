# SPDX-License-Identifier: Apache-2.0
"""Writes how to run an image: for a shell, Compose, Kubernetes and Volcano.

workload is the image with its cards and hosts, pods a pod for it. Each other module writes one
format. docs/run.md explains each line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cannery.deploy.compose import compose_text
from cannery.deploy.kubernetes import kubernetes_text
from cannery.deploy.run_spec import RunSpec, shell_text
from cannery.deploy.volcano import volcano_text
from cannery.deploy.workload import RUNTIMES, Workload, run_spec

__all__ = ["FORMATS", "RUNTIMES", "Workload", "run_spec", "shell", "text"]


def shell(workload: Workload, devices: RunSpec | None = None) -> str:
    """``docker run`` for a shell; ``devices`` are those of the host, if they are known.

    Without a command the image's own is a shell, which ends at once without a terminal.
    """
    spec = run_spec(workload, devices)
    argv = spec.docker_argv(workload.image, workload.target.platform, workload.command)
    if not workload.command:
        argv[2:2] = ["--interactive", "--tty"]
    return shell_text(argv) + "\n"


_WRITERS: Mapping[str, Callable[[Workload], str]] = {
    "shell": shell,
    "compose": compose_text,
    "k8s": kubernetes_text,
    "volcano": volcano_text,
}

FORMATS = tuple(_WRITERS)


def text(format: str, workload: Workload) -> str:  # noqa: A002 - as the command line calls it
    """How to run ``workload``, in one of FORMATS. Ends with a newline.

    Raises:
        UsageError: with all problems of the workload.
    """
    workload.check(format)
    return _WRITERS[format](workload)
