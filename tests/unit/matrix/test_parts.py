# SPDX-License-Identifier: Apache-2.0
"""Targets from others, keys for all of them, and definitions that change those of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.image.content_key import BASES as BASES_LABEL
from cannery.image.content_key import origin_labels
from cannery.image.environment import CONSTRAINT_VARIABLES, environment_of
from cannery.image.plan import read_plans
from cannery.matrix.files import CATALOGUE
from cannery.matrix.project import Project
from cannery.matrix.text import find_uses
from tests.unit.families import FAMILY, HEAD, TARGETS
from tests.unit.matrices import DIGEST, MATRIX, edited, load, make_checkout, place, refused

BASES = "cannery/data/bases.yaml"
OURS = f"bases:\n  debian-11:\n    image: ours/debian:11@sha256:{DIGEST}\n    suite: bullseye\n"
OURS += "    glibc: 2.31\n    packages: {compiler: [gcc]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a project, for which the program has data and targets of its own."""
    for path, text in ((BASES, OURS), (CATALOGUE, MATRIX.replace("  full:", "  theirs:"))):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


WITHOUT_BASE = MATRIX.replace(
    MATRIX[MATRIX.index("  debian-11:") : MATRIX.index("  debian-12:")], ""
)


def mine(keys: str, text: str = WITHOUT_BASE) -> str:
    return f"{text}  mine: {keys}\n"


def target(folder: Path, keys: str, text: str = WITHOUT_BASE) -> Target:
    return load(folder, mine(keys, text)).targets["mine"]


@pytest.mark.parametrize("source", ["full", "theirs"])
def test_a_target_from_another_has_all_of_it_and_its_own(folder: Path, source: str) -> None:
    keys = "{from: SOURCE, torch_npu: {replace: 2.3.1.post2}, requirements: [tqdm]}"
    made = target(folder, keys.replace("SOURCE", source))
    assert (made.torch, made.torch_npu, made.deepspeed) == ("2.3.1", "2.3.1.post2", "0.15.0")
    assert made.requirements == ("tqdm",)
    # Not "everything there is".
    assert made.summary == "PyTorch 2.3.1 with apex and DeepSpeed 0.15.0 on CANN 8.0.RC2 for 910B"


def test_a_target_may_be_from_one_of_a_family_and_from_one_below(tmp_path: Path) -> None:
    below = "  second: {from: first, packages: {append: [git]}}\n"
    below += "  first: {from: own-new, summary: mine, packages: [curl]}\n"
    targets = load(tmp_path, HEAD + FAMILY + TARGETS + below).targets
    assert targets["second"].packages == ("curl", "git")
    assert targets["second"].python.name == "own-python"
    assert [*targets][-2:] == ["second", "first"]


def test_a_target_says_what_it_changes_of_the_one_it_is_from(folder: Path) -> None:
    text = mine("{from: full, deepspeed: {replace: 0.14.3}, packages: [git]}")
    matrix = load(folder, text)
    [said] = matrix.changes_for(matrix.targets["mine"])
    where, there = (place(text, part).rstrip(": ") for part in ("{from: full", "summary: every"))
    assert said == (
        f"targets.mine of {where} is from full of {there}, changes its deepspeed, adds packages"
    )
    assert matrix.changes_for(matrix.targets["full"]) == []


def test_a_key_of_both_needs_to_say_how(folder: Path) -> None:
    text = mine("{from: full, torch: 2.1.0}")
    [problem] = refused(folder, text)
    assert problem == (
        f"{place(text, 'torch: 2.1.0}')}'torch' is in target mine, and already in target full. "
        "To use this one, write torch: {replace: ...}."
    )


def test_a_target_from_none_is_an_error_with_the_nearest(folder: Path) -> None:
    text = mine("{from: their}\n  second: {from: mine}\n  third: {from: fourth}\n")
    text += "  fourth: {from: third}\n"
    loop = "fourth is from third, and third is from it. Write the keys of one of them."
    assert refused(folder, text) == [
        f"{place(text, 'their}')}there is no target 'their'. Did you mean 'theirs'?",
        f"{place(text, 'third}')}{loop}",
    ]


def test_common_keys_are_in_all_targets(folder: Path) -> None:
    common = "common: {packages: [git], labels: {com.example.team: vision},"
    common += " environment: {HF_ENDPOINT: https://hub.example}}\n"
    targets = load(folder, edited("targets:\n", f"{common}targets:\n", mine("{from: theirs}")))
    for made in targets.targets.values():
        assert made.packages == ("git",)
        assert made.labels == {"com.example.team": "vision"}
        assert environment_of(made).all["HF_ENDPOINT"] == "https://hub.example"


def test_variables_of_the_image_itself_are_refused(folder: Path) -> None:
    variables = environment_of(load(folder, WITHOUT_BASE).targets["full"]).cann
    paths = [name for name, value in variables.items() if "/usr/local" in value]
    names = {*paths, *CONSTRAINT_VARIABLES}
    assert {"PATH", "ATB_HOME_PATH"} <= names
    for name in names:
        text = mine(f"{{from: full, environment: {{{name}: /x}}}}")
        [problem] = refused(folder, text)
        assert problem.endswith(f"{name} is set by the image itself. Leave it out.")


def test_labels_that_an_image_has_already_are_refused(folder: Path, tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    plan = read_plans(checkout.project, [checkout.target()])["full"]
    built = origin_labels(key="", commit="x", origin="https://x.test/y", created="")
    names = {*plan.labels, *built, BASES_LABEL, "org.opencontainers.image.base.name"}
    for name in sorted(names):
        [problem] = refused(folder, mine(f"{{from: full, labels: {{{name}: x}}}}"))
        assert f"{name!r} cannot be set" in problem
    assert target(folder, "{from: full, labels: {org.opencontainers.image.vendor: us}}").labels


def test_a_definition_that_hides_one_of_the_program_is_refused(folder: Path) -> None:
    [problem] = refused(folder, MATRIX)
    assert problem == (
        f"{place(MATRIX, 'debian-11:')}'debian-11' hides the one of {BASES}:2:3. Write "
        "{replace: ...} around it to take it instead, {extend: ...} to add to it, or another name."
    )


def test_a_definition_replaces_one_or_extends_it_and_says_so(folder: Path) -> None:
    image = f"mine/debian:11@sha256:{DIGEST}"
    added = f"bases:\n  debian-11: {{extend: {{image: '{image}', packages: {{mpi: [mpich]}}}}}}\n"
    text = edited("bases:\n", added, WITHOUT_BASE)
    matrix = load(folder, text)
    made = matrix.targets["full"]
    assert (made.base.image, made.base.suite) == (image, "bullseye")
    assert made.base.distribution.packages["compiler"] == ("gcc",)
    assert made.base.distribution.packages["mpi"] == ("mpich",)
    where = place(text, "debian-11: {extend").rstrip(": ")
    assert matrix.changes_for(made) == [f"bases.debian-11 of {where} extends that of {BASES}:2:3"]
    replaced = edited("image: debian:11", "replace: {image: debian:11", MATRIX)
    replaced = edited("    glibc: 2.31\n", "    glibc: 2.31}\n", replaced)
    replaced = edited(
        f"{DIGEST}\n    suite: bullseye\n", f"{DIGEST},\n    suite: bullseye,\n", replaced
    )
    base = load(folder, replaced).targets["full"].base
    assert base.image == f"debian:11@sha256:{DIGEST}"
    assert base.distribution.packages["compiler"] != ("gcc",)


def test_a_change_of_a_definition_that_is_not_there_is_refused(folder: Path) -> None:
    text = edited(
        "bases:\n",
        "bases:\n  debian-10: {extend: {image: x:1}}\n",
        WITHOUT_BASE,
    )
    [problem] = refused(folder, text)
    assert problem.startswith(place(text, "debian-10:"))
    assert "bases has no 'debian-10' to extend. Did you mean 'debian-11'?" in problem


def test_versions_of_the_program_s_targets_are_no_uses_of_the_file(folder: Path) -> None:
    text = mine("{from: theirs, torch_npu: {replace: 2.3.1.post2}}")
    matrix = load(folder, text)
    catalogue = Project(root=folder).catalogue
    uses = find_uses(text, matrix, ["torch_npu", "deepspeed"], catalogue)
    assert ("torch_npu", "2.3.1.post2") in {(use.key, use.version) for use in uses}
    assert {use.where.file for use in uses} == {"matrix.yaml"}
