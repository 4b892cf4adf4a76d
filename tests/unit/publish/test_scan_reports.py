# SPDX-License-Identifier: Apache-2.0
"""A scan as text, JSON and SARIF."""

from __future__ import annotations

import json
from dataclasses import replace

from jsonschema import Draft7Validator

from cannery.publish.scan.advisories import Severity
from cannery.publish.scan.exceptions import Exempted
from cannery.publish.scan.reports import (
    failing_names,
    failing_packages,
    scan_json,
    scan_sarif,
    scan_text,
)
from cannery.publish.scan.result import Scan, Scanned
from schemas.files import FOLDER
from tests.unit.scans import LIBC, TAR, TORCH, TORNADO, findings

RULE = Exempted(
    id="CVE-2023-28370", package="tornado", reason="it serves nothing", expires="2027-01-31", line=3
)
ACCEPTED = [replace(each, exempted=RULE) for each in findings(TORNADO)]
SCAN = Scan(
    source="9 advisories",
    scanned=[
        Scanned(
            name="one",
            findings=findings(TORCH, LIBC, TAR),
            accepted=ACCEPTED,
            components=4,
            left_out={"rpm": 2, "generic": 1},
            notes=["image cannery:one"],
        ),
        Scanned(name="two", findings=(), components=1),
    ],
    threshold=Severity.HIGH,
    file="exceptions.yaml",
    expired=[replace(RULE, id="CVE-2020-1", line=7, expires="2026-01-31")],
    warnings=["exceptions.yaml:9: not used"],
)
TEXT = """\
one: 4 packages examined
  note: image cannery:one
  note: 2 rpm packages, 1 generic package could not be examined
  severity  score  id              package        version          fixed in
  critical    9.3  CVE-2025-32434  torch          2.3.1            2.6.0
  high        7.8  CVE-2023-4911   glibc (libc6)  2.31-13+deb11u5  2.31-13+deb11u7
  none          -  CVE-2005-2541   tar            1.34+dfsg-1      -
  accepted until 2027-01-31: CVE-2023-28370 of tornado: it serves nothing

two: 1 package examined
  no known vulnerabilities

warning: exceptions.yaml:9: not used
error: exceptions.yaml:7: the exception for CVE-2020-1 of tornado expired on 2026-01-31. \
Update the package, or decide again: it serves nothing
3 vulnerabilities (1 critical, 1 high, 1 none), 1 accepted. Source: 9 advisories."""


def test_text() -> None:
    assert scan_text(SCAN, 0) == TEXT


def test_text_of_an_advisory_controls_no_terminal() -> None:
    [torch] = findings(TORCH)
    odd = replace(
        SCAN, scanned=[replace(SCAN.scanned[0], findings=[replace(torch, fixed="\x1b[2J")])]
    )
    assert "\x1b" not in scan_text(odd, 0)


def test_names_of_what_fails() -> None:
    assert failing_names(SCAN) == ["one"]
    assert failing_names(replace(SCAN, threshold=None)) == ["one"]
    assert failing_names(replace(SCAN, scanned=SCAN.scanned[1:])) == []


def test_python_packages_of_what_fails() -> None:
    assert failing_packages(SCAN) == ["torch"]
    low = replace(SCAN, scanned=[Scanned(name="x", findings=findings(TORNADO), components=1)])
    assert failing_packages(low) == []
    assert failing_packages(replace(low, threshold=Severity.LOW)) == ["tornado"]


def test_json_satisfies_its_schema() -> None:
    document = json.loads(scan_json(SCAN))
    path = FOLDER / "reports" / "scan.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    assert [each.message for each in Draft7Validator(schema).iter_errors(document)] == []
    assert document["failed"] is True
    assert document["scanned"][0]["findings"][0]["fixed"] == "2.6.0"
    assert document["scanned"][0]["accepted"][0]["expires"] == "2027-01-31"


def test_sarif() -> None:
    [run] = json.loads(scan_sarif(SCAN, "matrix.yaml"))["runs"]
    levels = [(each["ruleId"], each["level"]) for each in run["results"]]
    assert levels == [
        *(("CVE-2025-32434", "error"), ("CVE-2023-4911", "error"), ("CVE-2005-2541", "note"))
    ]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [
        each["ruleId"] for each in run["results"]
    ]
    assert rules[0]["properties"] == {"security-severity": "9.3"}
    assert "Version 2.6.0 fixes it." in run["results"][0]["message"]["text"]
    assert "properties" not in rules[2]
