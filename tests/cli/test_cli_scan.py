# SPDX-License-Identifier: Apache-2.0
"""``build.py scan`` on SBOM files, with advisories, exceptions and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout
from tests.unit.scans import LIBC, OSV, TORCH, TORNADO, spdx

DATABASE = ("--database", str(OSV))
EXCEPTION = """\
  - id: {id}
    package: {package}
    reason: only in tests
    expires: {expires}
"""


@pytest.fixture
def bill(tmp_path: Path) -> str:
    path = tmp_path / "sbom.json"
    path.write_text(json.dumps(spdx(TORCH, TORNADO, LIBC)), encoding="utf-8")
    return str(path)


def accept(checkout: Checkout, *exceptions: tuple[str, str, str]) -> None:
    """Write exceptions, each an id, a package and a last day."""
    parts = [
        EXCEPTION.format(id=one, package=package, expires=expires)
        for one, package, expires in exceptions
    ]
    text = "schema: 1\nexceptions:\n" + "".join(parts)
    (checkout.root / "exceptions.yaml").write_text(text, encoding="utf-8")


def test_a_vulnerability_has_its_own_exit_code(checkout: Checkout, bill: str) -> None:
    done = checkout.run("scan", bill, *DATABASE)
    assert (done.code, done.messages) == (14, [])
    assert "3 vulnerabilities (1 critical, 1 high, 1 medium)" in done.out


@pytest.mark.parametrize("options", [("--fail-on", "never"), ()])
def test_what_is_less_severe_does_not_fail(
    checkout: Checkout, tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "sbom.json"
    path.write_text(json.dumps(spdx(TORNADO, *([TORCH] if options else []))), encoding="utf-8")
    checkout.run("scan", str(path), *DATABASE, *options).accepted()


def test_exceptions_hold_until_their_last_day(checkout: Checkout, bill: str) -> None:
    torch, libc = ("CVE-2025-32434", "torch"), ("CVE-2023-4911", "libc6")
    accept(checkout, (*torch, "2999-12-31"), (*libc, "2999-12-31"))
    done = checkout.run("scan", bill, *DATABASE)
    done.accepted()
    assert "accepted until 2999-12-31: CVE-2025-32434 of torch: only in tests" in done.out
    accept(checkout, (*torch, "2999-12-31"), (*libc, "2020-01-31"))
    done = checkout.run("scan", bill, *DATABASE, "--fail-on", "critical")
    assert done.code == 14
    said = (
        "error: exceptions.yaml:7: the exception for CVE-2023-4911 of libc6 expired on 2020-01-31."
    )
    assert said in done.out


def test_an_exception_without_effect_is_told(checkout: Checkout, bill: str) -> None:
    accept(checkout, ("CVE-2025-32433", "torch", "2999-12-31"))
    done = checkout.run("scan", bill, *DATABASE)
    assert "does not have CVE-2025-32433. Did you mean 'CVE-2025-32434'?" in done.out


def test_reports_are_written(checkout: Checkout, bill: str, tmp_path: Path) -> None:
    files = [tmp_path / "report.json", tmp_path / "report.sarif"]
    options = ("--json", str(files[0]), "--sarif", str(files[1]))
    assert checkout.run("scan", bill, *DATABASE, *options).code == 14
    document, sarif = (json.loads(each.read_text(encoding="utf-8")) for each in files)
    assert [each["name"] for each in document["scanned"]] == [bill]
    assert len(sarif["runs"][0]["results"]) == 3


def test_names_for_programs(checkout: Checkout, bill: str) -> None:
    done = checkout.run("scan", bill, *DATABASE, "--format", "names")
    assert (done.code, done.out) == (14, f"{bill}\n")
    assert "3 vulnerabilities" in done.err
    done = checkout.run("scan", bill, *DATABASE, "--format", "packages")
    assert (done.code, done.out) == (14, "torch\n")
    done = checkout.run("scan", bill, *DATABASE, "--format", "names", "--fail-on", "never")
    assert (done.code, done.out) == (0, f"{bill}\n")


def test_only_what_a_version_fixes(checkout: Checkout, tmp_path: Path) -> None:
    database = tmp_path / "osv"
    database.mkdir()
    record = json.loads((OSV / "PYSEC-2025-41.json").read_text(encoding="utf-8"))
    record["severity"] = [{"score": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}]
    record["affected"][0]["ranges"][0]["events"] = [{"introduced": "0"}]
    (database / "x.json").write_text(json.dumps(record), encoding="utf-8")
    bill = tmp_path / "sbom.json"
    bill.write_text(json.dumps(spdx(TORCH)), encoding="utf-8")
    words = ("scan", str(bill), "--database", str(database))
    assert checkout.run(*words).code == 14
    checkout.run(*words, "--fixable").accepted()


def test_a_target_is_scanned_by_its_lock(checkout: Checkout) -> None:
    done = checkout.run("scan", "py39-torch231-*t39", *DATABASE, "--fail-on", "never")
    done.accepted()
    assert "only the packages in its lock were examined" in done.out
    assert "CVE-2025-32434  torch" in done.out


def test_mistakes_on_the_command_line(checkout: Checkout, bill: str) -> None:
    checkout.run("scan", bill).refused(2, "no database of advisories is named. Name one with")
    checkout.run("scan", *DATABASE).refused(2, "Add NAME or --published")
    checkout.run("scan", "none.json", "nothing.json", *DATABASE).refused(
        2, "there is no file none.json.", "there is no file nothing.json."
    )
    checkout.run("scan", bill, *DATABASE, "--fail-on", "hihg").refused(2, "hihg")
    checkout.run("scan", bill, *DATABASE, "--with", "grype").refused(2, "--with")
    checkout.run("scan", bill, *DATABASE, "--exceptions", "none.yaml").refused(9, "none.yaml")


def test_mistakes_in_exceptions_are_all_told_and_nothing_is_written(
    checkout: Checkout, bill: str, tmp_path: Path
) -> None:
    accept(checkout, ("x y", "torch", "2999-12-31"), ("CVE-2025-32434", "torch", "soon"))
    report = tmp_path / "report.json"
    done = checkout.run("scan", bill, *DATABASE, "--json", str(report))
    done.refused(
        3, "exceptions.yaml:3:9: 'x y' is not", "exceptions.yaml:10:14: 'soon' is not a day."
    )
    assert not report.exists()
