# SPDX-License-Identifier: Apache-2.0
"""What is needed, as options of ``docker run``; Compose is written from them too."""

from __future__ import annotations

from dataclasses import replace

from cannery.deploy.run_options import RunOptions
from cannery.deploy.run_spec import RunSpec, ascend_runtime, npus, simulated_device


def run_spec(options: RunOptions, devices: RunSpec | None = None) -> RunSpec:
    """The options for one host; ``devices`` is what it has, where that is known."""
    devices = devices or _devices(options)
    return replace(
        devices,
        shm_size=options.shm_size,
        volumes={**options.volumes, **options.mounts},
        ports=options.ports,
        environment={**devices.environment, **options.environment},
    )


def _devices(options: RunOptions) -> RunSpec:
    if options.simulate_host:
        return simulated_device(options.simulate_host, len(options.cards))
    return ascend_runtime(options.cards) if options.ascend else npus(options.cards)
