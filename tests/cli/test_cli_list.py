# SPDX-License-Identifier: Apache-2.0
"""``list`` in each format, and the states of targets."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.verify.image_checks import checks_version
from cannery.verify.results import Verified, path_of, state_keys, to_text
from tests.cli.checkout import Checkout
from tests.cli.conftest import ROOT
from tests.unit.catalogues import BARE as NO_DEVICE
from tests.unit.catalogues import NPU, release
from tests.unit.publications import keep as keep_record
from tests.unit.verifications import REPORT

LAST = "py39-torch231-cann8t39"
OLD = "py37-torch1110-cann63rc1-llama13b"
BARE = "py37-mindspore200-cann63rc1"
OLD_PYTHON = "cpython-3.7.17-aarch64-unknown-linux-gnu-install_only.tar.gz"


def as_json(checkout: Checkout, *words: str) -> list[dict[str, Any]]:
    result = checkout.run("list", "--format", "json", *words)
    result.accepted()
    found: list[dict[str, Any]] = json.loads(result.out)
    return found


def table(checkout: Checkout, *words: str) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Id to state, id to summary, and the lines below the table."""
    result = checkout.run("list", *words)
    result.accepted()
    above, *blocks = result.out.split("\n\n")
    assert blocks.pop().startswith("files of a real build")
    head, *rows = above.splitlines()
    assert head.split() == ["target", "platform", "state", "summary"]
    cells = [re.split(r"  +", row) for row in rows]
    assert {platform for _, platform, _, _ in cells} == {"arm64"}
    states = {name: state for name, _, state, _ in cells}
    summaries = {name: summary for name, *_, summary in cells}
    return states, summaries, "\n\n".join(blocks).splitlines()


def keep(checkout: Checkout, target: str, **changes: object) -> None:
    """Record that an image of ``target`` passed on an NPU, of the files as they are now."""
    project = Project(root=checkout.root)
    key = state_keys(project)(project.matrix().targets[target], False)
    tested = [replace(each, **changes) for each in (NO_DEVICE, NPU)]  # type: ignore[arg-type]
    checks = checks_version(project)
    results = [Verified.of(each, simulated=False, key=key, checks=checks) for each in tested]
    write_files({path_of(checkout.root, target): to_text(results)})


PLAIN = (
    *("id", "summary", "platform", "chip", "flavour", "components", "unverified", "recommended"),
    *("unjudged", "maintained", "missing", "needs", "results", "published"),
)
VERBOSE = (
    *("application", "cann", "verdicts", "driver", "findings", "reference", "commands"),
    *("release", "trial", "layers", "wheels"),
)


def test_every_field_of_json_is_documented(original: Checkout) -> None:
    for words, fields in (([], PLAIN), (["--verbose"], (*PLAIN, *VERBOSE))):
        for found in as_json(original, *words):
            assert tuple(found) == fields
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = page.partition("\n`list --format json` prints")[2].partition("\n`diff ")[0]
    named = {*re.findall(r"`(\w+)`", section)}
    inner = [
        each
        for found in as_json(original, "--verbose")
        for each in (
            *(found["application"], found["cann"], found["driver"]),
            *(*found["needs"].values(), *found["layers"], *found["commands"]),
        )
    ]
    assert {*PLAIN, *VERBOSE, *(name for each in inner if each for name in each)} <= named


def test_what_is_not_judged_is_said_with_what_a_source_would_have_to_name(
    original: Checkout,
) -> None:
    name = "py311-torch231-cann8t39-opencompass039"
    assert f"\n{name}: not judged: no source has opencompass 0.3.9 with torch 2.3.1, " in (
        original.run("list", "--target", name).out
    )
    [text] = as_json(original, "--target", name)[0]["unjudged"]
    assert text.endswith("To judge it, a source must have it with all of these together.")
    assert as_json(original, "--target", LAST)[0]["unjudged"] == []


def test_verbose_json_has_the_release_and_the_commands_for_it(checkout: Checkout) -> None:
    keep(checkout, LAST)
    record = release(Project(root=checkout.root).matrix().targets[LAST])
    keep_record(checkout.root / "releases", record)
    trial = f"trials: {{{LAST}: {{title: 910b, url: https://t.example.com/1}}}}"
    checkout.edit("trials: {}", trial, "publish.yaml")
    [found] = as_json(checkout, "--verbose", "--target", LAST)
    assert (found["release"]["digest"], found["release"]["tag"]) == (record.digest, record.tag)
    assert found["commands"][0]["text"].endswith(f" {found['published']}")
    assert found["trial"] == {"title": "910b", "url": "https://t.example.com/1"}
    assert found["application"] is None
    assert [each["basis"] for each in found["verdicts"]] == ["current"]
    assert {*found["results"][0]} == {"tested", "simulated", "basis", "moved", "where"}


def test_the_details_have_the_versions(original: Checkout) -> None:
    words = ["list", "--target", "*mindspore271-cann83rc1", "--verbose"]
    [_, _, details, maintained, *real] = original.run(*words).out.split("\n\n")[0].splitlines()
    assert real == [
        "    real build: Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run (download)",
        "    real build: Ascend-cann-kernels-910b_8.3.RC1_linux-aarch64.run (download)",
    ]
    assert details.startswith("    base debian-11, python 3.9.2, toolkit 8.3.RC1, ")
    assert details.endswith(", mindspore 2.7.1, chip 910b, linux/arm64")
    assert maintained == "    maintained: python until 2025-10-31, base until 2026-08-31"


def test_a_missing_file_is_named_once(original: Checkout) -> None:
    states, _, below = table(original)
    legend = below[below.index("missing files, which even --simulate needs:") + 1 :]
    files = dict(line.split(maxsplit=2)[:2] for line in legend)
    numbers = {name: number for number, name in files.items()}
    assert len(numbers) == len(files)
    assert states[BARE] == f"needs file {numbers[OLD_PYTHON]}"
    assert numbers[OLD_PYTHON] in states[OLD].removeprefix("needs files ").split(", ")
    origin = "(built from CPython 3.7.17's sources into a folder 'python')"
    assert f"{numbers[OLD_PYTHON]} {OLD_PYTHON} {origin}" in [" ".join(x.split()) for x in legend]
    [found] = as_json(original, "--target", BARE)
    assert found["missing"][OLD_PYTHON] == origin[1:-1]
    targets = Project(root=original.root).matrix().targets.values()
    lacking = {name for name, state in states.items() if state.startswith("needs file")}
    assert lacking == {target.id for target in targets if target.real_artifacts}


def test_files_of_a_real_build(checkout: Checkout) -> None:
    [found] = as_json(checkout, "--target", "py39-mindspore271-cann83rc1")
    assert found["missing"] == {}
    assert {each["supply"] for each in found["needs"].values()} == {"download"}
    (name, kernels), *_ = reversed(found["needs"].items())
    assert kernels["sha256"] == "known"
    assert kernels["licence"].startswith("https://www.hiascend.com/")
    [unhashed] = as_json(checkout, "--target", "py311-torch271-cann910-910b")
    assert {(each["supply"], each["sha256"]) for each in unhashed["needs"].values()} == {
        ("first use", "unpublished")
    }
    (checkout.root / "artifacts").mkdir()
    (checkout.root / "artifacts" / name).touch()
    [found] = as_json(checkout, "--target", "py39-mindspore271-cann83rc1")
    assert found["needs"][name]["supply"] == "here"
    said = checkout.run("list", "--target", "py39-mindspore271-cann83rc1").out
    assert "  1 target: --accept-eula NAME downloads all files\n" in said
    said = checkout.run("list", "--target", LAST).out
    assert (
        "  1 target: some files must be put there by hand, from the origin that is named\n" in said
    )


def test_a_recorded_result_is_the_state_until_a_file_changes(checkout: Checkout) -> None:
    keep(checkout, LAST)
    assert table(checkout)[0][LAST] == "verified (NPU) 2026-11-21"
    [found] = as_json(checkout, "--target", LAST)
    assert [(each["tested"]["device"], each["basis"]) for each in found["results"]] == [
        ("none", "current"),
        ("npu", "current"),
    ]
    said = checkout.run("list", "--verbose", "--target", LAST).out
    assert "    verified (NPU) 2026-11-21: 40 passed, 0 failed, 2 not run (Atlas 800T A2" in said
    checkout.edit("\n", "\n\n", f"images/{LAST}/target.json")
    assert table(checkout)[0][LAST] == "verified (NPU) 2026-11-21, older state (contents)"
    keep(checkout, LAST, failed=1)
    assert table(checkout)[0][LAST] == "failed (NPU) 2026-11-21"


def test_a_release_is_part_of_the_state(checkout: Checkout) -> None:
    record = release(Project(root=checkout.root).matrix().targets[LAST])
    keep_record(checkout.root / "releases", record)
    assert table(checkout)[0][LAST] == "verified (NPU) 2026-11-21, published image; published"
    [found] = as_json(checkout, "--target", LAST)
    assert found["published"] == f"registry.example.com/ascend@{record.digest}"


def test_a_report_on_this_machine_is_part_of_the_state(checkout: Checkout) -> None:
    passed = replace(REPORT, checks="c", runs=REPORT.runs[:1])
    folder = checkout.root / ".cannery" / "reports"
    write_files({folder / f"cannery_{LAST}-sim.json": passed.to_json()})
    write_files({folder / "cannery_py39-torch210-cann8rc2.json": '{"checks": "c"}'})
    write_files({folder / "cannery_py39-torch231-cann8t39-ds0143.json": REPORT.to_json()})
    states, _, _ = table(checkout)
    said = "verified (no device, simulated packages) 2026-11-21, built here"
    assert {name for name, state in states.items() if "verified (" in state} == {LAST}
    assert states[LAST] == said


def test_an_invalid_record_is_an_error_only_for_a_listed_target(checkout: Checkout) -> None:
    write_files({path_of(checkout.root, BARE): "schema: 9\nresults: []\n"})
    path_of(checkout.root, OLD).mkdir()
    keep(checkout, LAST)
    states, _, _ = table(checkout, "--target", LAST)
    assert states == {LAST: "verified (NPU) 2026-11-21"}
    wrong = f"verified/{BARE}.yaml:1:9: schema: schema 9 is of a newer cannery;"
    both = checkout.run("list", "--target", LAST, "--target", BARE)
    both.refused(3, wrong)
    checkout.run("list", "--target", OLD).refused(9, f"{OLD}.yaml: is a directory")
    path_of(checkout.root, BARE).unlink()
    assert table(checkout, "--target", BARE)[0] == {BARE: "needs file 1"}
