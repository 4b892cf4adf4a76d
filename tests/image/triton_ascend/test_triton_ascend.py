# SPDX-License-Identifier: Apache-2.0
"""triton-ascend, whose module is called triton."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]

WHOSE = """
import triton, triton.language
from triton.backends import backends
print('backends', *sorted(backends))
"""


def test_version(facts: Facts, record: Facts) -> None:
    """triton-ascend is the target's version."""
    found = facts["distributions"]["triton-ascend"]["version"]
    assert found == record["components"]["triton_ascend"]


def test_module(host: Host, devlib: str) -> None:
    """The module triton is that of triton-ascend, which no other package has overwritten."""
    result = host.run(f"{devlib} python3 -c %s", WHOSE)
    assert result.rc == 0, result.stderr
    assert "backends ascend" in result.stdout, result.stdout
