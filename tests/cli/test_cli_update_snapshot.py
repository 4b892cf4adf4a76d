# SPDX-License-Identifier: Apache-2.0
"""``build.py update --snapshot`` changes the dates of bases, and nothing else."""

from __future__ import annotations

import re

import pytest

from cannery.matrix.project import Project
from tests.cli.checkout import Checkout

OLD, NEW = "20261101T000000Z", "20261122T000000Z"
TARGET = ("--target", "py39-torch231-cann8t39")


@pytest.fixture
def dated(checkout: Checkout) -> Checkout:
    """A checkout whose base debian-11 has a snapshot."""
    path = checkout.root / "cannery/data/bases.yaml"
    text = path.read_text(encoding="utf-8")
    image = re.compile(r"image: debian:bullseye-slim@sha256:\w+")
    text, count = image.subn(f'snapshot: "{OLD}"  # dated', text)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    return checkout


def test_only_the_date_changes(dated: Checkout) -> None:
    path = dated.root / "cannery/data/bases.yaml"
    before = path.read_text(encoding="utf-8")
    done = dated.run("update", "--snapshot", NEW, "--write", *TARGET)
    done.accepted("now run: python build.py render")
    assert done.out == f"debian-11: {OLD} -> {NEW}\n"
    assert path.read_text(encoding="utf-8") == before.replace(OLD, NEW)
    base = Project(root=dated.root).matrix().targets[TARGET[1]].base
    assert (base.snapshot, base.image) == (NEW, f"debian:bullseye-{NEW}")
    dated.run("update", "--snapshot", NEW, "--write").accepted("have the snapshot")


def test_without_write_nothing_changes(dated: Checkout) -> None:
    before = (dated.root / "cannery/data/bases.yaml").read_bytes()
    dated.run("update", "--snapshot", NEW).accepted("nothing was written; add --write")
    assert (dated.root / "cannery/data/bases.yaml").read_bytes() == before


def test_bases_without_a_snapshot(checkout: Checkout) -> None:
    said = "no base of these targets has a snapshot. Write 'snapshot' in place of 'image'"
    checkout.run("update", "--snapshot", NEW).refused(2, said)


@pytest.mark.parametrize("time", ["today", "2026-11-22", "20261122"])
def test_a_time_in_another_form(checkout: Checkout, time: str) -> None:
    checkout.run("update", "--snapshot", time).refused(2, f"invalid time of a snapshot '{time}'")


def test_a_day_that_does_not_exist(dated: Checkout) -> None:
    before = (dated.root / "cannery/data/bases.yaml").read_bytes()
    done = dated.run("update", "--snapshot", "20260231T000000Z", "--write")
    assert done.code == 3
    assert "is not a time of a snapshot" in done.err
    assert (dated.root / "cannery/data/bases.yaml").read_bytes() == before
