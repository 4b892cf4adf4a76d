# SPDX-License-Identifier: Apache-2.0
"""A matrix that has passed is not judged again, until one of its files or the code changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import cannery.compat
from cannery.common import cache as caches
from cannery.common.cache import Cache
from cannery.common.errors import CanneryError, FileError
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


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(folder=tmp_path / "state" / "cache")


def test_equal_files_are_judged_once(matrix: Path, cache: Cache, judgements: list[str]) -> None:
    first = load_matrix(matrix, cache)
    assert load_matrix(matrix, cache) == first
    assert judgements == ["compat.yaml"]
    assert load_matrix(matrix) == first
    assert judgements == ["compat.yaml"] * 2


@pytest.mark.parametrize("name", ["matrix.yaml", "compat.yaml"])
def test_a_changed_file_is_judged(
    matrix: Path, cache: Cache, judgements: list[str], name: str
) -> None:
    load_matrix(matrix, cache)
    path = matrix.parent / name
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    load_matrix(matrix, cache)
    assert len(judgements) == 2


def test_changed_code_judges_anew(
    matrix: Path,
    cache: Cache,
    judgements: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_matrix(matrix, cache)
    monkeypatch.setattr(caches, "PROGRAM", tmp_path / "other")
    caches.forget_program()
    load_matrix(matrix, cache)
    monkeypatch.undo()
    caches.forget_program()
    assert len(judgements) == 2


def test_what_was_refused_is_refused_again(tmp_path: Path, cache: Cache) -> None:
    text = edited("deepspeed: 0.15.0", "deepspeed: 0.99.0")
    matrix = make_checkout(tmp_path).project.root / "matrix.yaml"
    matrix.write_text(text, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(CanneryError, match=r"deepspeed 0\.99\.0"):
            load_matrix(matrix, cache)
    assert not cache.folder.exists()


def test_without_facts_nothing_passes(matrix: Path, cache: Cache) -> None:
    load_matrix(matrix, cache)
    (matrix.parent / "compat.yaml").unlink()
    with pytest.raises(FileError, match=r"compat\.yaml"):
        load_matrix(matrix, cache)
