# SPDX-License-Identifier: Apache-2.0
"""Makes the options of ``docker run``, from which files for Compose are written, too."""

from __future__ import annotations

from dataclasses import replace

from cannery.deploy.run_spec import RunSpec, ascend_runtime, npus, simulated_device
from cannery.deploy.workload import Workload


def run_spec(workload: Workload, devices: RunSpec | None = None) -> RunSpec:
    """The options for one host; ``devices`` are those of the host, if they are known."""
    devices = devices or _devices(workload)
    return replace(
        devices,
        shm_size=workload.shm_size,
        user=workload.user,
        unprivileged=workload.unprivileged,
        read_only=workload.read_only,
        tmpfs=workload.tmpfs,
        folder=workload.folder,
        volumes={**workload.volumes, **workload.mounts},
        ports=workload.ports,
        environment={**devices.environment, **workload.environment},
    )


def _devices(workload: Workload) -> RunSpec:
    if workload.simulate_host:
        return simulated_device(workload.simulate_host, len(workload.cards))
    return ascend_runtime(workload.cards) if workload.ascend else npus(workload.cards)
