# SPDX-License-Identifier: Apache-2.0
"""The HCCL tests of the simulated toolkit, compiled by their Makefile and started by MPI."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from .hosts import FOLDER, Host

SOURCES = FOLDER / "ascend_sim" / "packages" / "toolkit" / "hccl_test"
MPI = f"/usr/lib/{platform.machine()}-linux-gnu/mpich"
"""Where Debian's libmpich-dev has the folder that the Makefile calls MPI_HOME."""

TESTS = (
    *("all_gather_test", "all_reduce_test", "alltoall_test", "alltoallv_test"),
    *("broadcast_test", "reduce_scatter_test", "reduce_test", "scatter_test"),
)
TYPES = ("int8", "fp16", "bfp16", "fp32", "fp64", "uint64")

SILENT = """
extern "C" int HcclAllReduce(void*, void*, unsigned long, int, int, void*, void*) { return 0; }
"""
"""In place of the device's, which leaves the result as it was."""


@pytest.fixture(scope="module")
def compiled(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs."""
    folder = tmp_path_factory.mktemp("tools") / "hccl_test"
    shutil.copytree(SOURCES, folder)
    places = (f"MPI_HOME={MPI}", f"ASCEND_DIR={built / 'toolkit'}")
    subprocess.run(["make", "--directory", folder, *places], check=True)
    return folder / "bin"


def run(
    host: Host, program: Path, options: str, ranks: int = 2, **changes: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        "LD_LIBRARY_PATH": f"{host.driver_library}:{host.built / 'toolkit/lib64'}",
        # MPI's UCX fails if a network device goes away while it starts, as those of engines do.
        "UCX_NET_DEVICES": "lo",
    }
    return subprocess.run(
        ["mpirun", "-n", str(ranks), program, *options.split()],
        env=host.environment({**environment, **changes}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def results(said: str) -> list[tuple[str, str]]:
    """The size and the result of each row of the table."""
    rows = ([cell.strip() for cell in line.split("|")] for line in said.splitlines())
    return [(row[0], row[-1]) for row in rows if row[0].isdecimal()]


def test_there_is_a_program_for_each_operation(compiled: Path) -> None:
    assert sorted(each.name for each in compiled.iterdir()) == [*TESTS]


@pytest.mark.parametrize("name", TESTS)
def test_three_ranks_exchange_data_of_every_type(host: Host, compiled: Path, name: str) -> None:
    for number, each in enumerate(TYPES):
        operator = ("sum", "prod", "max", "min")[number % 4]
        options = f"-p 3 -b 600 -e 1200 -f 2 -n 2 -w 1 -r 2 -d {each} -o {operator}"
        result = run(host, compiled / name, options, ranks=3)
        assert result.returncode == 0, result.stderr
        assert results(result.stdout) == [("600", "success"), ("1200", "success")], each


def test_a_wrong_result_is_found(host: Host, compiled: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "silent.cpp", tmp_path / "silent.so"
    source.write_text(SILENT)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, source], check=True)
    options = "-b 1K -e 1K -n 1 -w 0"
    preload = f"{host.sanitizer.get('LD_PRELOAD', '')} {library}"
    result = run(host, compiled / "all_reduce_test", options, LD_PRELOAD=preload)
    assert results(result.stdout) == [("1024", "failed")]
    assert result.returncode == 1


@pytest.mark.parametrize("options", ["-c 0", "-d int8 -o prod"])
def test_an_unchecked_result_is_null(host: Host, compiled: Path, options: str) -> None:
    """As the vendor's: not asked for, or a product of so many ranks does not fit the type."""
    result = run(host, compiled / "all_reduce_test", f"-b 1K -e 1K {options}", ranks=8)
    assert (result.returncode, results(result.stdout)) == (0, [("1024", "NULL")])


def test_sizes_grow_by_steps_and_units(host: Host, compiled: Path) -> None:
    result = run(host, compiled / "broadcast_test", "-b 1K -e 2K -i 512 -n 1 -w 0")
    assert [size for size, _ in results(result.stdout)] == ["1024", "1536", "2048"]


def test_the_cards_can_be_named(host: Host, compiled: Path) -> None:
    program = compiled / "all_reduce_test"
    assert run(host, program, "-b 1K -e 1K", HCCL_TEST_USE_DEVS="4,5").returncode == 0
    result = run(host, program, "-b 1K -e 1K", HCCL_TEST_USE_DEVS="4,50")
    assert result.returncode != 0
    assert "aclrtSetDevice failed" in result.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("-d fp33", "there is no type 'fp33': use int8,"),
        ("-o avg", "there is no operator 'avg': use sum, prod, max or min"),
        ("-b 1T", "'1T' is not a size: write 8192, 8K, 64M or 1G"),
        ("-b 2K -e 1K", "-b is larger than -e"),
        ("-i 1K -f 2", "-i and -f exclude each other"),
        ("-f 1", "'1' is not a number from 2 to 1048576"),
        ("-n -1", "'-1' is not a number"),
        ("-p 9", "-p is 9, and this node has 8 cards"),
        ("-p 1", "mpirun has started more processes here than -p says: 1"),
        ("-r 2", "-r is 2, and the last rank is 1"),
        ("-z 1", "zero copy (-z 1) is not simulated"),
        ("-q 1", "the options are -p -b -e"),
        ("more", "'more' is not an option"),
    ],
)
def test_wrong_options_are_named(host: Host, compiled: Path, options: str, complaint: str) -> None:
    result = run(host, compiled / "reduce_test", options)
    assert result.returncode != 0
    assert complaint in result.stderr
