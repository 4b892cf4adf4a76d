# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.errors import OutOfSyncError
from cannery.files import write_files
from cannery.image.drift import Difference, compare, require_in_sync
from cannery.image.render import Renderer
from tests.unit.matrices import Checkout


def rendered(checkout: Checkout, *ids: str) -> dict[Path, str]:
    renderer = Renderer(checkout.project)
    targets = [checkout.matrix.targets[each] for each in ids or checkout.matrix.targets]
    return {
        path: text
        for target in targets
        for path, text in renderer.render(target).paths(checkout.project).items()
    }


def difference(checkout: Checkout, *ids: str) -> Difference:
    return compare(checkout.project, rendered(checkout, *ids), checkout.matrix.targets)


@pytest.fixture
def images(checkout: Checkout) -> Path:
    """The images/ of a checkout that is in sync."""
    write_files(rendered(checkout))
    return checkout.project.images


def test_in_sync(checkout: Checkout, images: Path) -> None:
    found = difference(checkout)
    assert (found.changed, found.orphans) == ({}, ())
    require_in_sync(checkout.project, found, "mend")


def remove(path: Path) -> None:
    path.unlink()


def change_a_line(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("numpy", "nompy"), encoding="utf-8")


def drop_the_last_newline(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")


def write_as_on_windows(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def fill_with_no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (remove, "--- (missing)\n"),
        (change_a_line, "-nompy==1.26.4\n+numpy==1.26.4"),
        (drop_the_last_newline, "\n\\ No newline at end of file\n+numpy==1.26.4"),
        (write_as_on_windows, "-numpy==1.26.4^M\n"),
        (fill_with_no_text, "+numpy==1.26.4"),
        (empty, "+numpy==1.26.4"),
    ],
)
def test_a_file_that_is_not_what_is_rendered(
    checkout: Checkout, images: Path, harm: Callable[[Path], None], said: str
) -> None:
    path = images / "full" / "constraints.txt"
    harm(path)
    found = difference(checkout)
    assert [*found.changed] == [path]
    with pytest.raises(OutOfSyncError) as caught:
        require_in_sync(checkout.project, found, "mend it")
    first, last = caught.value.problems
    assert said in str(first)
    assert "+++ images/full/constraints.txt (rendered)" in str(first)
    assert str(last) == "images/ is not what matrix.yaml says. Run: mend it"


@pytest.mark.parametrize(
    "orphan", ["full/notes.txt", "full/wheels/old.txt", "gone/Dockerfile", "gone/requirements.lock"]
)
def test_a_file_that_nothing_renders(checkout: Checkout, images: Path, orphan: str) -> None:
    write_files({images / orphan: "old"})
    found = difference(checkout)
    assert (found.changed, found.orphans) == ({}, (images / orphan,))
    with pytest.raises(OutOfSyncError, match=f"images/{orphan}: nothing in matrix.yaml renders"):
        require_in_sync(checkout.project, found, "mend it")


def test_files_of_targets_that_were_not_asked_for_are_left_alone(
    checkout: Checkout, images: Path
) -> None:
    write_files({images / "full" / "Dockerfile": "stale", images / "full" / "notes": "x"})
    found = difference(checkout, "bare")
    assert (found.changed, found.orphans) == ({}, ())
