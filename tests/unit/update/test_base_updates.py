# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cannery.registry.client import LocatedImage
from cannery.update import base_updates
from cannery.update.base_updates import update_bases
from tests.unit.matrices import DIGEST, edited, make_checkout

FOUND = "sha256:" + "9" * 64
TEXT = edited(f"image: debian:11@sha256:{DIGEST}", 'image: "debian:11"  # the oldest')


@dataclass
class Registries:
    asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)

    def locate(
        self, references: Sequence[str], platforms: Sequence[str], ca: Path | None
    ) -> LocatedImage:
        assert ca is None
        self.asked.append((tuple(references), tuple(platforms)))
        return LocatedImage(reference=references[0], digest=FOUND, platforms={})


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> Registries:
    result = Registries()
    monkeypatch.setattr(base_updates, "locate", result.locate)
    return result


def test_digests_are_shown_and_not_written(
    tmp_path: Path, registries: Registries, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_checkout(tmp_path, TEXT).project
    images = update_bases(project, building="amd64", write=False, ca=None)
    assert registries.asked == [(("docker.io/library/debian:11",), ("linux/arm64",))]
    assert images == {"debian-11": f"debian:11@{FOUND}"}
    assert "add --write" in capsys.readouterr().err
    assert project.matrix_file.read_text(encoding="utf-8") == TEXT


def test_only_the_digest_is_written(tmp_path: Path, registries: Registries) -> None:
    project = make_checkout(tmp_path, TEXT).project
    update_bases(project, building="amd64", write=True, ca=None)
    after = project.matrix_file.read_text(encoding="utf-8")
    assert after == TEXT.replace('"debian:11"', f'"debian:11@{FOUND}"')
    assert project.matrix().targets["full"].base.is_pinned
    registries.asked.clear()
    update_bases(project, building="amd64", write=True, ca=None)
    assert registries.asked == []


def test_build_bases_get_a_digest(tmp_path: Path, registries: Registries) -> None:
    text = edited(f"image: debian:12@sha256:{DIGEST}", "image: debian:12")
    project = make_checkout(tmp_path, text).project
    update_bases(project, building="amd64", write=True, ca=None)
    assert registries.asked == [(("docker.io/library/debian:12",), ("linux/amd64",))]
    after = project.matrix_file.read_text(encoding="utf-8")
    assert after == text.replace("image: debian:12", f"image: debian:12@{FOUND}")
    assert project.matrix().targets["full"].build_base.is_pinned
