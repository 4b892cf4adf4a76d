# SPDX-License-Identifier: Apache-2.0
"""OpenCompass."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]


def test_imports(probe: Any, record: Facts) -> None:
    """OpenCompass imports, in the target's version."""
    answer = probe("imports", "opencompass", "opencompass.tasks", "opencompass.models")
    for name in ("opencompass", "opencompass.tasks", "opencompass.models"):
        assert not answer[name]["error"], answer[name]["error"]
    assert answer["opencompass"]["version"] == record["components"]["opencompass"]


def test_command(host: Host) -> None:
    """The command ``opencompass`` starts and explains itself."""
    result = host.run("opencompass --help")
    assert result.rc == 0, result.stdout + result.stderr
    assert "--models" in result.stdout
