# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.model import Application, Target
from cannery.compat import Verdict, cxx_abi, judge, refusals_of
from cannery.compat.facts import Pairing, parse_compat
from cannery.compat.finding import unjudged
from cannery.matrix.files import FACTS
from tests.policy.conftest import TARGETS
from tests.unit.compat.test_broken_facts import BROKEN
from tests.unit.compat_targets import (
    COMPAT,
    cann,
    changed,
    file_of,
    findings,
    problems,
    python,
)
from tests.unit.matrices import OWN_FACTS, edited


def with_override(text: str) -> Target:
    application = Application(
        name="mine-1",
        component="mine",
        version="1",
        requirements=(),
        overrides=(text,),
        sdists=(),
        wheels={},
        packages=(),
        environment={},
        sources=(),
        ports=(),
        volumes={},
    )
    return changed(application=application)


def test_an_override_replaces_a_requirement() -> None:
    for text in ("numpy==2.0.2", "numpy==2.0.2; python_version < '3.10'"):
        [said] = problems(with_override(text))
        assert said.startswith("application: ")
        assert "contradicts numpy<2, which CANN <=8.2.RC2 needs." in said
    [said] = problems(with_override("numpy; python_version < '3'"))
    assert "no requirement keeps numpy at numpy<2, which CANN <=8.2.RC2 needs." in said
    assert problems(with_override("numpy==1.26.4")) == []


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("py311-torch2100-cann910-llamafactory095-910b", "torch 2.10.0 and CANN 9.1.0."),
        ("py311-torch2100-cann910-verl091-a3", "Python 3.11."),
        ("py311-torch2100-cann910-opencompass054-a3", "all of these together."),
    ],
)
def test_of_what_is_not_judged_it_is_said_what_a_source_would_have_to_have(
    name: str, needed: str
) -> None:
    [text] = unjudged(judge(TARGETS[name], COMPAT))
    assert text.endswith(f". To judge it, a source must have it with {needed}")


def test_a_triton_ascend_among_the_requirements_is_told_its_key_and_nothing_of_indexes() -> None:
    target = replace(TARGETS["py311-torch2100-cann910"], torch_npu="2.10.0.post4")
    asking = replace(target, requirements=("triton-ascend==3.2.2",))
    refusals = refusals_of(asking, judge(asking, COMPAT), COMPAT)
    [problem] = [refusal.problem for refusal in refusals]
    assert "would have no layer of its own" in problem.what
    assert problem.fix == "Write 'triton_ascend: 3.2.2' in the target."


def mindspore(version: str) -> Target:
    requirements = (f"mindspore=={version}", "protobuf==3.20.3")
    return changed(torch="", torch_npu="", apex=None, deepspeed="", requirements=requirements)


@pytest.mark.parametrize(
    ("target", "abi", "said"),
    [
        (changed(torch="2.6.0", torch_npu="2.6.0"), 1, "because torch 2.6.0 is. Huawei's own"),
        (changed(torch="2.6.0", platform="linux/amd64"), 0, "because torch 2.6.0 is."),
        (changed(torch="2.7.1", platform="linux/amd64"), 1, "because torch 2.7.1 is. Huawei's"),
        (replace(mindspore("2.9.0"), cann=cann("9.0.0")), 0, "mindspore==2.9.0 is. Huawei's own"),
        (changed(torch="", torch_npu=""), 0, "as in Huawei's own images."),
        (replace(changed(torch="", torch_npu=""), cann=cann("9.0.0")), 1, "as in Huawei's own"),
        (mindspore("99.0.0"), None, "No row has the C++ ABI of mindspore==99.0.0 for aarch64;"),
    ],
)
def test_the_abi_is_that_of_the_framework_s_wheel(
    target: Target, abi: int | None, said: str
) -> None:
    assert cxx_abi(target, COMPAT) == abi
    nnal = findings(target)["nnal"]
    assert said in nnal.text
    assert f"with cxx_abi {abi}" in nnal.text or abi is None


def test_an_unknown_version_passes_with_a_reason() -> None:
    target = changed(torch_npu="2.3.1.post99", unverified="a build of our own")
    assert problems(target) == []
    assert findings(target)["torch_npu"].verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("name", BROKEN)
def test_no_reason_excuses_a_known_failure(name: str) -> None:
    target = replace(BROKEN[name][0], unverified="because")
    forbidden = [each for each in judge(target, COMPAT) if each.verdict is Verdict.FORBIDDEN]
    assert len(problems(target)) == len(forbidden)


def test_an_interim_cann_is_judged_as_its_public_release() -> None:
    target = changed(cann=cann("8.0.T39", nearest_public="8.0.RC3"))
    assert problems(target) == []
    found = findings(target)["torch_npu"]
    assert "CANN 8.0.T39 (interim, judged as 8.0.RC3)" in found.text
    assert [row.sources[0].name for row in found.rows] == ["torch-npu", "team-notes"]
    other = changed(cann=cann("8.0.T39", nearest_public="8.0.RC2"))
    assert "judged as 8.0.RC2" in problems(other)[0]


@pytest.mark.parametrize(
    ("target", "component", "one", "other"),
    [
        (
            changed(
                torch="2.1.0",
                torch_npu="2.1.0.post11",
                torch_npu_wheel=file_of("torch_npu", "2.1.0.post11"),
                cann=cann("8.2.RC1"),
            ),
            "torch_npu",
            "deployer",
            "torch-npu",
        ),
        (
            changed(torch="2.1.0", torch_npu="2.1.0.post3", cann=cann("8.0.RC1"), with_nnal=False),
            "torch_npu",
            "release-notes",
            "torch-npu",
        ),
        (
            changed(
                python=python("3.12.3"),
                torch="2.6.0",
                torch_npu="2.6.0.post5",
                cann=cann("8.5.0"),
                apex=None,
            ),
            "python",
            "torch-npu",
            "torch-npu",
        ),
        (
            changed(torch="2.4.0", torch_npu="2.4.0.post4", cann=cann("8.1.RC1")),
            "protobuf",
            "cann-image",
            "deployer",
        ),
        (
            changed(
                torch="2.7.1", torch_npu="2.7.1", cann=cann("8.3.RC1"), apex=None, deepspeed=""
            ),
            "nnal",
            "downloads",
            "cann-image",
        ),
        (
            changed(torch="2.6.0", torch_npu="2.6.0", cann=cann("8.2.RC1")),
            "driver",
            "mindie-notes",
            "deployer",
        ),
    ],
)
def test_both_disagreeing_sources_are_shown(
    target: Target, component: str, one: str, other: str
) -> None:
    found = findings(target)[component]
    assert found.verdict is Verdict.DISPUTED
    assert found.rows[0].sources[0].name == one
    assert found.against[0].sources[0].name == other
    assert problems(target) == []


def test_two_states_of_a_document_do_not_disagree() -> None:
    """The table of October has another torch_npu for CANN 9.1.0 than that of August."""
    own = changed(torch="2.7.1", torch_npu="2.7.1.post8", cann=cann("9.1.0"), apex=None)
    other = replace(own, torch_npu="2.7.1.post10")
    assert {findings(each)["torch_npu"].verdict for each in (own, other)} == {Verdict.ALLOWED}


def test_of_two_states_with_a_row_for_the_same_versions_the_later_counts() -> None:
    text = OWN_FACTS.read_text(encoding="utf-8")
    row = "  - {torch: 2.9.0, torch_npu: 2.9.0.post6, cann: 9.1.0, pythons: 3.10-3.13, branch"
    newer = (
        "  - {torch: 2.9.0, torch_npu: 2.9.0.post6, cann: 9.1.0, pythons: 3.11-3.12, "
        "source: torch-npu-261}\n"
    )
    compat = parse_compat(edited(row, newer + row, text), FACTS)
    [found] = [each for each in compat.pairings if each.torch_npu == "2.9.0.post6"]
    assert found.pythons == ("3.11", "3.12")


def test_a_pair_of_newer_releases_is_unknown_for_older_ones() -> None:
    own = changed(torch="2.14.0", torch_npu="2.14.0", cann=cann("8.3.RC1"), apex=None)
    assert findings(own)["torch_npu"].verdict is Verdict.UNKNOWN


def test_a_pair_documented_as_compatible_is_allowed_and_cited() -> None:
    own = changed(
        python=python("3.11.2"),
        torch="2.14.0",
        torch_npu="2.14.0",
        cann=cann("9.1.0"),
        apex=None,
        deepspeed="",
    )
    found = findings(own)["torch_npu"]
    assert found.verdict is Verdict.ALLOWED
    assert "are compatible with CANN 9.1.0; they are paired with CANN 9.2.0." in found.text
    assert [row.sources[0].name for row in found.rows] == ["torch-npu-262"] * 2


@pytest.mark.parametrize(
    "row", [row for row in COMPAT.pairings if row.pythons], ids=lambda r: r.says
)
def test_every_row_passes_with_each_of_its_pythons(row: Pairing) -> None:
    known = {chip for each in COMPAT.releases if each.cann == row.cann for chip in each.chips}
    chip = min(known, default="910b")
    release = cann(str(row.cann), chip=chip)
    wheel = file_of("torch_npu", row.torch_npu)
    versions = {"torch": row.torch, "torch_npu": row.torch_npu, "torch_npu_wheel": wheel}
    versions |= {"cann": release, "chip": chip}
    for minor in row.pythons if row.torch_npu else ():
        interpreter = python(f"{minor}.9")
        target = changed(**versions, with_nnal=False, python=interpreter, apex=None, deepspeed="")
        refused = refusals_of(target, judge(target, COMPAT), COMPAT)
        # Kernels of some old releases are nowhere to be seen: that alone may be unknown.
        texts = [each.finding.text for each in refused]
        assert not [text for text in texts if known or "kernels" not in text]
