# SPDX-License-Identifier: Apache-2.0
"""compat.yaml holds every row that is known, and agrees with the rest of the project."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import Layout
from cannery.compat import cxx_abi
from cannery.matrix.project import Project
from cannery.matrix.schema import load_matrix
from tests.unit.matrices import OWN_FACTS

ROOT = Path(__file__).resolve().parents[2]
RAW: dict[str, Any] = yaml.load(OWN_FACTS.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
COMPAT = Project(root=ROOT).compat()


@pytest.mark.parametrize("row", COMPAT.rejected, ids=lambda row: row.torch_npu)
def test_rejected_rows_have_a_reason_and_are_wrong(row: Any) -> None:
    assert len(row.why) > 20
    try:
        version = Version(row.torch_npu)
    except InvalidVersion:
        return
    assert version.release != Version(row.torch).release


def test_every_row_has_a_source_with_a_date() -> None:
    known = {*RAW["sources"]}
    for name, rows in RAW.items():
        for row in rows if isinstance(rows, list) else []:
            names = [row["source"]] if isinstance(row["source"], str) else row["source"]
            assert names, name
            assert {*names} <= known
    assert all(source.date for source in COMPAT.sources.values())


def test_no_address_of_a_package_index_is_in_it() -> None:
    assert not re.search(r"https?://", OWN_FACTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("platform", ["linux/arm64", "linux/amd64"])
def test_the_abi_of_every_torch_and_of_every_target_with_nnal_is_known(platform: str) -> None:
    targets = load_matrix(ROOT / "matrix.yaml").targets.values()
    assert None not in {target.cxx_abi for target in targets if target.with_nnal}
    target = replace(next(each for each in targets if each.torch), platform=platform)
    for torch in {row.torch for row in COMPAT.pairings}:
        assert cxx_abi(replace(target, torch=torch), COMPAT) in (0, 1), torch


def test_every_release_of_a_row_has_one_layout_and_one_name_for_each_file() -> None:
    versions = {row.cann for row in COMPAT.pairings} | {row.cann for row in COMPAT.releases}
    for version in versions - {each for each in versions if each.is_interim}:
        assert len([row for row in COMPAT.layouts if version in row.cann]) == 1
        for chip in ("910b", "a3"):
            names = [
                row
                for row in COMPAT.files
                if row.component == "kernels" and version in row.cann and chip in row.chips
            ]
            assert len(names) == 1 or (chip == "a3" and version < CannVersion.parse("8.0.RC3"))
    assert "ascend-toolkit" in {str(layout) for layout in Layout}


def test_no_version_of_deepspeed_has_two_answers() -> None:
    versions = [f"0.{minor}.{patch}" for minor in range(20) for patch in range(12)]
    torches = sorted({row.torch for row in COMPAT.pairings})
    assert len(torches) > 10
    for version in versions:
        named = [row for row in COMPAT.deepspeed if version in row.version and row.rank == 1]
        for torch in torches:
            rows = [row for row in named if row.torch is None or row.torch.contains(torch)]
            answers = {(bool(row.plugin), bool(row.refused)) for row in rows}
            assert len(answers) <= 1, (version, torch)
