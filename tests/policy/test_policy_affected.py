# SPDX-License-Identifier: Apache-2.0
"""CI notices a change of the code that builds and checks images, and of no other code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from cannery.building.affected import code_that_differs, is_read
from tests.policy.test_policy_sources import ROOT

TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="surrogateescape")
    for top in ("cannery", "tests/image")
    for path in (ROOT / top).rglob("*")
    if path.is_file() and path.suffix != ".pyc"
}


def noticed(paths: Iterable[str]) -> set[str]:
    """Those of the files ``paths`` of which one more statement, or line, is noticed."""
    after = {**TEXTS, **{path: f"{TEXTS[path]}\nx = 1\n" for path in paths}}
    return {*code_that_differs(TEXTS, after, [*paths])}


def loaded(command: str) -> set[str]:
    """The files of the modules that are there once the file of a command is imported."""
    program = (
        f"import sys, cannery.cli.cmd_{command}\n"
        "print(*[m.__file__ for m in sys.modules.values() if m.__name__.startswith('cannery.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.removeprefix(f"{ROOT}/") for name in done.stdout.split()}


def test_every_module_loaded_by_build_and_not_by_render_is_noticed() -> None:
    wanted = loaded("build") - loaded("render")
    assert {"cannery/engine/bake.py", "cannery/verify/run_checks.py"} <= wanted
    assert len(wanted) > 30
    assert not wanted - noticed(TEXTS)


@pytest.mark.parametrize(
    "path",
    [
        *("cannery/building/assembly.py", "cannery/image/bake_file.py", "cannery/engine/bake.py"),
        *("cannery/verify/pytest_report.py", "cannery/image/simulator_spec.py"),
        *("cannery/image/vendor/take-cann", "cannery/cli/cmd_build.py"),
    ],
)
def test_code_for_building_and_checking_images_is_noticed(path: str) -> None:
    assert noticed([path]) == {path}
    assert is_read(path)
