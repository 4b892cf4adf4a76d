# SPDX-License-Identifier: Apache-2.0
"""The table of images, and the facts about targets that ``list --verbose`` prints."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.deploy import formats
from cannery.deploy.workload import RUNTIMES, Workload
from cannery.publish.catalog import CARDS, MARKERS, details, inserted, table
from cannery.publish.policy import Trial
from cannery.registry import records
from cannery.registry.records import Record
from tests.unit.catalogues import BARE, CURRENT_KEY, NPU, SIMULATED, entry, release, verify
from tests.unit.matrices import MATRIX, Checkout, make_checkout
from tests.unit.publications import sha

TAG = "registry.example.com/ascend:full-0123456789ab"
TRIAL = "[910b arm 1gpu](https://train.example.com/trials/7)"


def cells(text: str) -> list[str]:
    """The cells of the table's first row."""
    return [cell.strip() for cell in text.splitlines()[2].strip("|").split(" | ")]


def test_a_row_has_the_id_the_summary_and_where_it_was_verified(checkout: Checkout) -> None:
    text = table([entry(checkout, name="bare")])
    assert text == (
        "| target | platform | contents | verified on |\n"
        "|--|--|--|--|\n"
        "| `bare` | arm64 | nothing that can be left out | not yet |\n"
    )


def test_targets_of_which_the_same_is_told_share_a_row(checkout: Checkout) -> None:
    bare = entry(checkout, name="bare")
    other = replace(bare, target=replace(bare.target, id="bare-a3"))
    assert cells(table([bare, other]))[0] == "`bare`<br>`bare-a3`"
    assert len(table([bare, other]).splitlines()) == len(table([bare]).splitlines())


def test_targets_without_a_result_are_folded_below_the_others(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    published, bare = entry(checkout, release(target)), entry(checkout, name="bare")
    text = table([bare, published])
    shown, others = text.split(
        "\n<details>\n<summary>1 more target, not verified yet</summary>\n\n"
    )
    assert shown == table([published])
    assert others == table([bare]) + "\n</details>\n"


def test_a_release_and_a_trial_are_named_below_the_summary(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    assert cells(table([entry(checkout)]))[2] == f"everything there is<br>{TRIAL}"
    result = cells(table([entry(checkout, release(target))]))
    assert result[2:] == [
        f"everything there is<br>`{TAG}`<br>{TRIAL}",
        "NPU (Atlas 800T A2, 910B3), 2026-11-21, the published image",
    ]
    simulated = release(target, simulated=True, verified=(SIMULATED,))
    assert f"<br>`{TAG}` (simulated: no CANN)<br>" in cells(table([entry(checkout, simulated)]))[2]


@pytest.mark.parametrize(
    ("tested", "contents", "message"),
    [
        ((BARE,), CURRENT_KEY, "no device, 2026-11-21"),
        ((BARE, SIMULATED), CURRENT_KEY, "simulated device, 2026-11-21"),
        (
            (BARE, SIMULATED),
            sha("1"),
            "simulated device, 2026-11-21, older than this state (contents)",
        ),
        ((BARE, NPU), CURRENT_KEY, "NPU (Atlas 800T A2, 910B3), 2026-11-21"),
        (
            (BARE, replace(SIMULATED, failed=2)),
            CURRENT_KEY,
            "**failed** on simulated device: 2 of 42 checks, 2026-11-21",
        ),
        (
            (replace(BARE, failed=1), SIMULATED),
            CURRENT_KEY,
            "**failed** on no device, simulated packages: 1 of 41 checks, 2026-11-21",
        ),
    ],
)
def test_where_it_was_verified(
    checkout: Checkout, tested: list[records.Tested], contents: str, message: str
) -> None:
    verify(checkout, *tested, key=contents)
    assert cells(table([entry(checkout)]))[3] == message


def test_real_and_simulated_packages_are_told_apart(checkout: Checkout) -> None:
    verify(checkout, BARE, SIMULATED)
    result = entry(checkout, release(checkout.matrix.targets["full"]))
    assert cells(table([result]))[3] == (
        "NPU (Atlas 800T A2, 910B3), 2026-11-21, the published image"
        "<br>simulated device, 2026-11-21"
    )


def test_values_cannot_break_the_table_or_become_markup(checkout: Checkout) -> None:
    trial = Trial.model_construct(
        title="a|b](x) <b>*c*\n`d`&lt;", url="https://e.example.com/a(b)|c d?x=1&y=%20"
    )
    hardware = replace(NPU, hardware="a|b\nc")
    verify(checkout, hardware)
    result = replace(entry(checkout), trial=trial)
    row = table([result]).splitlines()[2]
    message = (
        r"[a\|b\](x) \<b\>\*c\* \`d\`&amp;lt;](https://e.example.com/a%28b%29%7Cc%20d?x=1&y=%20)"
    )
    assert message in row
    assert r"NPU (a\|b c), " in row
    assert len(table([result]).splitlines()) == len(table([entry(checkout)]).splitlines())


START, END = MARKERS
BEFORE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60)


@given(BEFORE, BEFORE, BEFORE)
def test_nothing_outside_of_the_markers_changes(before: str, middle: str, after: str) -> None:
    for text in (before, middle, after):
        if any(line.strip() in (START, END) for line in text.splitlines()):
            return
    text = f"{before}\n{START}\n{middle}\n{END}\n{after}"
    once = inserted(text, "| new |\n", "README.md", MARKERS)
    assert once == f"{before}\n{START}\n\n| new |\n\n{END}\n{after}"
    assert inserted(once, "| new |\n", "README.md", MARKERS) == once


def test_line_ends_stay_as_they_are() -> None:
    text = f"a\r\n{START}\r\nold\r\n{END}\r\nb\r\n"
    assert inserted(text, "new\n", "README.md", MARKERS) == (
        f"a\r\n{START}\r\n\r\nnew\r\n\r\n{END}\r\nb\r\n"
    )


FIX = f"What is generated goes between one line {START} and, after it, one line {END}."


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], [f"1:1: there is no line {START}.", f"1:1: there is no line {END}."]),
        (["a", START, "b"], [f"3:1: there is no line {END}."]),
        (["a", "b", END], [f"3:1: there is no line {START}."]),
        ([END, START], [f"1:1: {END} comes before {START}."]),
        ([START, START, END], [f"2:1: {START} is in line 1 already."]),
        (
            [START, END, "x", START, END],
            [f"4:1: {START} is in line 1 already.", f"5:1: {END} is in line 2 already."],
        ),
    ],
)
def test_missing_or_repeated_markers_are_reported(lines: list[str], message: list[str]) -> None:
    with pytest.raises(MatrixError) as caught:
        inserted("".join(f"{line}\n" for line in lines), "new\n", "README.md", MARKERS)
    assert [str(each) for each in caught.value.problems] == [
        f"README.md:{s} {FIX}" for s in message
    ]


def test_a_marker_within_a_line_is_none() -> None:
    text = f"Between `{START}` and `{END}`:\n{START}\n{END}\n"
    assert inserted(text, "new\n", "README.md", MARKERS).startswith(text[: text.index("\n") + 1])


BY_DIGEST = f"registry.example.com/ascend@{sha('1')}"


def facts(checkout: Checkout, *records: Record, name: str = "full") -> dict[str, Any]:
    """The facts about a target after these releases, as the document has them."""
    [result] = details(checkout.project, [entry(checkout, *records, name=name)])
    document: dict[str, Any] = json.loads(json.dumps(result))
    return document


@pytest.fixture
def target(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


def texts(result: dict[str, Any], use: str) -> list[str]:
    return [each["text"] for each in result["commands"] if each["use"] == use]


def uses(result: dict[str, Any]) -> set[str]:
    return {each["use"] for each in result["commands"]}


def test_a_target_without_a_release(checkout: Checkout) -> None:
    result = facts(checkout)
    assert (result["release"], result["verdicts"], result["application"]) == (None, [], None)
    assert result["trial"] == {
        "title": "910b arm 1gpu",
        "url": "https://train.example.com/trials/7",
    }
    assert {layer["size"] for layer in result["layers"]} == {None}
    assert (result["wheels"]["numpy"], result["wheels"]["apex"]) == ("1.26.4", "0.1+ascend")
    cann = facts(checkout, name="bare")["cann"]
    assert (cann["version"], cann["interim"], cann["nearest_public"]) == (
        *("8.0.T39", True, "8.0.RC3"),
    )
    assert cann["order"] < result["cann"]["order"]


def test_the_findings_are_the_ones_of_explain(checkout: Checkout) -> None:
    result = facts(checkout)
    assert {each["component"] for each in result["findings"]} >= {"torch_npu", "numpy"}
    for each in result["findings"]:
        assert [*each] == ["component", "verdict", "text", "rows", "against"]
    assert result["driver"] == {"minimum": "24.1.rc2", "maximum": "", "disputed": False}
    assert facts(checkout, name="bare")["driver"] is None


def test_a_release_gives_sizes_and_results(checkout: Checkout, target: Target) -> None:
    verify(checkout, BARE, SIMULATED)
    result = facts(checkout, release(target))
    assert result["release"]["platforms"]["linux/arm64"]["size"] == 3_141_592_653
    sizes = {layer["name"]: layer["size"] for layer in result["layers"] if layer["size"]}
    assert sizes == {"wheels-torch": 800_000_000}
    assert [(each["tested"]["device"], each["where"]) for each in result["verdicts"]] == [
        ("npu", "npu"),
        ("simulated", "simulated"),
    ]
    assert result["verdicts"][0]["tested"]["hardware"] == NPU.hardware


def test_the_number_of_other_targets_with_a_layer(tmp_path: Path) -> None:
    full = MATRIX.partition("  full:\n")[2].partition("  bare:\n")[0]
    twin = full.replace("    deepspeed: 0.15.0\n", "")
    checkout = make_checkout(tmp_path, f"{MATRIX}  twin:\n{twin}")
    others = {layer["name"]: layer["others"] for layer in facts(checkout)["layers"]}
    assert {others[name] for name in ("os", "toolkit", "kernels", "wheels-torch")} == {1}
    assert {others[name] for name in ("wheels-deepspeed", "guard")} == {0}
    assert {layer["others"] for layer in facts(checkout, name="bare")["layers"]} == {0}


def test_every_missing_lock_is_reported(checkout: Checkout) -> None:
    for each in checkout.matrix.targets.values():
        checkout.project.lock(each).unlink()
    with pytest.raises(MatrixError) as caught:
        facts(checkout)
    assert len(caught.value.problems) == 2


# ---- commands


def test_a_published_image_is_pulled_by_its_digest(checkout: Checkout, target: Target) -> None:
    result = facts(checkout, release(target))
    assert result["commands"][0]["use"] == "pull"
    assert shlex.split(result["commands"][0]["text"]) == [
        *("docker", "pull", "--platform", "linux/arm64", BY_DIGEST)
    ]
    assert "build" not in uses(result)
    assert all(BY_DIGEST in each["text"] for each in result["commands"])


def test_an_unpublished_image_is_built_and_run_where_it_was_built(checkout: Checkout) -> None:
    result = facts(checkout)
    assert result["commands"][0]["use"] == "build"
    assert {"pull", "sbom", "provenance", "signature"}.isdisjoint(uses(result))
    assert all("\n  cannery:full" in text for text in texts(result, "shell"))
    assert result["reference"] == "registry.example.com/ascend:full"
    for use in ("k8s", "volcano"):
        assert all(f"image: {result['reference']}\n" in text for text in texts(result, use))


def test_there_is_one_text_for_each_kind_of_host_as_run_prints_it(
    checkout: Checkout, target: Target
) -> None:
    result = facts(checkout, release(target))
    hosts = [(cards, runtime) for cards in CARDS for runtime in RUNTIMES]
    for use in ("shell", "compose", "k8s", "volcano"):
        commands = [each for each in result["commands"] if each["use"] == use]
        of_servers = [(0, runtime) for runtime in RUNTIMES]
        assert [(each["cards"], each["runtime"]) for each in commands] == (
            of_servers if use == "volcano" else hosts
        )
        for each in commands:
            workload = Workload(
                image=BY_DIGEST,
                target=target,
                cards=tuple(range(each["cards"] or CARDS[-1])),
                nodes=2 if use == "volcano" else 1,
                runtime=each["runtime"],
            )
            assert formats.text(use, workload) == each["text"] + "\n"


def test_a_simulated_image_is_run_with_a_simulated_driver(
    checkout: Checkout, target: Target
) -> None:
    result = facts(checkout, release(target, simulated=True))
    assert uses(result) == {"pull", "try", "sbom", "provenance", "signature"}
    assert texts(result, "try") == [f"python build.py run full --simulate --image {BY_DIGEST}"]


def test_commands_for_sbom_provenance_and_signature(checkout: Checkout, target: Target) -> None:
    result = facts(checkout, release(target))
    inspect = ["docker", "buildx", "imagetools", "inspect", BY_DIGEST, "--format"]
    assert shlex.split(texts(result, "sbom")[0]) == [*inspect, "{{json .SBOM}}"]
    assert shlex.split(texts(result, "provenance")[0]) == [*inspect, "{{json .Provenance}}"]
    verify = ["cosign", "verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", BY_DIGEST]
    assert shlex.split(texts(result, "signature")[0]) == verify
    plain = facts(checkout, release(target, attestations={}, signed=False))
    assert {"sbom", "provenance", "signature"}.isdisjoint(uses(plain))
