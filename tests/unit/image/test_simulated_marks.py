# SPDX-License-Identifier: Apache-2.0
"""Stand-ins are told wherever they are copied to: by files, and by what their libraries contain."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cannery.image.simulator_spec import MARK, MARKED, MARKER_FILE, marked_paths, marker_paths
from cannery.verify.audit.facts import parse_probe
from cannery.verify.auditing import probe_program
from tests.unit.audits import PROJECT, TARGET
from tests.unit.matrices import CHECKOUT

pytestmark = pytest.mark.slow

PROBES = CHECKOUT / "cannery" / "verify" / "probe"
LIBRARY = b"\x7fELF" + bytes(5000) + MARK + b"5ErrorE"


def _constants(path: Path) -> dict[str, Any]:
    """The constants of a program, of which several may be in one line."""
    found: dict[str, Any] = {}
    for each in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.Assign):
            [target] = each.targets
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = each.value.elts if isinstance(each.value, ast.Tuple) else []
            if isinstance(target, ast.Name):
                values = [each.value]
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and name.id in ("MARK", "MARKED", "MARKER_FILES"):
                    found[name.id] = ast.literal_eval(value)
    return found


def test_every_program_has_the_one_list_of_marks() -> None:
    probe = _constants(PROBES / "probe.py")
    assert probe == _constants(CHECKOUT / "packages/ascend-doctor/ascend_doctor/smoke/on_cards.py")
    assert (probe["MARK"], probe["MARKED"]) == (MARK, MARKED)
    assert all(each.endswith(("simulated/*", f"/{MARKER_FILE}")) for each in probe["MARKER_FILES"])
    taken = _constants(CHECKOUT / "cannery" / "image" / "vendor" / "take-cann")
    assert taken == {"MARK": MARK, "MARKED": MARKED}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("simulated/Ascend-cann-toolkit", b""),
        ("ascend-toolkit/8.1.RC1/SIMULATED", b""),
        ("nnal/atb/8.1.RC1/SIMULATED", b""),
        ("driver/SIMULATED", b""),
        ("ascend-toolkit/8.1.RC1/lib64/libascendcl.so", LIBRARY),
        ("mine/lib/libascendcl.so", LIBRARY),
        ("nnal/atb/8.1.RC1/atb/cxx_abi_0/lib/libatb.so", LIBRARY),
    ],
)
def test_files_copied_from_a_simulated_image_are_found(
    tmp_path: Path, path: str, content: bytes
) -> None:
    home = tmp_path / "ascend-toolkit" / "8.1.RC1"
    info = home / "aarch64-linux" / "ascend_toolkit_install.info"
    info.parent.mkdir(parents=True)
    info.write_text("version=8.1.RC1\narch=aarch64\n")
    (home / "lib64").mkdir()
    (home / "lib64" / "libascendcl.so").write_bytes(b"\x7fELF of the vendor")
    assert _stand_ins(tmp_path) == ()
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(content)
    assert {*_stand_ins(tmp_path)} == {str(tmp_path / path)}


def _stand_ins(ascend: Path) -> tuple[str, ...]:
    program = probe_program()
    program = program.replace('"/usr/local/Ascend"', repr(str(ascend)))
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{ascend}/mine/lib:"}
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    cann = parse_probe(done.stdout).cann
    assert cann
    return cann.stand_ins


def test_they_are_looked_for_where_an_image_has_its_cann() -> None:
    environment = {"ASCEND_HOME_PATH": "/opt/mine/", "LD_LIBRARY_PATH": "/opt/a/lib:relative:"}
    files = marker_paths(PROJECT.matrix().targets[TARGET], environment)
    assert {"/usr/local/Ascend/simulated", "/opt/mine/SIMULATED"} <= {*files}
    assert "/usr/local/Ascend/ascend-toolkit/latest/SIMULATED" in files
    libraries = marked_paths(environment)
    wanted = {"/opt/a/lib/libascendcl.so", "/opt/mine/lib64/libascendcl.so"}
    assert wanted < {*libraries}
    assert all(path.startswith("/") for path in libraries)
