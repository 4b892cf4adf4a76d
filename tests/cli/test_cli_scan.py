# SPDX-License-Identifier: Apache-2.0
"""``build.py scan`` with programs that imitate the scanners.

The scanners and their databases cannot be installed from a package index, so no scanner runs here.
The programs record what they get, and know the options and exit codes that the documentation and
the sources of grype 0.108, trivy 0.66 and osv-scanner 2.2 have: grype exits with 2 for
--fail-on, trivy with the code of --exit-code, osv-scanner with 1 for any vulnerability.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.checkout import Checkout

PROGRAM = """#!{python}
import json, sys
from pathlib import Path
words = sys.argv[1:]
paths = [Path(word.removeprefix("sbom:")) for word in words if word.endswith("x.json")]
paths = [path for path in paths if path.name.startswith("bom.")]
record = {{"words": words, "sbom": json.loads(paths[0].read_text()), "name": paths[0].name}}
if "--vex" in words:
    record["vex"] = json.loads(Path(words[words.index("--vex") + 1]).read_text())
Path({record!r}).write_text(json.dumps(record))
print("CVE-2025-32434 torch \\x1b[31m")
sys.exit({code})
"""
SBOM = {
    "spdxVersion": "SPDX-2.3",
    "packages": [
        {
            "name": "tar",
            "externalRefs": [
                {"referenceLocator": "pkg:deb/debian/tar@1.34?arch=arm64&distro=debian-12"}
            ],
        }
    ],
}
Scanner = Callable[..., Callable[[], dict[str, Any]]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scanner:
    """Installs a scanner that ends with a code; returns what reads its record."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(name: str, code: int = 0) -> Callable[[], dict[str, Any]]:
        record = tmp_path / f"{name}.json"
        text = PROGRAM.format(python=sys.executable, record=str(record), code=code)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
        return lambda: dict(json.loads(record.read_text(encoding="utf-8")))

    return install


@pytest.fixture
def sbom(tmp_path: Path) -> str:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SBOM), encoding="utf-8")
    return str(path)


def accept(checkout: Checkout, *days: str, **more: Any) -> None:
    """Write exceptions for torch, each with its last day."""
    statements = [
        {
            "vulnerability": {"name": f"CVE-2025-{number}"},
            "products": [{"@id": "pkg:pypi/torch"}],
            "status": "not_affected",
            "justification": "vulnerable_code_not_in_execute_path",
            "status_notes": f"expires {day}: only in tests",
            **more,
        }
        for number, day in enumerate(days)
    ]
    document = {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": "https://example.com/exceptions",
        "author": "tests",
        "timestamp": "2026-11-27T00:00:00Z",
        "version": 1,
        "statements": statements,
    }
    path = checkout.root / "exceptions.openvex.json"
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("grype", 2, ["sbom:PATH", "--quiet", "--fail-on", "high"]),
        (
            "trivy",
            14,
            [
                *("sbom", "PATH", "--quiet", "--exit-code", "14"),
                *("--severity", "CRITICAL,HIGH", "--distro", "debian/12"),
            ],
        ),
        ("osv-scanner", 1, ["scan", "source", "--lockfile", "PATH"]),
    ],
)
def test_a_severe_vulnerability(
    checkout: Checkout, install: Scanner, sbom: str, name: str, code: int, words: list[str]
) -> None:
    record = install(name, code)
    done = checkout.run("scan", sbom)
    assert done.code == 14, done.err
    assert done.messages == [f"{sbom} has vulnerabilities that {name} lists."]
    assert "CVE-2025-32434 torch \\x1b[31m" in done.out
    told = record()
    assert told["sbom"] == SBOM
    # By this name osv-scanner knows what the file is.
    assert told["name"] == "bom.spdx.json"
    bare = [word.removeprefix("sbom:") for word in told["words"]]
    [path] = [word for word in bare if word.endswith("bom.spdx.json")]
    assert [word.replace(path, "PATH") for word in told["words"]] == words


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("grype", 0, ["--quiet", "--only-fixed"]),
        (
            "trivy",
            14,
            ["--quiet", "--exit-code", "14", "--distro", "debian/12", "--ignore-unfixed"],
        ),
    ],
)
def test_fail_on_never_accepts_findings(
    checkout: Checkout, install: Scanner, sbom: str, name: str, code: int, words: list[str]
) -> None:
    record = install(name, code)
    checkout.run("scan", sbom, "--with", name, "--fail-on", "never", "--fixable").accepted()
    assert [
        word for word in record()["words"] if "sbom" not in word and "bom." not in word
    ] == words


def test_a_target_is_scanned_by_its_lock(checkout: Checkout, install: Scanner) -> None:
    record = install("grype")
    done = checkout.run("scan", "py39-torch231-*t39")
    done.accepted()
    assert "the SBOM has only the packages in its lock" in done.out
    assert "pkg:pypi/torch@2.3.1" in json.dumps(record()["sbom"])


@pytest.mark.parametrize("name", ["grype", "trivy"])
def test_exceptions_hold_until_their_last_day(
    checkout: Checkout, install: Scanner, sbom: str, name: str
) -> None:
    record = install(name)
    accept(checkout, "2999-12-31", "2020-01-31")
    done = checkout.run("scan", sbom)
    assert done.code == 14
    [message] = done.messages
    place = "exceptions.openvex.json:21:5: "
    assert message.startswith(f"{place}the exception for CVE-2025-1 expired on 2020-01-31. Update")
    [statement] = record()["vex"]["statements"]
    assert statement["vulnerability"] == {"name": "CVE-2025-0"}
    checkout.run("scan", sbom, "--fail-on", "never").accepted()
    accept(checkout, "2020-01-31")
    assert checkout.run("scan", sbom).code == 14
    assert "vex" not in record()


def test_check_warns_of_an_expired_exception(checkout: Checkout) -> None:
    accept(checkout, "2020-01-31")
    done = checkout.run("check", "--target", "py39-torch231-cann8t39")
    done.accepted()
    warning = "warning: exceptions.openvex.json:8:5: the exception for CVE-2025-0 expired on"
    assert warning in done.out


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"status_notes": "for ever"}, "'for ever' does not begin with a last day. Begin 'status_"),
        ({"products": [{"@id": "torch"}]}, "a product must be a package URL"),
    ],
)
def test_check_names_the_place_of_a_mistake(
    checkout: Checkout, install: Scanner, sbom: str, more: dict[str, Any], problem: str
) -> None:
    install("grype")
    accept(checkout, "2999-12-31", **more)
    for words in (("check", "--target", "py39-torch231-cann8t39"), ("scan", sbom)):
        done = checkout.run(*words)
        done.refused(3, problem)
        assert done.messages[0].startswith("exceptions.openvex.json:")


def test_an_invalid_openvex_file_is_refused(checkout: Checkout) -> None:
    path = checkout.root / "exceptions.openvex.json"
    path.write_text('{"@context": "x", "statements": []}', encoding="utf-8")
    checkout.run("check").refused(3, "exceptions.openvex.json:1:14: @context: OpenVEX has")
    path.write_text("[", encoding="utf-8")
    checkout.run("check").refused(9, "exceptions.openvex.json:1:2: the file is not JSON")
    path.write_text("[]", encoding="utf-8")
    checkout.run("check").refused(3, "must be a mapping")


@pytest.mark.parametrize("words", [["check"], ["scan", "full"]])
def test_exceptions_of_the_former_form_are_not_ignored(
    checkout: Checkout, words: list[str]
) -> None:
    (checkout.root / "exceptions.yaml").write_text("exceptions: []\n", encoding="utf-8")
    checkout.run(*words).refused(9, "exceptions.yaml holds no exceptions since 0.2. Write them as")


def test_osv_scanner_takes_no_exceptions(checkout: Checkout, install: Scanner, sbom: str) -> None:
    install("osv-scanner")
    message = "osv-scanner knows no exceptions and no --fixable. Use grype or trivy"
    checkout.run("scan", sbom, "--fixable").refused(2, message)
    accept(checkout, "2999-12-31")
    checkout.run("scan", sbom).refused(2, message)


def test_without_a_scanner_its_source_is_named(
    checkout: Checkout, install: Scanner, sbom: str
) -> None:
    checkout.run("scan", sbom).refused(
        6, "no vulnerability scanner is installed. Put grype, trivy or osv-scanner on PATH"
    )
    install("trivy")
    checkout.run("scan", sbom, "--with", "grype").refused(6, "grype is not installed.")


def test_a_failed_scanner_is_reported(checkout: Checkout, install: Scanner, sbom: str) -> None:
    install("grype", 1)
    done = checkout.run("scan", sbom)
    done.refused(6, "grype failed (exit code 1):")
    assert "CVE-2025-32434" in done.messages[0]


def test_mistakes_on_the_command_line(checkout: Checkout, install: Scanner, sbom: str) -> None:
    install("grype")
    checkout.run("scan").refused(2, "Add NAME or --published")
    checkout.run("scan", "none.json", "nothing.json").refused(
        2, "there is no file none.json.", "there is no file nothing.json."
    )
    checkout.run("scan", sbom, "--fail-on", "hihg").refused(2, "hihg")
    for text in ("[]", "7", "{}", '{"predicate": 7}'):
        Path(sbom).write_text(text, encoding="utf-8")
        checkout.run("scan", sbom).refused(9, f"{sbom} is not an SBOM. Name an SBOM as JSON")


def test_an_attestation_with_cyclonedx(checkout: Checkout, install: Scanner, sbom: str) -> None:
    bom = {"bomFormat": "CycloneDX", "components": []}
    Path(sbom).write_text(json.dumps({"predicate": bom}), encoding="utf-8")
    record = install("osv-scanner")
    checkout.run("scan", sbom).accepted()
    assert (record()["sbom"], record()["name"]) == (bom, "bom.cdx.json")
