# SPDX-License-Identifier: Apache-2.0
"""What is proposed for a CANN release where matrix.yaml names the files of its layout once."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cannery.common.errors import MatrixError
from cannery.matrix.schema import parse_matrix
from tests.unit import proposals
from tests.unit.matrices import edited

LAYOUTS = """\
cann_layouts:
  ascend-toolkit:
    origin: Huawei
    toolkit: Ascend-cann-toolkit_{release}_linux-{machine}.run
    kernels:
      default: Ascend-cann-kernels-{chip}_{release}_linux-{machine}.run
      a3: Atlas-A3-cann-kernels_{release}_linux-{machine}.run
    nnal: Ascend-cann-nnal_{release}_linux-{machine}.run
    requirements: [numpy<2]

cann:
  8.1.RC1:
    layout: ascend-toolkit
    chips: [910b]  # the usual one
  8.2.RC1:
    layout: ascend-toolkit
    without: [nnal]
    kernels:
      910b: {file: own.run}
  8.3.RC2:
    layout: ascend-toolkit
    chips:
      - 910b
"""
TEXT = edited("cann:\n  8.0.RC2", f"{LAYOUTS}  8.0.RC2")


def proposed(text: str = TEXT, **options: object) -> tuple[str, str]:
    """The matrix with the proposal, and the mapping ``cann`` of the new target."""
    proposal, after = proposals.proposed(text, id="mine", python="3.9", **options)
    parse_matrix(after, "matrix.yaml")
    [line] = [line for line in proposal.entries[-1][1] if line.startswith("  cann: ")]
    return after, line


def releases(text: str) -> dict[str, Any]:
    result: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)["cann"]
    return result


def test_a_new_release_lists_its_chips_only() -> None:
    text, cann = proposed(torch="2.8.0", cann="8.3.RC1")
    chips = ["310p", "910", "910b", "a3"]
    assert releases(text)["8.3.RC1"] == {"layout": "ascend-toolkit", "chips": chips}
    assert cann == "  cann: 8.3.RC1"


def test_a_release_whose_files_are_named_otherwise_declares_them() -> None:
    text, cann = proposed(torch="2.1.0", cann="8.0.RC1")
    release = releases(text)["8.0.RC1"]
    assert release["without"] == ["nnal"]
    assert release["kernels"]["910b"]["file"] == "Ascend-cann-kernels-910b_8.0.RC1_linux.run"
    assert "toolkit" not in release
    assert "requirements" not in release
    assert "nnal" not in cann


def test_a_missing_chip_is_added_to_the_list() -> None:
    text, cann = proposed(torch="2.5.1", cann="8.1.RC1", chip="a3")
    assert "    chips: [910b, a3]  # the usual one\n" in text
    assert text.replace(", a3]  # the", "]  # the").startswith(TEXT.partition("targets:")[0])
    assert cann == "  cann: 8.1.RC1"


def test_a_missing_chip_is_added_to_the_declared_ones() -> None:
    text, cann = proposed(torch="2.6.0", cann="8.2.RC1", chip="a3")
    kernels = releases(text)["8.2.RC1"]["kernels"]
    assert kernels["a3"]["file"] == "Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64.run"
    assert "nnal" not in cann


def test_a_missing_chip_is_added_to_a_list_in_lines() -> None:
    text, _ = proposed(torch="2.7.1", cann="8.3.RC2", chip="a3")
    assert "      - 910b\n      - a3\n" in text


def test_a_list_that_is_an_alias_is_not_changed() -> None:
    text = edited("    chips: [910b]  # the usual one", "    chips: &chips [910b]", TEXT)
    text = edited("    chips:\n      - 910b\n", "    chips: *chips\n", text)
    with pytest.raises(MatrixError) as caught:
        proposed(text, torch="2.7.1", cann="8.3.RC2", chip="a3")
    assert "cannot add to cann.8.3.RC2.chips in matrix.yaml" in str(caught.value)
