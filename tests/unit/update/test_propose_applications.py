# SPDX-License-Identifier: Apache-2.0
"""New targets with newer versions of applications."""

from __future__ import annotations

import pytest

from cannery.update.propose_applications import application_questions, propose_applications
from cannery.update.siblings import Known, Proposed
from tests.unit.matrices import edited
from tests.unit.new_targets import OLD, TEXT, answers, facts, matrix_of, removed


def proposals(*versions: str, text: str = TEXT) -> list[Proposed]:
    known = Known(compat=facts(OLD), lock=lambda _: {})
    index = answers("serve", versions)
    return [*propose_applications({"matrix.yaml": text}, matrix_of(text), known, index)]


def test_the_package_with_the_version_is_asked_for() -> None:
    assert {each.package for each in application_questions(matrix_of())} == {"serve"}


def test_a_newer_version_is_a_copy_with_its_comments() -> None:
    [result] = proposals("0.9.0", "1.0.0", "1.1.0", "1.2.0")
    assert result.targets == ("py311-serve120",)
    target = matrix_of(result.files["matrix.yaml"]).targets["py311-serve120"]
    assert target.application
    assert target.application.name == "serve-1.2.0"
    assert target.application.version == "1.2.0"
    assert target.summary == "serve 1.2.0 on PyTorch 2.8.0"
    assert (
        "  serve-1.2.0:\n"
        "    component: serve\n"
        "    version: 1.2.0\n"
        "    # Newer pyarrow crashes.\n"
        "    requirements: [serve==1.2.0, pyarrow<22]\n"
    ) in result.files["matrix.yaml"]
    assert removed(TEXT, result.files["matrix.yaml"]) == []


@pytest.mark.parametrize("versions", [(), ("1.0.0",), ("0.9.0",), ("1.1.0rc1",)])
def test_nothing_is_newer(versions: tuple[str, ...]) -> None:
    assert proposals(*versions) == []


def test_a_reason_to_allow_the_old_version_does_not_allow_the_new_one() -> None:
    text = edited("serve-1.0.0}", "serve-1.0.0, unverified: it ran, triton_ascend: 3.2.0}", TEXT)
    [result] = proposals("1.1.0", text=text)
    assert result.files["matrix.yaml"] == text
    assert "is not known to go with" in result.problem


def test_an_application_without_its_version_in_its_name_stays() -> None:
    assert proposals("1.1.0", text=TEXT.replace("serve-1.0.0", "serve-main")) == []


def test_a_target_outside_of_families_is_left_to_people() -> None:
    head, _, family = TEXT.partition("  uses:\n")
    cann = "{toolkit: 9.0.0, kernels: 9.0.0, chip: 910b}"
    common = family.partition("common:\n")[2].replace("*cann", cann)
    own = f"targets:\n  own:\n      summary: serve\n      application: serve-1.0.0\n{common}"
    [result] = proposals("1.1.0", text=head + own)
    assert result.files["matrix.yaml"] == head + own
    assert "add one by hand" in result.problem
