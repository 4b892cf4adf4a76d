# SPDX-License-Identifier: Apache-2.0
"""What facts.json says: the wheel writes down there what is known of CANN when it is built."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
FILE = "facts.json"


@dataclass(frozen=True)
class Release:
    """A CANN release. ``kernels`` maps a chip to its package; ``nnal`` is "" if there is none.

    ``lacks`` are the symbols that the device has and this release does not, and ``variables``
    those of NNAL's set_env.sh.
    """

    version: str
    layout: str
    driver: str
    toolkit: str
    nnal: str
    kernels: dict[str, str]
    lacks: list[str]
    variables: dict[str, str]


@dataclass(frozen=True)
class Facts:
    """What this wheel is, and what it can simulate.

    ``content`` is a hash of the wheel's other files, ``links`` maps the links that belong to the
    device, all in its folder toolkit, to their targets, ``chips`` are the names of the chips, the
    usual one first, and ``cann_of_torch_npu`` maps the version of a torch_npu to that of the CANN
    that it was made for. The oldest release is the first.
    """

    version: str
    architecture: str
    content: str
    links: dict[str, str]
    chips: list[str]
    cards: int
    newest: str
    releases: dict[str, Release]
    cann_of_torch_npu: dict[str, str]

    @classmethod
    def read(cls, package: Path = PACKAGE) -> Facts:
        """Those of the wheel that this module was installed from."""
        return facts_from(json.loads((package / FILE).read_text(encoding="utf-8")))


def facts_from(values: dict[str, Any]) -> Facts:
    """The facts with the values of such a file."""
    releases = [Release(**each) for each in values["releases"]]
    return Facts(**{**values, "releases": {each.version: each for each in releases}})
