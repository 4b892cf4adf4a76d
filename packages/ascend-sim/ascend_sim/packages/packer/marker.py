# SPDX-License-Identifier: Apache-2.0
"""How everything that is packed says that it is a stand-in."""

from __future__ import annotations

FILE = "SIMULATED"
"""Lies at the root of every tree, the driver's and the apex wheel's included."""

FOLDER = "simulated"
"""Below the install path, with a file for each installed package: one place to look at."""

HEAD = "# SIMULATED by cannery: no vendor software."
"""The second line of every .run file."""


def text(name: str) -> str:
    """What a marker says of the stand-in for ``name``."""
    return (
        f"This {name} is a software stand-in made by cannery's simulator; "
        "it contains nothing of the vendor's and drives no NPU.\n"
    )
