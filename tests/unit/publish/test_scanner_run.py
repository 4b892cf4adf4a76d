# SPDX-License-Identifier: Apache-2.0
"""How scanners are run, with programs that stand in for them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cannery.common.errors import EngineError, FileError
from cannery.publish.scan.scanners import SCANNERS, scan_with
from tests.unit.publish.test_scanners import GRYPE, TRIVY
from tests.unit.scans import TORCH, spdx

PROGRAM = """#!{python}
import json, sys
from pathlib import Path
print("progress")
words = sys.argv[1:]
bill = json.loads(Path(words[-1].removeprefix("sbom:")).read_text())
assert bill["spdxVersion"], bill
option = words[-3]
assert option in ("--file", "--output"), words
{body}
"""
REPORTS = {"grype": GRYPE, "trivy": TRIVY}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def stand_in(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(PROGRAM.format(python=sys.executable, body=body), encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("name", SCANNERS)
def test_the_report_is_read(programs: Path, name: str) -> None:
    text = json.dumps(REPORTS[name])
    stand_in(programs, name, f"Path(words[-2]).write_text({text!r})")
    found = scan_with(SCANNERS[name], spdx(TORCH), "an image")
    assert found[0].id == "CVE-2025-32434"


def test_a_scanner_that_is_not_installed(programs: Path) -> None:
    with pytest.raises(EngineError, match=r"^grype is not installed\. Install it, or name a"):
        scan_with(SCANNERS["grype"], spdx(), "an image")


def test_a_scanner_that_fails(programs: Path) -> None:
    stand_in(programs, "grype", 'sys.exit("no database")')
    with pytest.raises(EngineError, match=r"exit code 1\):\n(.*\n)?.*no database"):
        scan_with(SCANNERS["grype"], spdx(), "an image")


def test_a_scanner_that_writes_nothing(programs: Path) -> None:
    stand_in(programs, "trivy", "")
    with pytest.raises(FileError, match=r"cannot read .*/report\.json: no such file"):
        scan_with(SCANNERS["trivy"], spdx(), "an image")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("{", FileError, "the report of grype:1:2: the file is not JSON"),
        ("{}", EngineError, "the report of grype has another form than expected"),
        ('{"matches": [7]}', EngineError, "the report of grype has another form than expected"),
    ],
)
def test_a_report_in_another_form(
    programs: Path, text: str, kind: type[Exception], said: str
) -> None:
    stand_in(programs, "grype", f"Path(words[-2]).write_text({text!r})")
    with pytest.raises(kind, match=said):
        scan_with(SCANNERS["grype"], spdx(), "an image")
