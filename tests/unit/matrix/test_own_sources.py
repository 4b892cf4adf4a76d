# SPDX-License-Identifier: Apache-2.0
"""The images and mirrors of cannery.toml, in the targets of a matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.models import parse_toml_as
from cannery.matrix.schema import parse_matrix
from cannery.matrix.settings import Settings, at_mirrors, with_settings
from tests.unit.matrices import DIGEST, MATRIX, make_checkout

MATRIX_READ = parse_matrix(MATRIX, "matrix.yaml")
AT = f"@sha256:{DIGEST}"
IMAGE = f"quay.example/ascend/cann{AT}"

REFERENCES = {
    f"debian:11{AT}": f"mirror.test/hub/library/debian{AT}",
    f"me/debian:11{AT}": f"mirror.test/hub/me/debian{AT}",
    f"docker.io/me/debian{AT}": f"mirror.test/hub/me/debian{AT}",
    f"quay.example/ascend/cann:9.1.0{AT}": f"127.0.0.1:5000/ascend/cann{AT}",
    f"localhost/x{AT}": "",
    f"other.test:5000/x:1{AT}": "",
}


@pytest.mark.parametrize(("reference", "found"), REFERENCES.items())
def test_the_same_image_at_a_mirror(reference: str, found: str) -> None:
    mirrors = {"docker.io": ("mirror.test/hub",), "quay.example": ("127.0.0.1:5000",)}
    assert at_mirrors(reference, mirrors) == ((found,) if found else ())


def test_targets_have_the_mirrors_of_their_bases() -> None:
    settings = Settings(mirrors={"docker.io": ("one.test", "two.test/x")})
    target = with_settings(MATRIX_READ, settings).targets["full"]
    path = f"library/debian{AT}"
    assert target.base.mirrors == (f"one.test/{path}", f"two.test/x/{path}")
    assert target.build_base.mirrors == target.base.mirrors
    assert target.base.image == f"debian:11{AT}"


def test_bases_of_a_repository_have_its_program_for_stand_ins(tmp_path: Path) -> None:
    program = tmp_path / "standin-base"
    program.touch()
    settings = Settings.model_validate({"stand-ins": {"docker.io/library/debian": str(program)}})
    target = with_settings(MATRIX_READ, settings).targets["full"]
    assert target.base.stand_in == target.build_base.stand_in == program
    settings = Settings.model_validate({"stand-ins": {"mirror.test/library/debian": str(program)}})
    assert with_settings(MATRIX_READ, settings).targets["full"].base.stand_in is None


def test_an_own_image_replaces_the_image_of_the_matrix() -> None:
    settings = Settings(images={"8.0.RC2": {"910b": IMAGE}})
    targets = with_settings(MATRIX_READ, settings).targets.values()
    found = {target.cann.version: dict(target.cann.images) for target in targets}
    assert found.pop("8.0.RC2") == {"910b": IMAGE}
    assert not any(found.values())


def test_without_settings_the_matrix_is_left_as_it_is() -> None:
    assert with_settings(MATRIX_READ, Settings()) is MATRIX_READ


def test_unknown_releases_and_chips_are_told_together() -> None:
    text = f'[images."8.0.RC2"]\n910 = "{IMAGE}"\n[images."8.0.RC9"]\n910b = "{IMAGE}"\n'
    settings = parse_toml_as(Settings, text, "cannery.toml")
    with pytest.raises(MatrixError) as caught:
        with_settings(MATRIX_READ, settings)
    chip, release = map(str, caught.value.problems)
    assert chip.startswith("cannery.toml:2:1: images.8.0.RC2.910: ")
    assert chip.endswith("CANN 8.0.RC2 has no kernels for chip '910'. Known: 910b.")
    assert release == (
        "cannery.toml:3:1: images.8.0.RC9: no target uses CANN 8.0.RC9. Did you mean '8.0.RC2'?"
    )


def test_a_checkout_reads_both_files(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    text = f'[mirrors]\n"docker.io" = ["m.test"]\n[images."8.0.RC2"]\n910b = "{IMAGE}"\n'
    (tmp_path / "cannery.toml").write_text(text, encoding="utf-8")
    target = checkout.project.matrix().targets["full"]
    assert target.cann.images == {"910b": IMAGE}
    assert target.base.mirrors == (f"m.test/library/debian{AT}",)
