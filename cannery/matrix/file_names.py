# SPDX-License-Identifier: Apache-2.0
"""The names of the files that say what the targets are."""

from __future__ import annotations

MATRIX = "matrix.yaml"
FACTS = "compat.yaml"
"""In the folder of MATRIX, whose targets are judged by it."""

SETTINGS = "cannery.toml"
