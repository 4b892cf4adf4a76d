# SPDX-License-Identifier: Apache-2.0
"""A template beside matrix.yaml adds lines to every Dockerfile, or takes the place of some."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.image.render import Renderer
from tests.unit.matrices import Checkout, make_checkout

EXTENDS = '{% extends "cannery/Dockerfile.j2" %}\n'


def dockerfile(checkout: Checkout, template: str = "") -> str:
    if template:
        (checkout.project.root / "Dockerfile.j2").write_text(template, encoding="utf-8")
    return Renderer(checkout.project).render(checkout.target()).files["Dockerfile"]


def problems(checkout: Checkout, template: str) -> list[str]:
    with pytest.raises(MatrixError) as caught:
        dockerfile(checkout, template)
    return [str(problem) for problem in caught.value.problems]


def test_a_template_that_extends_the_program_s_changes_nothing_else(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    before = dockerfile(checkout)
    assert dockerfile(checkout, EXTENDS) == before
    added = "RUN echo {{ target.id }}\n"
    after = dockerfile(checkout, f"{EXTENDS}{{% block end %}}{added}{{% endblock %}}")
    assert after.replace("RUN echo full\n", "") == before
    # In the stage that is the image, where everything is installed.
    [begin, _] = after.split("RUN echo full\n")
    assert begin.rpartition("\nFROM ")[2].startswith("base AS image\n")


def test_a_block_can_be_added_to_and_left_out(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    before = dockerfile(checkout)
    template = EXTENDS + "{% block system %}{{ super() }}\n# {{ installer_packages }}{% endblock %}"
    after = dockerfile(checkout, template)
    assert "\n# pciutils procps python3 python3-pip\n" in after
    assert len(after.splitlines()) == len(before.splitlines()) + 1
    without = dockerfile(checkout, f"{EXTENDS}{{% block environment %}}{{% endblock %}}")
    assert "ENV PIP_CONSTRAINT" in before
    assert "ENV PIP_CONSTRAINT" not in without


def test_an_unknown_block_and_an_unknown_value_have_their_lines(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    assert problems(checkout, f"{EXTENDS}\n{{% block ends %}}{{% endblock %}}") == [
        "Dockerfile.j2:3:1: there is no block 'ends' to extend. Did you mean 'end'?"
    ]
    [problem] = problems(
        checkout, f"{EXTENDS}{{% block end %}}\n{{{{ targets.id }}}}{{% endblock %}}"
    )
    assert problem.startswith("Dockerfile.j2:3:1: ")
    assert "'targets' is undefined" in problem
    [problem] = problems(checkout, f"{EXTENDS}\n{{% block end %}}{{% if %}}")
    assert problem.startswith("Dockerfile.j2:3:1: ")
