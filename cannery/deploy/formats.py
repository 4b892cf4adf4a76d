# SPDX-License-Identifier: Apache-2.0
"""Writes how to run an image: for a shell, Compose, podman, clusters, Slurm and dev containers.

docs/run.md explains each line. Source of Compose's: the Compose Specification, whose long form of
mounts gives ':' no meaning and makes a missing driver an error instead of a new empty folder.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from cannery.deploy.clusters import (
    deployment_text,
    kubernetes_text,
    literal,
    volcano_text,
    yaml_text,
)
from cannery.deploy.hpc import apptainer_text, slurm_text
from cannery.deploy.run_spec import RunSpec, shell_text, tmpfs_option
from cannery.deploy.units import devcontainer_text, quadlet_text
from cannery.deploy.workload import IDLE, Workload, run_spec


def compose_text(workload: Workload) -> str:
    """A file with one service."""
    head = [
        f"{workload.title}: docker compose up --detach",
        f"To open a shell in it: docker compose exec {workload.service} bash",
    ]
    if not workload.simulate_host:
        head.append("In the container the cards are numbered from 0, whatever their numbers here.")
    return yaml_text(head, [{"services": {workload.service: _service(workload)}}])


def _service(workload: Workload) -> dict[str, Any]:
    spec = run_spec(workload)
    service: dict[str, Any] = {
        "image": workload.image,
        "platform": workload.target.platform,
        "command": [literal(word) for word in workload.command or IDLE],
        "init": True,
        "shm_size": spec.shm_size,
    }
    if spec.asked.name:
        service["container_name"] = spec.asked.name
    if spec.user:
        service["user"] = spec.user
    if spec.unprivileged:
        service["cap_drop"] = ["ALL"]
        service["security_opt"] = ["no-new-privileges:true"]
    if spec.read_only:
        service["read_only"] = True
    if spec.tmpfs:
        service["tmpfs"] = [tmpfs_option(path) for path in spec.tmpfs]
    if spec.folder:
        service["working_dir"] = spec.folder
    if spec.runtime:
        service["runtime"] = spec.runtime
    environment = {**spec.environment, **spec.asked.environment}
    if environment:
        service["environment"] = {
            name: None if value is None else literal(value) for name, value in environment.items()
        }
    if spec.devices:
        service["devices"] = [f"{device}:{device}" for device in spec.devices]
    service["volumes"] = [
        *(_bind(source, where, driver=True) for source, where in spec.mounts.items()),
        *(_bind(source, where, driver=False) for source, where in spec.volumes.items()),
    ]
    if spec.ports:
        service["ports"] = [*spec.ports]
    return service


def _bind(source: str, where: str, *, driver: bool) -> dict[str, Any]:
    bind: dict[str, Any] = {"type": "bind", "source": literal(source), "target": literal(where)}
    if driver:
        return bind | {"read_only": True, "bind": {"create_host_path": False}}
    return bind | {"bind": {"create_host_path": True}}


def shell(workload: Workload, devices: RunSpec | None = None, program: str = "docker") -> str:
    """``docker run`` for a shell; ``devices`` are those of the host, if they are known.

    ``program`` may be podman, which makes no folders.
    """
    spec = run_spec(workload, devices)
    command = workload.command or (IDLE if spec.asked.detach else ())
    argv = spec.docker_argv(workload.image, workload.target.platform, command, program)
    if not command:  # the image's is a shell, which ends at once without a terminal
        argv[2:2] = ["--interactive", "--tty"]
    folders = [*workload.volumes] if program == "podman" else []
    made = shlex.join(["mkdir", "--parents", *folders]) + " && " if folders else ""
    return made + shell_text(argv) + "\n"


_WRITERS: Mapping[str, Callable[[Workload], str]] = {
    "shell": shell,
    "compose": compose_text,
    "podman": partial(shell, program="podman"),
    "quadlet": quadlet_text,
    "devcontainer": devcontainer_text,
    "apptainer": apptainer_text,
    "slurm": slurm_text,
    "k8s": kubernetes_text,
    "deployment": deployment_text,
    "volcano": volcano_text,
}

FORMATS = tuple(_WRITERS)


def text(format: str, workload: Workload) -> str:  # noqa: A002 - as the command line calls it
    """``workload`` in one of FORMATS; UsageError with all its problems."""
    workload.check(format)
    return _WRITERS[format](workload)
