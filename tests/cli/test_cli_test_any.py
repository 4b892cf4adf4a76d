# SPDX-License-Identifier: Apache-2.0
"""``build.py test --image`` with mistakes in its options and files, and without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.cli.standin_engine import standin_engine

ANY = ("test", "--image", "theirs:1")


def test_a_missing_image_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    with standin_engine(tmp_path, images={}) as address:
        result = checkout.run(*ANY, env={"DOCKER_HOST": address})
    result.refused(6, "there is no image theirs:1 here. Pull or build it: docker pull theirs:1")


def test_neither_a_target_nor_an_image(checkout: Checkout) -> None:
    checkout.run("test").refused(
        2, "no target and no image is selected. Add the ID of one, --target, --where or --image."
    )


@pytest.mark.parametrize("option", [("--profile", "docker"), ("--strict",)])
def test_options_of_any_image_do_not_fit_a_target(
    checkout: Checkout, option: tuple[str, ...]
) -> None:
    result = checkout.run("test", "--target", "x", "--image", "y", *option)
    result.refused(2, f"{option[0]} and --target cannot be combined.")


def test_an_unknown_profile_is_refused(checkout: Checkout) -> None:
    checkout.run(*ANY, "--profile", "kubernets").refused(
        2, "there is no profile 'kubernets'. Did you mean 'kubernetes'?"
    )


def test_a_file_of_profiles_with_mistakes(checkout: Checkout, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("schema: 1\nprofiles:\n  farm: {port: 1}\n", encoding="utf-8")
    result = checkout.run(*ANY, "--profile", "farm", "--profiles", str(path))
    assert result.code == 2
    assert "mine.yaml:3:10: unknown key 'port'" in result.err
    assert "Did you mean 'ports'?" in result.err


def test_checks_with_mistakes(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("schema: 1\nchecks: [{name: a}]\n", encoding="utf-8")
    checkout.run(*ANY, "--checks", str(tmp_path)).refused(
        2, "a.yaml:2:10: checks[0] has no 'command'"
    )


def test_a_missing_folder_of_checks_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run(*ANY, "--checks", str(tmp_path / "none")).refused(2, "there is no folder")


def test_an_unknown_component_is_refused(checkout: Checkout) -> None:
    checkout.run(*ANY, "--component", "toch").refused(
        2, "unknown component 'toch'. Did you mean 'torch'?"
    )
