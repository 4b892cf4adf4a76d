# SPDX-License-Identifier: Apache-2.0
"""torchaudio."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult

Facts = dict[str, Any]

RESAMPLE = """
import torch, torchaudio
print('samples', torchaudio.functional.resample(torch.ones(1, 8), 2, 1).shape[1])
"""


def test_version(facts: Facts, locked: Any) -> None:
    """torchaudio is the target's version."""
    found = facts["distributions"]["torchaudio"]["version"]
    assert found in locked("torchaudio")


@pytest.mark.with_torch(program=RESAMPLE)
def test_resamples(ran: CommandResult) -> None:
    """It imports with this torch and halves a number of samples."""
    assert ran.rc == 0, ran.stderr
    assert "samples 4" in ran.stdout
