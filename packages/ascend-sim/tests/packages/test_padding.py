# SPDX-License-Identifier: Apache-2.0
"""Packages of the vendor's size: the same bytes each time, and processes for each file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ascend_sim.packages.packer.padding import sizes

from .conftest import KERNELS, TOOLKIT, Machine, Packed, make_spec, run_pack, unpacked

FILES, SIZE = 250, 2_000_000
LIST = "ascend-toolkit/8.0.T39/opp_kernel/script/filelist.csv"


def padded(device: Path, folder: Path) -> Path:
    """The kernels with additional files."""
    folder.mkdir()
    spec = make_spec("8.0.T39")
    entry = spec["packages"][1]
    spec["packages"] = [{**entry, "padding": {"size": SIZE, "files": {"opp_kernel": FILES}}}]
    result = run_pack(spec, device, folder / "out", folder)
    assert result.returncode == 0, result.stderr
    return folder / "out/artifacts" / str(entry["file"])


@pytest.fixture(scope="module")
def large(device: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return padded(device, tmp_path_factory.mktemp("padded") / "first")


def files_of(file: Path, folder: Path) -> dict[str, bytes]:
    tree = unpacked(file, folder)
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


def test_files_are_added(t39: Packed, large: Path, tmp_path: Path) -> None:
    small, found = files_of(t39.file(KERNELS), tmp_path / "a"), files_of(large, tmp_path / "b")
    added = {name: text for name, text in found.items() if name not in small}
    short, long = (files.pop(LIST).splitlines() for files in (small, found))
    assert len(long) - len(short) == FILES
    assert small == {name: found[name] for name in small}
    assert len(added) == FILES
    assert sum(map(len, added.values())) == SIZE
    assert all("/kernel/ascend910b/padding/opp_kernel/" in name for name in added)


def test_equal_arguments_give_equal_bytes(device: Path, large: Path, tmp_path: Path) -> None:
    assert padded(device, tmp_path / "again").read_bytes() == large.read_bytes()


def test_the_content_compresses_as_binaries_do(large: Path) -> None:
    assert 0.4 < large.stat().st_size / SIZE < 0.65


def test_each_file_takes_processes(machine: Machine, t39: Packed, large: Path) -> None:
    """As the vendor's installers, which start 7 to 11 for each line of their lists."""
    machine.must_install(t39.file(TOOLKIT))
    log = machine.root / "calls"
    for name in ("cp", "chmod", "chown", "dirname"):
        machine.shim(name, f'echo {name} >>"{log}"; exec "$REAL" "$@"')
    machine.must_install(large)
    calls = log.read_text().split()
    for name in ("cp", "chmod", "chown", "dirname"):
        assert calls.count(name) >= FILES


def test_the_sizes_differ_and_have_the_right_sum() -> None:
    found = sizes(FILES, SIZE, random.Random(1))
    assert sum(found) == SIZE
    assert len(found) == FILES
    assert max(found) > 10 * min(found)


def test_a_wrong_padding_is_refused(device: Path, tmp_path: Path) -> None:
    spec = make_spec("8.0.T39")
    spec["packages"][0]["padding"] = {"size": "1", "files": {"opp": -1}, "more": 1}
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 1
    for problem in (
        "spec.packages[0].padding.size: expected a number, found '1'",
        "spec.packages[0].padding.files.opp: expected a number, found -1",
        "spec.packages[0].padding.more: unknown key",
    ):
        assert problem in result.stderr
