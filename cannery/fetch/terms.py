# SPDX-License-Identifier: Apache-2.0
"""What the user has agreed to, and the files that need more than that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import Problem
from cannery.common.sources import File


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the user has agreed to.

    ``accepted_by`` is who accepts the vendor's licence, empty for nobody. ``first_use`` says that
    a file without a published hash is trusted once. ``cann_ca`` has the certificates that the
    vendor's signatures must lead to.
    """

    accepted_by: str = ""
    first_use: bool = False
    cann_ca: Path | None = None

    def against(self, file: File) -> list[Problem]:
        """Why ``file`` may not be downloaded."""
        problems = []
        if file.eula and not self.accepted_by:
            what = f"{file.name} is downloaded only after its licence was accepted: {file.eula}"
            fix = "Read it, then add --accept-eula NAME with the name of who accepts it."
            problems.append(Problem(what=what, fix=fix))
        if not (file.sha256 or file.zip or self.first_use):
            what = f"nobody publishes a sha256 of {file.name}, so a download cannot be verified."
            fix = "Add --trust-first-use to write the hash of the first download into matrix.yaml."
            problems.append(Problem(what=what, fix=f"{fix} Or get it from: {file.origin}."))
        return problems
