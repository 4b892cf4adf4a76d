# SPDX-License-Identifier: Apache-2.0
"""A matrix that has passed is not judged again, until one of its files or the code changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import cannery.compat
from cannery.errors import CanneryError, FileError
from cannery.matrix import passed as memory
from cannery.matrix.schema import load_matrix
from tests.unit.matrices import edited, make_checkout


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    return make_checkout(tmp_path).project.root / "matrix.yaml"


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the facts, once for each time that a matrix is judged by them."""
    found: list[str] = []
    parse_compat = cannery.compat.parse_compat

    def counted(text: str, name: str) -> cannery.compat.Compat:
        found.append(name)
        return parse_compat(text, name)

    monkeypatch.setattr(cannery.compat, "parse_compat", counted)
    return found


def test_equal_files_are_judged_once(matrix: Path, judgements: list[str]) -> None:
    passed = matrix.parent / "state" / "passed"
    first = load_matrix(matrix, passed)
    assert load_matrix(matrix, passed) == first
    assert judgements == ["compat.yaml"]
    assert load_matrix(matrix) == first
    assert judgements == ["compat.yaml"] * 2


@pytest.mark.parametrize("name", ["matrix.yaml", "compat.yaml"])
def test_a_changed_file_is_judged(matrix: Path, judgements: list[str], name: str) -> None:
    passed = matrix.parent / "passed"
    load_matrix(matrix, passed)
    path = matrix.parent / name
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    load_matrix(matrix, passed)
    assert len(judgements) == 2


def test_changed_code_judges_anew(
    matrix: Path, judgements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = matrix.parent / "passed"
    load_matrix(matrix, passed)
    monkeypatch.setattr(memory, "_JUDGING", ("compat/*.py",))
    load_matrix(matrix, passed)
    assert len(judgements) == 2


def test_what_was_refused_is_refused_again(tmp_path: Path) -> None:
    text = edited("deepspeed: 0.15.0", "deepspeed: 0.99.0")
    passed = tmp_path / "passed"
    matrix = make_checkout(tmp_path).project.root / "matrix.yaml"
    matrix.write_text(text, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(CanneryError, match=r"deepspeed 0\.99\.0"):
            load_matrix(matrix, passed)
    assert not passed.exists()


def test_without_facts_nothing_passes(matrix: Path) -> None:
    passed = matrix.parent / "passed"
    load_matrix(matrix, passed)
    (matrix.parent / "compat.yaml").unlink()
    with pytest.raises(FileError, match=r"compat\.yaml"):
        load_matrix(matrix, passed)


@pytest.mark.parametrize("content", [b"", b"\xff", b"passed"])
def test_another_content_of_the_memory_is_no_pass(
    matrix: Path, judgements: list[str], content: bytes
) -> None:
    passed = matrix.parent / "passed"
    passed.write_bytes(content)
    load_matrix(matrix, passed)
    assert len(judgements) == 1


def test_a_memory_that_cannot_be_written_is_no_error(matrix: Path) -> None:
    (matrix.parent / "file").touch()
    assert load_matrix(matrix, matrix.parent / "file" / "passed").targets
