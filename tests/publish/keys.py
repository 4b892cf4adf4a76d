# SPDX-License-Identifier: Apache-2.0
"""Keys to sign with."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cannery.publish.cosign import PASSWORD
from tests.programs import need

SECRET = "battery staple"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A key pair, as files."""

    private: str
    public: str


def make_pair(folder: Path, password: str = SECRET) -> Pair:
    """A new pair in ``folder``, whose private key has ``password``."""
    cosign = need("signatures", "cosign")
    folder.mkdir()
    subprocess.run(
        [cosign, "generate-key-pair"],
        cwd=folder,
        env={**os.environ, PASSWORD: password},
        check=True,
        capture_output=True,
    )
    return Pair(private=str(folder / "cosign.key"), public=str(folder / "cosign.pub"))
