# SPDX-License-Identifier: Apache-2.0
"""How to run an image elsewhere, as text: for a shell, for Compose, Kubernetes and Volcano.

workload: the image and what it runs on. pods: a pod with it. The other modules write one format
each.
docs/running.md says what each line of them is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cannery.deploy.compose import compose_text
from cannery.deploy.docker import run_spec
from cannery.deploy.kubernetes import kubernetes_text
from cannery.deploy.run_spec import RunSpec, shell_text
from cannery.deploy.volcano import volcano_text
from cannery.deploy.workload import Workload
from cannery.errors import Problem, UsageError, did_you_mean
from cannery.model import Target
from cannery.options.run import RUN_FORMATS, RUNTIMES, SHM_SIZE

__all__ = ["FORMATS", "RUNTIMES", "Workload", "run_spec", "shell", "text", "write"]


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


def text(
    format: str,  # noqa: A002 - what the command line calls it too
    *,
    image: str,
    target: Target,
    cards: int = 1,
    nodes: int = 1,
    runtime: str = "devices",
    simulate_host: Path | None = None,
    shm_size: str = SHM_SIZE,
    mounts: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> str:
    """How to run ``image``, an image of ``target``, on ``cards`` cards of each of ``nodes`` hosts.

    ``format`` is one of FORMATS and ``runtime`` one of RUNTIMES. ``simulate_host`` is a simulated
    host tree to take in the place of NPUs, ``shm_size`` is as docker takes it, and ``mounts`` maps
    folders of a host to folders of the container. Ends with a newline.

    Raises:
        UsageError: with everything that is wrong with what is asked for.
    """
    workload = Workload(
        image=image,
        target=target,
        cards=tuple(range(cards)),
        nodes=nodes,
        runtime=runtime,
        simulate_host=simulate_host,
        shm_size=shm_size,
        mounts=mounts or {},
        command=tuple(command),
    )
    return write(format, workload)


def write(format: str, workload: Workload) -> str:  # noqa: A002 - as in text()
    """As ``text``, for ``workload``."""
    if format not in _WRITERS:
        hint = did_you_mean(format, FORMATS)
        raise UsageError(Problem(what=f"there is no format {format!r}.", fix=hint))
    workload.check(format)
    return _WRITERS[format](workload)
