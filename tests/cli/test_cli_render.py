# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil

from cannery.matrix.project import Project
from tests.cli.checkout import Checkout

TARGET = "py39-torch231-cann8t39"
OTHER = "py39-torch210-cann8rc2"
DOCKERFILE = f"images/{TARGET}/Dockerfile"
MEND = "images/ does not match matrix.yaml. Run: python build.py render"


def test_in_sync(original: Checkout) -> None:
    before = original.state()
    count = len(Project(root=original.root).matrix().targets)
    original.run("render", "--check").accepted(f"images/ is in sync ({count} targets)")
    result = original.run("render")
    result.accepted(f"{count} targets rendered")
    assert "wrote" not in result.err
    assert original.state() == before


def test_stale_files_are_shown_and_fixed(checkout: Checkout) -> None:
    before = checkout.state()
    checkout.edit("ARG BUILD_IMAGE", "ARG BUILD_IMAGES", DOCKERFILE)
    (checkout.root / "images" / OTHER / "target.json").unlink()
    stale = checkout.state()
    result = checkout.run("render", "--check")
    result.refused(4, "--- (missing)\n", f"--- {DOCKERFILE}\n+++ {DOCKERFILE} (rendered)\n", MEND)
    assert "\n-ARG BUILD_IMAGES=" in result.messages[1]
    assert "\n+ARG BUILD_IMAGE=" in result.messages[1]
    assert checkout.state() == stale
    checkout.run("render").accepted(f"wrote {DOCKERFILE}", f"wrote images/{OTHER}/target.json")
    assert checkout.state() == before
    checkout.run("render", "--check").accepted()


def test_an_orphaned_rendered_file_is_reported(checkout: Checkout) -> None:
    before = checkout.state()
    name = f"images/{TARGET}/compose.yaml"
    (checkout.root / name).write_text("old", encoding="utf-8")
    said = f"{name}: no target has this file any more."
    checkout.run("render", "--check").refused(4, said, MEND)
    checkout.run("render", "--target", OTHER).accepted("1 target rendered")
    assert (checkout.root / name).exists()
    checkout.run("render").accepted(f"removed {name}")
    assert checkout.state() == before


def test_a_file_not_written_by_build_py_stays(checkout: Checkout) -> None:
    name = f"images/{TARGET}/notes.txt"
    (checkout.root / name).write_text("mine", encoding="utf-8")
    said = f"{name}: build.py did not write this file. Move it out of images/."
    checkout.run("render", "--check").refused(4, said, "images/ does not match matrix.yaml.")
    checkout.run("render").accepted(f"left alone, because build.py did not write it: {name}")
    assert (checkout.root / name).read_text(encoding="utf-8") == "mine"


def test_the_folder_of_a_removed_target_is_removed(checkout: Checkout) -> None:
    images = checkout.root / "images"
    before = checkout.state()
    shutil.copytree(images / OTHER, images / "py37-gone")
    count = sum(path.is_file() for path in (images / "py37-gone").rglob("*"))
    orphans = ["images/py37-gone/"] * count
    checkout.run("render", "--check").refused(4, *orphans, MEND)
    checkout.run("render").accepted("removed images/py37-gone/requirements.lock")
    assert not (images / "py37-gone").exists()
    assert checkout.state() == before


def test_a_build_from_out_of_sync_files_is_refused(checkout: Checkout) -> None:
    checkout.edit("ARG BUILD_IMAGE", "ARG BUILD_IMAGES", DOCKERFILE)
    before = checkout.state()
    mend = f"{MEND} --target {TARGET}"
    checkout.run("--target", TARGET, "--simulate").refused(4, DOCKERFILE, mend)
    assert checkout.state() == before
