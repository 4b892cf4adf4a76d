# SPDX-License-Identifier: Apache-2.0
"""The table of operators that torch carries out, and the C functions that are made from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from device.torch import gen_entries
from device.torch.npusim_torch import table

FOLDER = Path(gen_entries.__file__).parent


def one(line: str) -> table.Operator:
    (operator,) = table.parse(line, "x.ops:1")
    return operator


def test_a_line_gives_the_parameters_in_the_order_of_the_c_function() -> None:
    operator = one("Renorm(self, scalar p, int dim, &w?) -> *out, tensors many = f(self, p)")
    assert [p.name for p in operator.parameters] == ["self", "p", "dim", "w", "out", "many"]
    assert operator.signature == "tsit?t*T"
    assert [p.written for p in operator.parameters] == [False, False, False, True, True, True]


def test_several_names_share_a_line() -> None:
    operators = list(table.parse("Abs InplaceExp(&self) = aten.$(self)", "x.ops:1"))
    assert [(o.name, o.expression) for o in operators] == [
        ("Abs", "aten.abs(self)"),
        ("InplaceExp", "aten.exp(self)"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Renorm self = x", "x.ops:3: write NAME"),
        ("Renorm(tensr self) -> out = x", "x.ops:3: invalid parameter 'tensr self': types are"),
        ("Renorm(self, self) -> out = x", "x.ops:3: two parameters of Renorm have the same name"),
    ],
)
def test_a_bad_line_is_an_error_with_its_place(line: str, message: str) -> None:
    with pytest.raises(table.TableError) as error:
        list(table.parse(line, "x.ops:3"))
    assert message in str(error.value)


def test_a_name_stands_only_once(tmp_path: Path) -> None:
    (tmp_path / "a.ops").write_text("Abs(self) -> out = \\\n  abs(self)\n")
    (tmp_path / "b.ops").write_text("# more\nAbs(self) -> out = self\n")
    with pytest.raises(table.TableError, match=r"b\.ops:2: Abs is also at a\.ops:2"):
        table.read(str(tmp_path))


def test_every_operator_has_its_two_functions() -> None:
    text = subprocess.run(
        [sys.executable, FOLDER / "gen_entries.py"], capture_output=True, text=True, check=True
    ).stdout
    functions = [op.function for op in table.read().values() if not op.name.startswith("@")]
    assert len(functions) > 450
    assert [name for name in functions if f"int {name}GetWorkspaceSize(" not in text] == []
    assert "aclnnMatmul(void*, uint64_t, void* executor" in text
    assert '{"Renorm", "tsist"}' in text


def test_the_c_function_has_the_vendors_name() -> None:
    assert one("Abs(self) -> out = self").function == "aclnnAbs"
    assert one("aclStft(self, &out) = self").function == "aclStft"
