# SPDX-License-Identifier: Apache-2.0
"""Mooncake's transfer engine, built for NPUs."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]

NOT_SIMULATED = {"libllm_datadist.so", "libmetadef.so"}
"""Libraries of CANN that it needs and the software device does not have."""


def test_version(facts: Facts, locked: Any) -> None:
    """Mooncake is the target's version."""
    found = facts["distributions"]["mooncake-transfer-engine-npu"]["version"]
    assert found in locked("mooncake-transfer-engine-npu")


def test_libraries(host: Host, record: Facts, simulated: bool) -> None:
    """Every library that it is linked with is in the image."""
    engine = f"{record['site_packages']}/mooncake/engine.so"
    said = host.check_output("ldd %s", engine)
    missing = {line.split()[0] for line in said.splitlines() if "not found" in line}
    assert missing <= (NOT_SIMULATED if simulated else set()), said
