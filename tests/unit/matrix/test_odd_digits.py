# SPDX-License-Identifier: Apache-2.0
"""A version has digits of ASCII."""

from __future__ import annotations

import pytest

from cannery.common.errors import MatrixError
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import MATRIX


@pytest.mark.parametrize("digit", ["\u0662", "\u00b2", "\uff12"])
@pytest.mark.parametrize("version", ["2.3.1", "3.9.2"])
def test_odd_digits_in_a_version(digit: str, version: str) -> None:
    odd = version[:-1] + digit
    with pytest.raises(MatrixError, match=r"is not a version|no patch level"):
        parse_matrix(MATRIX.replace(version, odd), "matrix.yaml")
