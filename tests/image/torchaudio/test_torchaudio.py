# SPDX-License-Identifier: Apache-2.0
"""torchaudio."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]

RESAMPLE = """
import torch, torchaudio
print('samples', torchaudio.functional.resample(torch.ones(1, 8), 2, 1).shape[1])
"""


def test_version(facts: Facts, locked: Any) -> None:
    """torchaudio is the target's version."""
    found = facts["distributions"]["torchaudio"]["version"]
    assert found in locked("torchaudio")


def test_resamples(host: Host, devlib: str) -> None:
    """It imports with this torch and halves a number of samples."""
    result = host.run(f"{devlib} python3 -c %s", RESAMPLE)
    assert result.rc == 0, result.stderr
    assert "samples 4" in result.stdout
