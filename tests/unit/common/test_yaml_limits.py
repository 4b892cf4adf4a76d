# SPDX-License-Identifier: Apache-2.0
"""A file that is too much, or is no file, is refused in time and with a sentence."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, FileError, MatrixError
from cannery.common.yaml_reader import Section, parse_yaml, read_yaml


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Ends a test that hangs, which is what several of these once did."""

    def ring(_signal: int, _frame: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def names(top: Section) -> list[str]:
    return [name for name, _ in top.sections()]


def read(path: Path) -> str:
    """What is said of the file in ``path``, which is refused."""
    with pytest.raises(CanneryError) as caught:
        read_yaml(path, path.name, names)
    return str(caught.value)


def test_a_loop_of_links(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.symlink_to("other.yaml")
    (tmp_path / "other.yaml").symlink_to("matrix.yaml")
    said = read(path)
    assert said.startswith(f"cannot read {path}: too many levels of symbolic links.")


@pytest.mark.parametrize(
    ("device", "kind"), [("/dev/zero", "a device"), ("/dev/null", "a device"), ("/", "a directory")]
)
def test_a_device_or_a_directory(tmp_path: Path, device: str, kind: str) -> None:
    path = tmp_path / "matrix.yaml"
    path.symlink_to(device)
    assert read(path) == (
        f"cannot read {path}: it is {kind}, not a regular file. "
        "Check that it is there and that you may read it."
    )


def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    os.mkfifo(path)
    with pytest.raises(FileError, match="it is a pipe, not a regular file"):
        read_yaml(path, path.name, names)


def test_a_file_of_nine_megabytes_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text("".join(f"key-{number:06}: {{}}\n" for number in range(560_000)))
    begun = time.monotonic()
    assert read(path) == (
        "matrix.yaml is larger than 4 MB, the most that is read. Divide or shorten it."
    )
    assert time.monotonic() - begun < 5


def test_a_file_of_a_terabyte_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.touch()
    os.truncate(path, 1 << 40)
    assert "is larger than 4 MB" in read(path)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_a_nesting_that_would_end_the_process(opening: str) -> None:
    with pytest.raises(MatrixError) as caught:
        parse_yaml(opening * 40_000, "matrix.yaml", names)
    [problem] = caught.value.problems
    assert problem.what == "values are nested more than 100 deep."
    assert problem.where
    assert (problem.where.line, problem.where.column) == (1, 100 * len(opening) + 1)


def test_a_nesting_that_is_let_in() -> None:
    text = "a: " + "[" * 99 + "]" * 99
    assert parse_yaml(text, "matrix.yaml", lambda top: top.take("a")) is not None


@pytest.mark.parametrize(
    ("text", "column"),
    [("a: ! [1]", 4), ("a: ! {b: c}", 4), ("a: !!str x", 4), ("a: !!seq [1]", 4), ("!x {}", 1)],
)
def test_a_tag_of_any_value(text: str, column: int) -> None:
    with pytest.raises(MatrixError, match="has no meaning here") as caught:
        parse_yaml(text, "matrix.yaml", names)
    assert str(caught.value).startswith(f"matrix.yaml:1:{column}: ")


def test_a_scalar_below_the_last_level_that_is_let_in() -> None:
    text = "a: " + "[" * 99 + "x" + "]" * 99
    assert parse_yaml(text, "matrix.yaml", lambda top: top.take("a")) is not None


def test_too_many_values() -> None:
    text = "a: [" + "b," * 1_000_000 + "]\n"
    with pytest.raises(MatrixError, match="more than 500,000 values") as caught:
        parse_yaml(text, "matrix.yaml", names)
    assert "Divide or shorten it." in str(caught.value)


@pytest.mark.slow
def test_a_flood_of_mistakes_is_cut_off() -> None:
    text = "".join(f"unknown-key-number-{number:06}: v\n" for number in range(100_000))
    begun = time.process_time()
    with pytest.raises(MatrixError) as caught:
        parse_yaml(text, "matrix.yaml", lambda top: top.text("schema", required=False))
    *shown, last = caught.value.problems
    assert len(shown) == 1000
    assert last.what == "There are more problems; only the first 1,000 are listed."
    assert str(last).startswith("matrix.yaml:1001:1: ")
    assert [problem.where.line for problem in shown if problem.where] == [*range(1, 1001)]
    assert time.process_time() - begun < 20


def test_nothing_of_a_file_that_is_too_large_is_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.touch()
    os.truncate(path, 1 << 33)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
