# SPDX-License-Identifier: Apache-2.0
"""SGLang."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]


def test_version(facts: Facts, locked: Any) -> None:
    """SGLang is the target's version."""
    assert facts["distributions"]["sglang"]["version"] in locked("sglang")


@pytest.mark.device
def test_command(host: Host) -> None:
    """Its server explains itself. Without a device it refuses to."""
    result = host.run("python3 -m sglang.launch_server --help")
    assert result.rc == 0, result.stdout + result.stderr
    assert "--model-path" in result.stdout
