# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import CanneryError, MatrixError, UsageError
from cannery.common.model import Target
from cannery.compat.files import load_archives
from cannery.matrix.schema import load_matrix, parse_matrix
from cannery.matrix.text import MatrixText
from cannery.options import NewOptions
from cannery.update.new_target import Proposal, propose, target_id, warnings
from tests.policy.conftest import PROJECT
from tests.unit.compat_targets import COMPAT
from tests.unit.examples import times
from tests.unit.matrices import DIGEST, MATRIX, OWN_FACTS, edited, write_facts

ARCHIVES = load_archives()
RELEASES = """\
cann_layouts:
  ascend-toolkit:
    origin: Huawei
    toolkit: Ascend-cann-toolkit_{release}_linux-{machine}.run
    kernels:
      default: Ascend-cann-kernels-{chip}_{release}_linux-{machine}.run
      a3: Atlas-A3-cann-kernels_{release}_linux-{machine}.run
    nnal: Ascend-cann-nnal_{release}_linux-{machine}.run
    requirements: [numpy<2]
  cann:
    origin: Huawei
    toolkit: Ascend-cann-toolkit_{release}_linux-{machine}.run
    kernels: {default: "Ascend-cann-{chip}-ops_{release}_linux-{machine}.run"}
    nnal: Ascend-cann-nnal_{release}_linux-{machine}.run
    requirements: [numpy]

cann:
  8.1.RC1:
    layout: ascend-toolkit
    chips: [910b]  # the usual one
  8.2.RC1:
    layout: ascend-toolkit
    without: [nnal]
    kernels:
      910b: {file: own.run}
  8.3.RC2:
    layout: ascend-toolkit
    chips:
      - 910b
  8.0.RC2"""
# The small matrix is of made-up versions: only its parts are wanted here.
TEXT = edited(
    "cann:\n  8.0.RC2",
    RELEASES,
    MATRIX.replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1").replace(
        "torch_npu: 2.1.0.post6", "torch_npu: 2.1.0.post8"
    ),
)


_WHEEL = "torch_npu-1.11.0.post14-{tag}-{abi}-linux_{machine}.whl"
WITH_A_WHEEL = f"""{TEXT}
torch_npu_wheels:
  1.11.0.post14: {{file: "{_WHEEL}", origin: its makers}}
"""


@cache
def targets_of(text: str) -> Mapping[str, Target]:
    return parse_matrix(text, "matrix.yaml").targets


def proposed(text: str = TEXT, **options: Any) -> tuple[Proposal, str]:
    """The proposal, and the matrix with it."""
    matrix = MatrixText({"matrix.yaml": text})
    result = propose(NewOptions(**options), COMPAT, matrix, ARCHIVES, targets_of(text))
    for where, lines in result.entries:
        matrix.add(where, lines)
    return result, matrix.files["matrix.yaml"]


def loaded(**options: Any) -> dict[str, Any]:
    return dict(yaml.load(proposed(**options)[1], Loader=yaml.BaseLoader))


def target(**options: Any) -> dict[str, Any]:
    return dict(loaded(id="new", **options)["targets"]["new"])


def test_the_newest_fitting_versions() -> None:
    result = target(python="3.10", torch="2.6.0", cann="8.3.RC1")
    assert result["torch_npu"] == "2.6.0.post3"
    assert result["python"] == "cpython-3.10.20"
    assert result["deepspeed"] == "0.16.9"
    assert result["cann"] == "8.3.RC1"
    assert "chip" not in result


def test_the_newest_of_a_series() -> None:
    result = target(python="3.11", torch="2.9", cann="9.1")
    assert (result["torch"], result["torch_npu"], result["cann"]) == (
        *("2.9.0", "2.9.0.post8", "9.1.1"),
    )


def test_pairs_of_huawei_come_before_those_of_others() -> None:
    assert target(python="3.10", torch="2.5.1", cann="8.1.RC1")["torch_npu"] == "2.5.1"
    assert target(python="3.8", torch="2.3.1", cann="8.0.RC3")["torch_npu"] == "2.3.1.post2"


def test_definitions_of_the_matrix_are_used() -> None:
    result, _ = proposed(python="3.9", cann="8.0.RC2", id="mine")
    assert [where for where, _ in result.entries] == [("targets",)]
    assert result.entries[0][1][0] == "mine:"


def test_a_new_python_is_declared_with_its_hash() -> None:
    result, text = proposed(python="3.9.19", torch="2.3.1", cann="8.0.RC2")
    archive = yaml.safe_load(text)["pythons"]["cpython-3.9.19"]["archive"]
    assert archive["file"] == (
        "cpython-3.9.19+20240726-aarch64-unknown-linux-gnu-install_only.tar.gz"
    )
    assert len(archive["sha256"]) == 64
    said = "base debian-11 has Python 3.9.2; 3.9.19 is taken from an archive"
    assert result.notes[0] == said
    assert said not in proposed(python="3.9.2", torch="2.3.1", cann="8.0.RC2")[0].notes


def test_an_archive_for_every_machine_is_not_declared_again() -> None:
    name = "cpython-3.8.18-aarch64.tar.gz"
    hashes = f"hashes: {{aarch64: {DIGEST}, x86_64: {DIGEST}}}"
    lines = f"{name}\n      sha256: {DIGEST}"
    named = f"{name.replace('aarch64', '{machine}')}\n      {hashes}"
    text = edited(lines, named, TEXT)
    result, _ = proposed(text, python="3.8.18", torch="2.1.0", cann="8.0.RC2", id="mine")
    assert "  python: own-python" in dict(result.entries)[("targets",)]
    assert "compat.yaml:" in result.notes[-1]


@pytest.mark.parametrize(
    ("cann", "torch_npu", "name"),
    [("8.0.T39", "2.3.1.post2", "8.0.T39"), ("8.0.RC2.beta1", "2.3.1", "8.0.RC2")],
)
def test_a_release_has_its_name_in_the_matrix(cann: str, torch_npu: str, name: str) -> None:
    result = target(python="3.9", torch="2.3.1", cann=cann)
    assert (result["torch_npu"], result["cann"]) == (torch_npu, name)


def test_a_new_release_has_its_layout_and_chips() -> None:
    chips = ["310p", "910", "910b", "a3"]
    releases = loaded(python="3.9", torch="2.8.0", cann="8.3.RC1")["cann"]
    assert releases["8.3.RC1"] == {"layout": "ascend-toolkit", "chips": chips}


@pytest.mark.parametrize(
    ("options", "chips"),
    [
        ({"torch": "2.5.1", "cann": "8.1.RC1"}, "    chips: [910b, a3]  # the usual one\n"),
        ({"torch": "2.6.0", "cann": "8.2.RC1"}, "      910b: {file: own.run}\n    chips: [a3]\n"),
        ({"torch": "2.7.1", "cann": "8.3.RC2"}, "      - 910b\n      - a3\n"),
    ],
)
def test_a_missing_chip_is_added_to_its_release(options: dict[str, str], chips: str) -> None:
    _, text = proposed(python="3.9", chip="a3", **options)
    assert chips in text


def test_an_alias_is_not_changed() -> None:
    text = edited("    chips: [910b]  # the usual one", "    chips: &chips [910b]", TEXT)
    text = edited("    chips:\n      - 910b\n", "    chips: *chips\n", text)
    with pytest.raises(MatrixError) as caught:
        proposed(text, python="3.9", torch="2.7.1", cann="8.3.RC2", chip="a3")
    assert "cannot add to cann.8.3.RC2.chips in matrix.yaml" in str(caught.value)


def test_a_release_with_other_names_is_left_to_people() -> None:
    with pytest.raises(MatrixError) as caught:
        proposed(python="3.8", torch="2.1.0", cann="8.0.RC1")
    assert str(caught.value) == (
        "the layout ascend-toolkit does not name the kernels of CANN 8.0.RC1 for chip 910b. "
        "Declare the release under cann: in matrix.yaml, with its files."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"python": "3.12", "torch": "2.1.0"}, "Known: --python 3.8 or 3.9 or 3.10"),
        ({"python": "3.10", "torch": "2.7.1", "cann": "8.0.RC2"}, "Known: --torch 2.1.0 or 2.2.0"),
        ({"python": "3.10", "cann": "8.0.RC2", "chip": "a3"}, "or --chip 910b."),
        ({"python": "3.10", "torch": "2.7.11"}, "Known: --torch"),
        ({"python": "2.7", "torch": "9.9.9"}, "no known combination has python 2.7"),
        (
            {"python": "3.9", "torch": "1.11.0", "cann": "8.0.RC2"},
            "no torch_npu 1.11.0.post14: declare its wheel under torch_npu_wheels in matrix.yaml.",
        ),
        (
            {"text": WITH_A_WHEEL, "python": "3.7", "torch": "1.11.0", "cann": "8.0.RC2"},
            "Python 3.7 is known with",
        ),
        # The newest torch is not known with any of these.
        ({"python": "3.11", "deepspeed": "0.9.2"}, "Known: --python 3.8 or 3.9; or without"),
        ({"python": "3.9", "deepspeed": "0.10.0"}, "neither detection nor op_builder/npu"),
        ({"python": "3.9", "deepspeed": "0.99.0"}, "No source names deepspeed 0.99.0."),
        ({"python": "3.9.1", "cann": "8.0.RC2"}, "no python-build-standalone archive of Python"),
    ],
)
def test_nothing_fits(options: dict[str, str], message: str) -> None:
    with pytest.raises(MatrixError) as caught:
        proposed(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "torch"),
    [
        ({"python": "3.9", "deepspeed": "0.9.2"}, "2.1.0"),
        ({"python": "3.9", "deepspeed": "0.15.0"}, "2.7.1"),
        ({"python": "3.9", "deepspeed": "none"}, "2.7.1"),
        ({"python": "3.10", "apex": True}, "2.7.1"),
    ],
)
def test_the_torch_fits_deepspeed_and_apex(options: dict[str, object], torch: str) -> None:
    assert target(**options)["torch"] == torch


def test_only_an_advised_deepspeed_is_proposed() -> None:
    options = {"python": "3.9", "torch": "1.11.0", "cann": "8.0.RC2"}
    assert "deepspeed" not in target(text=WITH_A_WHEEL, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cann": "8"}, "'8' is not a CANN version"),
        ({"cann": "8.0.T17"}, "is an interim build, whose files are not published. Declare it"),
        (
            {"cann": "8.0.RC2", "id": "full"},
            "target full exists already. Build it: python build.py build full; or",
        ),
    ],
)
def test_wrong_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        proposed(python="3.9", **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("3.9", "2.3.1", "8.0.T39", "910b"), "py39-torch231-cann8t39"),
        (("3.10", "2.7.1", "8.3.RC1", "a3"), "py310-torch271-cann83rc1-a3"),
        (("3.11", "2.9.0", "9.0.0-beta.1", "910b"), "py311-torch290-cann900beta1"),
        (("3.8", "2.3.1", "8.0.0", "910b"), "py38-torch231-cann800"),
    ],
)
def test_the_id(parts: tuple[str, str, str, str], name: str) -> None:
    assert target_id(*parts) == name


@st.composite
def some_options(draw: st.DrawFn) -> NewOptions:
    """Part of what one row of compat.yaml has, so that most of them can be fulfilled."""
    row = draw(st.sampled_from([row for row in COMPAT.pairings if row.pythons]))
    python = draw(st.sampled_from(row.pythons))
    return NewOptions(
        python=python,
        torch=draw(st.sampled_from(["", row.torch])),
        cann=draw(st.sampled_from(["", str(row.cann)])),
        chip=draw(st.sampled_from(["910b", "910b", "910", "a3", "310p"])),
        # apex is known for some Pythons only, and that is the user's to ask for.
        apex=python in ("3.8", "3.9", "3.10") and draw(st.booleans()),
        id="new",
    )


@given(some_options())
@times(0.5)
def test_every_proposal_loads_without_a_problem(
    tmp_path_factory: pytest.TempPathFactory, options: NewOptions
) -> None:
    try:
        result, after = proposed(**vars(options))
    except CanneryError as error:
        assert error.problems  # noqa: PT017 - nothing fits, which is an answer
        return
    folder: Path = tmp_path_factory.mktemp("proposal")
    write_facts(folder, OWN_FACTS.read_text(encoding="utf-8"))
    (folder / "matrix.yaml").write_text(after, encoding="utf-8")
    targets = load_matrix(folder / "matrix.yaml").targets
    assert [*targets] == [*targets_of(TEXT), result.id]


def test_a_release_that_no_server_has_and_what_has_ended_are_told() -> None:
    targets = PROJECT.matrix().targets
    on_920 = warnings(targets["py311-torch290-cann920"], COMPAT, "2026-11-28")
    assert [line[:46] for line in on_920] == ["no server is known to have CANN 9.2.0: Ascend-"]
    old, own = targets["py39-torch231-cann8t39"], "the base maintains its own build"
    ended = [line for line in warnings(old, COMPAT, "2026-11-28") if "passed" in line]
    assert ended == [
        "torch_npu for torch 2.3.1 was maintained until 2026-06-07, which has passed",
        f"Python 3.9 was maintained until 2025-10-31, which has passed; {own}",
        "Debian bullseye was maintained until 2026-08-31, which has passed",
    ]
    assert warnings(targets["py311-torch2100-cann910"], COMPAT, "2026-11-28") == []
