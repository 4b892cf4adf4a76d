# SPDX-License-Identifier: Apache-2.0
"""What the lists of CANN's packages name, compared with what is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.unit.image.context_programs import load
from tests.unit.image.file_lists import row, write_part
from tests.unit.matrices import CHECKOUT

FULL = {"Runtime_Install_Type": "full", "Runtime_Feature_Type": "all", "Runtime_Chip_Type": "all"}
Compare = Callable[[str], list[dict[str, Any]]]
PROGRAM = CHECKOUT / "cannery/image/context/file_lists.py"


def put(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name, encoding="utf-8")


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Compare:
    compared: Compare = load("file_lists.py", monkeypatch).compare
    return compared


@pytest.mark.parametrize("part", ["runtime", "tools/aoe", "share/info/ops_math"])
def test_missing_files_and_empty_folders_are_named(
    compare: Compare, tmp_path: Path, part: str
) -> None:
    rows = [row("opp/kernel/abs", "copy_entity"), row("opp/kernel/add", "copy_entity")]
    rows += [row("lib64/a.so"), row("lib64/b.so"), row("lib64/c.so", "move")]
    path = write_part(tmp_path, part, *rows, info=FULL)
    put(tmp_path, "opp/kernel/abs/abs.o", "lib64/a.so", "lib64/c.so")
    (tmp_path / "opp/kernel/add").mkdir()
    [each] = compare(str(tmp_path))
    assert each == {
        "list": str(path),
        "files": 5,
        "count": 2,
        "few": False,
        "missing": ["lib64/b.so", "opp/kernel/add"],
        "changed": [],
    }


def test_few_of_many_may_be_a_mistake_of_the_list(compare: Compare, tmp_path: Path) -> None:
    names = [f"lib64/{number}.so" for number in range(100)]
    write_part(tmp_path, "runtime", *map(row, names), info=FULL)
    put(tmp_path, *names[2:])
    assert [(each["count"], each["few"]) for each in compare(str(tmp_path))] == [(2, True)]
    (tmp_path / names[2]).unlink()
    assert [(each["count"], each["few"]) for each in compare(str(tmp_path))] == [(3, False)]


def test_links_count_as_what_is_there(compare: Compare, tmp_path: Path) -> None:
    write_part(tmp_path, "runtime", row("lib64/libascend_hal.so"), info=FULL)
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libascend_hal.so").symlink_to("/nowhere")
    assert [each["count"] for each in compare(str(tmp_path))] == [0]


def test_a_file_with_a_hash_is_compared(compare: Compare, tmp_path: Path) -> None:
    name = "conf/dump_tool_config.ini"
    put(tmp_path, name)
    digest = sha256(name.encode()).hexdigest()
    write_part(tmp_path, "runtime", row(name, configurable="TRUE", hash=digest), info=FULL)
    assert [each["changed"] for each in compare(str(tmp_path))] == [[]]
    (tmp_path / name).write_text("edited", encoding="utf-8")
    assert [each["changed"] for each in compare(str(tmp_path))] == [[name]]


@pytest.mark.parametrize(
    ("info", "files"),
    [
        (FULL, 5),
        ({"Runtime_Install_Type": "run"}, 4),
        ({"OPP_KERNEL_INSTALL_TYPE": "devel"}, 4),
        ({}, 3),
        ({**FULL, "Runtime_Chip_Type": "Ascend910B"}, 4),
        ({**FULL, "Runtime_Feature_Type": "aclnn_math"}, 4),
    ],
)
def test_rows_for_other_kinds_of_installation_are_left_out(
    compare: Compare, tmp_path: Path, info: dict[str, str], files: int
) -> None:
    rows = [row("a"), row("b", install_type="run"), row("c", install_type="devel")]
    rows += [row("d", chip="Ascend310P"), row("e", feature="aclnn_rand")]
    rows += [row("m", "mkdir"), row("x", "del"), row("/etc/x"), row("$HOME/x")]
    write_part(tmp_path, "runtime", *rows, info=info)
    assert [each["files"] for each in compare(str(tmp_path))] == [files]


def test_what_8_1_names_and_does_not_have_is_left_out(compare: Compare, tmp_path: Path) -> None:
    rows = [row("toolkit/script/install.sh"), row("bin/x")]
    rows += [row("opp/built-in/op_impl/aicpu/aicpu_kernel/lib/x86/libcpu_kernels_context.a")]
    write_part(tmp_path, "toolkit", *rows, info=FULL)
    put(tmp_path, "bin/x")
    assert [(each["files"], each["count"]) for each in compare(str(tmp_path))] == [(1, 0)]


@pytest.mark.parametrize("text", ["", "filepath\natb/lib/x.so\n", "a,b\n1\n", "\0\xff\n\n", '"'])
def test_lists_of_another_form_are_not_read(compare: Compare, tmp_path: Path, text: str) -> None:
    path = write_part(tmp_path, "runtime", row("a"))
    path.write_text(text, encoding="utf-8")
    assert compare(str(tmp_path)) == []


def test_it_reads_as_python_3_5_and_uses_the_standard_library() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"), feature_version=(3, 5))
    imports = {each.names[0].name for each in ast.walk(tree) if isinstance(each, ast.Import)}
    assert imports <= sys.stdlib_module_names
    assert not [each for each in ast.walk(tree) if isinstance(each, ast.JoinedStr)]


def test_thousands_of_rows_take_no_time(tmp_path: Path) -> None:
    rows = [row(f"opp/kernel/{number}") for number in range(20_000)]
    write_part(tmp_path, "opp", *rows, info=FULL)
    words = "import sys, file_lists; print(file_lists.compare(sys.argv[1])[0]['count'])"
    argv = [sys.executable, "-c", words, str(tmp_path)]
    done = subprocess.run(argv, cwd=PROGRAM.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "20000\n"
