# SPDX-License-Identifier: Apache-2.0
"""The toolkit's tests of collective communication, compiled, and the MPI that starts them."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]

BIN = "/usr/local/Ascend/ascend-toolkit/latest/tools/hccl_test/bin"
"""Where the toolkit's own Makefile puts them, in both of CANN's layouts."""

TESTS = (
    *("all_gather_test", "all_reduce_test", "alltoall_test", "alltoallv_test"),
    *("broadcast_test", "reduce_scatter_test", "reduce_test"),
)
"""Those of CANN 7.0.0; later releases have more."""

ELF_MACHINES = {"aarch64": "b7 00", "x86_64": "3e 00"}
"""The field e_machine of an ELF header."""

CARDS = 2
SIZE = 8192
"""Bytes on each card: small, because a simulated device reduces them one by one."""


def table(text: str) -> list[list[str]]:
    """The rows of a test's table: size, time, bandwidth and result."""
    rows = ([cell.strip() for cell in line.split("|")] for line in text.splitlines())
    return [row for row in rows if row[0].isdecimal()]


@pytest.mark.parametrize("name", TESTS)
def test_is_compiled_for_the_image(host: Host, record: Facts, name: str) -> None:
    """The program exists, is executable, and is for the image's architecture."""
    path = f"{BIN}/{name}"
    assert host.file(path).mode & 0o111 == 0o111
    header = host.check_output("od -An -tx1 -j18 -N2 %s", path).strip()
    assert header == ELF_MACHINES[record["machine"]]


def test_libraries(host: Host, devlib: str) -> None:
    """Every library that it is linked with is in the image, MPI's too."""
    said = host.check_output(f"{devlib} ldd {BIN}/all_reduce_test")
    assert "not found" not in said, said
    assert "libmpi" in said


@pytest.mark.device
@pytest.mark.parametrize(
    "options",
    ["all_reduce_test -d fp32 -o sum", "all_gather_test -d int8", "alltoall_test -d fp16"],
)
def test_cards_exchange_data(host: Host, options: str) -> None:
    """Two processes, each with a card of its own, exchange data and find it right."""
    name, *words = shlex.split(options)
    command = [f"{BIN}/{name}", *words, "-p", CARDS, "-b", SIZE, "-e", SIZE, "-n", 2, "-w", 1]
    result = host.run(f"mpirun -n {CARDS} {' '.join(map(str, command))}")
    assert result.rc == 0, result.stdout + result.stderr
    assert [(row[0], row[-1]) for row in table(result.stdout)] == [(str(SIZE), "success")]
