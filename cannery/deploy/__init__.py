# SPDX-License-Identifier: Apache-2.0
"""How to run an image elsewhere, as text: for a shell, for Compose, Kubernetes and Volcano.

workload: the image and what it runs on. pods: a pod with it. The other modules write one format
each.
docs/running.md says what each line of them is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cannery.deploy.compose import compose_text
from cannery.deploy.docker import run_spec
from cannery.deploy.kubernetes import kubernetes_text
from cannery.deploy.run_spec import RunSpec, shell_text
from cannery.deploy.volcano import volcano_text
from cannery.deploy.workload import Workload
from cannery.errors import Problem, UsageError, did_you_mean
from cannery.options.run import RUN_FORMATS, RUNTIMES

__all__ = ["FORMATS", "RUNTIMES", "Workload", "run_spec", "shell", "text"]


def shell(workload: Workload, devices: RunSpec | None = None) -> str:
    """``docker run`` for a shell; ``devices`` is what one host has, where that is known."""
    spec = run_spec(workload, devices)
    platform = workload.target.platform
    return shell_text(spec.docker_argv(workload.image, platform, workload.command)) + "\n"


_WRITERS: Mapping[str, Callable[[Workload], str]] = {
    "shell": shell,
    "compose": compose_text,
    "k8s": kubernetes_text,
    "volcano": volcano_text,
}

FORMATS = RUN_FORMATS


def text(format: str, workload: Workload) -> str:  # noqa: A002 - as the command line calls it
    """How to run ``workload``, in one of FORMATS. Ends with a newline.

    Raises:
        UsageError: with everything that is wrong with the workload, or with the format's name.
    """
    if format not in _WRITERS:
        hint = did_you_mean(format, FORMATS)
        raise UsageError(Problem(what=f"there is no format {format!r}.", fix=hint))
    workload.check(format)
    return _WRITERS[format](workload)
