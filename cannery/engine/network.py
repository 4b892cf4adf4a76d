# SPDX-License-Identifier: Apache-2.0
"""The engine's own network, on which containers reach this machine."""

from __future__ import annotations

from cannery.common.errors import EngineError, Problem
from cannery.common.process import run

_FORMAT = "{{range .IPAM.Config}}{{.Gateway}} {{end}}"


def bridge_address() -> str:
    """The address of this machine on the engine's bridge, where the steps of a build reach it.

    Raises:
        EngineError: the engine has no bridge, or it is on another machine.
    """
    code, said = run(["docker", "network", "inspect", "bridge", "--format", _FORMAT], capture=True)
    if code or not said.split():
        what = f"the engine has no network 'bridge' with an address: {said.strip()}"
        fix = "A bundle needs an engine on this machine with its usual network."
        raise EngineError(Problem(what=what, fix=fix))
    return said.split()[0]
