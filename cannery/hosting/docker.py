# SPDX-License-Identifier: Apache-2.0
"""What is needed, as options of ``docker run``; Compose is written from them too."""

from __future__ import annotations

from dataclasses import replace

from cannery.hosting.needs import Needs
from cannery.runspec import RunSpec, ascend_runtime, npus, simulated_device


def run_spec(needs: Needs, devices: RunSpec | None = None) -> RunSpec:
    """The options for one host; ``devices`` is what it has, where that is known."""
    devices = devices or _devices(needs)
    return replace(
        devices,
        shm_size=needs.shm_size,
        volumes={**needs.volumes, **needs.mounts},
        ports=needs.ports,
        environment={**devices.environment, **needs.environment},
    )


def _devices(needs: Needs) -> RunSpec:
    if needs.simulate_host:
        return simulated_device(needs.simulate_host, len(needs.cards))
    return ascend_runtime(needs.cards) if needs.ascend else npus(needs.cards)
