# SPDX-License-Identifier: Apache-2.0
"""Proposals for the small matrix of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cannery.common.model import Target
from cannery.compat.files import load_archives
from cannery.matrix.schema import parse_matrix
from cannery.matrix.text import MatrixText
from cannery.update.choice import NewOptions
from cannery.update.propose import Proposal, propose
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import MATRIX

ARCHIVES = load_archives()
# The small matrix is of made-up versions: only its parts are wanted here.
TEXT = (
    MATRIX.replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1")
    .replace("torch_npu: 2.1.0.post6", "torch_npu: 2.1.0.post8")
    .replace("_public: 8.0.RC3\n", "_public: 8.0.RC3\n    requirements: [numpy<2]\n")
)


@cache
def targets_of(text: str) -> Mapping[str, Target]:
    return parse_matrix(text, "matrix.yaml").targets


def proposed(text: str = TEXT, **options: object) -> tuple[Proposal, str]:
    """The proposal, and the matrix with it."""
    matrix = MatrixText({"matrix.yaml": text})
    chosen = NewOptions(**options)  # type: ignore[arg-type]
    found = propose(chosen, COMPAT, matrix, ARCHIVES, targets_of(text))
    for where, lines in found.entries:
        matrix.add(where, lines)
    return found, matrix.files["matrix.yaml"]
