# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.compat.archives import load_archives
from cannery.errors import CanneryError, MatrixError, UsageError
from cannery.matrix.propose import Proposal, propose, target_id
from cannery.matrix.schema import load_matrix, parse_matrix
from cannery.matrix.text import MatrixText
from cannery.model import Target
from cannery.options.matrix import NewOptions
from tests.unit.compat_targets import COMPAT
from tests.unit.examples import times
from tests.unit.matrices import MATRIX

REAL = (Path(__file__).resolve().parents[3] / "compat.yaml").read_text(encoding="utf-8")
ARCHIVES = load_archives()
# The small matrix is of made-up versions: only its parts are wanted here.
TEXT = (
    MATRIX.replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1")
    .replace("torch_npu: 2.1.0.post6", "torch_npu: 2.1.0.post8")
    .replace("_public: 8.0.RC3\n", "_public: 8.0.RC3\n    requirements: [numpy<2]\n")
)

# The same with its targets in a family, and two more there that are of another base.
FAMILY = """\
# belongs to the families
families:
  found:
    id: "{place}-{number}"
    axes:
      place:
        there: {base: debian-12, python: own-python}
      number:
        one: {cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, chip: 910b}}
        two: {cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}}
        three: {cann: {toolkit: 8.0.T39, kernels: 8.0.T39, chip: 910b}}
    common:
      summary: what a family has
      platform: linux/arm64
      torch: 2.1.0
      torch_npu: 2.1.0.post6
    overrides:
      there-three:
        torch_npu: {replace: 2.1.0.post8}
"""
BEFORE, TARGETS = TEXT.split("\ntargets:\n")
WITH_FAMILY = f"{BEFORE}\n{FAMILY}\ntargets:\n{TARGETS}"
ONLY_FAMILY = f"{BEFORE}\n{FAMILY}"
LAYOUTS = {"targets": TEXT, "families and targets": WITH_FAMILY, "families": ONLY_FAMILY}


@cache
def targets_of(text: str) -> Mapping[str, Target]:
    return parse_matrix(text, "matrix.yaml").targets


def proposed(text: str = TEXT, **options: object) -> tuple[Proposal, str]:
    """The proposal, and the matrix with it."""
    matrix = MatrixText(text)
    chosen = NewOptions(**options)  # type: ignore[arg-type]
    found = propose(chosen, COMPAT, matrix, ARCHIVES, targets_of(text))
    for where, lines in found.entries:
        matrix.add(where, lines)
    return found, matrix.text


def require_valid(folder: Path, text: str) -> Mapping[str, Target]:
    (folder / "compat.yaml").write_text(REAL, encoding="utf-8")
    (folder / "matrix.yaml").write_text(text, encoding="utf-8")
    return load_matrix(folder / "matrix.yaml").targets


def target(**options: object) -> dict[str, object]:
    found, text = proposed(**options)  # type: ignore[arg-type]
    return dict(yaml.load(text, Loader=yaml.BaseLoader)["targets"][found.id])


def test_the_newest_that_fits() -> None:
    found = target(python="3.10", torch="2.6.0", cann="8.3.RC1")
    assert found["torch_npu"] == "2.6.0.post3"
    assert found["python"] == "cpython-3.10.20"
    assert found["deepspeed"] == "0.16.9"
    assert found["cann"] == {
        "toolkit": "8.3.RC1",
        "kernels": "8.3.RC1",
        "nnal": "8.3.RC1",
        "chip": "910b",
    }


def test_what_huawei_pairs_goes_before_what_others_have_tried() -> None:
    assert target(python="3.10", torch="2.5.1", cann="8.1.RC1")["torch_npu"] == "2.5.1"
    assert target(python="3.8", torch="2.3.1", cann="8.0.RC3")["torch_npu"] == "2.3.1.post2"


def test_who_names_the_requirements_of_a_new_release_is_said() -> None:
    found, _ = proposed(python="3.10", cann="9.1.0")
    notes = [each for each in found.notes if "requirements of CANN's Python parts" in each]
    assert bool(notes) == any(where == ("cann",) for where, _ in found.entries)
    assert all("Ascend/cann-container-image@HEAD" in each for each in notes)
    assert notes


@pytest.mark.parametrize("component", ["toolkit", "kernels", "nnal"])
def test_a_file_that_no_row_names_is_told(component: str) -> None:
    files = tuple(row for row in COMPAT.files if row.component != component)
    options = NewOptions(python="3.10", cann="9.1.0")
    with pytest.raises(MatrixError) as caught:
        propose(options, replace(COMPAT, files=files), MatrixText(TEXT), ARCHIVES, targets_of(TEXT))
    assert str(caught.value) == (
        f"no row of files in compat.yaml names the {component} file of CANN 9.1.0 for chip 910b. "
        "Add a row, or declare the release under cann: in matrix.yaml."
    )


def test_what_the_matrix_has_is_used() -> None:
    found, _ = proposed(python="3.9", cann="8.0.RC2", id="mine")
    assert [where for where, _ in found.entries] == [("targets",)]
    assert found.entries[0][1][0] == "mine:"


def test_an_exact_python_that_the_matrix_lacks_is_declared_with_its_hash() -> None:
    found, text = proposed(python="3.9.19", torch="2.3.1", cann="8.0.RC2")
    archive = yaml.safe_load(text)["pythons"]["cpython-3.9.19"]["archive"]
    assert archive["file"] == (
        "cpython-3.9.19+20240726-aarch64-unknown-linux-gnu-install_only.tar.gz"
    )
    assert len(archive["sha256"]) == 64
    assert "compat.yaml:" in found.notes[-1]


def test_an_interim_cann_that_the_matrix_has() -> None:
    found = target(python="3.9", torch="2.3.1", cann="8.0.T39")
    assert found["torch_npu"] == "2.3.1.post2"
    # The matrix has no NNAL for it.
    assert found["cann"] == {"toolkit": "8.0.T39", "kernels": "8.0.T39", "chip": "910b"}


def test_kernels_of_an_interim_cann_have_its_own_version() -> None:
    _, text = proposed(python="3.9", torch="2.3.1", cann="8.0.T39", chip="310b")
    kernels = yaml.safe_load(text)["cann"]["8.0.T39"]["kernels"]["310b"]
    assert kernels["file"] == "Ascend-cann-kernels-310b_8.0.T39_linux-aarch64.run"
    assert "not published" in kernels["origin"]


def test_the_communitys_name_of_a_release_that_the_matrix_has() -> None:
    cann = target(python="3.9", torch="2.3.1", cann="8.0.RC2.beta1")["cann"]
    assert isinstance(cann, dict)
    assert cann["toolkit"] == "8.0.RC2"


def test_the_file_names_change_with_release_and_chip() -> None:
    _, text = proposed(python="3.10", torch="2.6.0", cann="8.3.RC1", chip="a3")
    kernels = yaml.safe_load(text)["cann"]["8.3.RC1"]["kernels"]
    assert kernels["a3"]["file"] == "Atlas-A3-cann-kernels_8.3.RC1_linux-aarch64.run"
    _, text = proposed(python="3.8", torch="2.1.0", cann="8.0.RC1")
    kernels = yaml.safe_load(text)["cann"]["8.0.RC1"]["kernels"]
    assert kernels["910b"]["file"] == "Ascend-cann-kernels-910b_8.0.RC1_linux.run"


def test_a_plugin_and_apex_are_declared_where_they_are_missing() -> None:
    text = TEXT.replace(TEXT[TEXT.index("apex:") : TEXT.index("targets:")], "")
    text = text.replace("    apex: 0.1+ascend\n", "")
    options: dict[str, str] = {"torch": "1.11.0", "cann": "8.0.RC2", "deepspeed": "0.6.0"}
    found, text = proposed(text, python="3.9", apex=True, **options)
    data = yaml.load(text, Loader=yaml.BaseLoader)
    assert [*data["deepspeed_plugins"]] == ["0.6.0"]
    assert [*data["apex"]] == ["0.1+ascend"]
    assert data["targets"][found.id]["deepspeed"] == "0.6.0"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"python": "3.12", "torch": "2.1.0"}, "Known: --python 3.8 or 3.9 or 3.10"),
        ({"python": "3.10", "torch": "2.7.1", "cann": "8.0.RC2"}, "Known: --torch 1.11.0 or 2.1.0"),
        ({"python": "3.10", "cann": "8.0.RC2", "chip": "a3"}, "or --chip 910b."),
        ({"python": "3.10", "torch": "2.7.11"}, "Known: --torch"),
        ({"python": "2.7", "torch": "9.9.9"}, "no known combination has python 2.7"),
        ({"python": "3.7", "torch": "1.11.0", "cann": "8.0.RC2"}, "Python 3.7 is known with"),
        # The newest torch is not known with any of these.
        ({"python": "3.11", "deepspeed": "0.9.2"}, "Known: --python 3.7 or 3.8 or 3.9; or without"),
        ({"python": "3.9", "deepspeed": "0.10.0"}, "neither detection nor op_builder/npu"),
        ({"python": "3.9", "deepspeed": "0.99.0"}, "No source names deepspeed 0.99.0."),
        ({"python": "3.9.1", "cann": "8.0.RC2"}, "no python-build-standalone archive of Python"),
    ],
)
def test_nothing_fits(options: dict[str, str], said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        proposed(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "torch"),
    [
        ({"python": "3.9", "deepspeed": "0.9.2"}, "2.1.0"),
        ({"python": "3.9", "deepspeed": "0.15.0"}, "2.7.1"),
        ({"python": "3.9", "deepspeed": "none"}, "2.7.1"),
        ({"python": "3.10", "apex": True}, "2.6.0"),
    ],
)
def test_the_torch_is_one_that_deepspeed_and_apex_are_known_with(
    options: dict[str, object], torch: str
) -> None:
    assert target(**options)["torch"] == torch


def test_a_deepspeed_that_is_not_advised_for_this_python_is_not_proposed() -> None:
    assert "deepspeed" not in target(python="3.9", torch="1.11.0", cann="8.0.RC2")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cann": "8.0"}, "'8.0' is not a CANN version"),
        ({"cann": "8.0.T17"}, "is an interim build, whose files are not published. Declare it"),
        (
            {"cann": "8.0.RC2", "id": "full"},
            "target full exists already. Choose another id",
        ),
    ],
)
def test_wrong_options(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        proposed(python="3.9", **options)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", [WITH_FAMILY, ONLY_FAMILY])
def test_what_families_have_is_known(text: str) -> None:
    with pytest.raises(UsageError, match="target there-two exists already"):
        proposed(text, python="3.9", id="there-two")
    # Most of the targets have this base.
    found, after = proposed(text, python="3.10", torch="2.1.0", cann="8.0.RC2", apex=True)
    assert "  base: debian-12" in found.entries[-1][1]
    assert after.endswith("\n".join(f"  {line}" for line in found.entries[-1][1]) + "\n")
    assert "apex" not in {where[0] for where, _ in found.entries}


@pytest.mark.parametrize("text", [WITH_FAMILY, ONLY_FAMILY])
def test_a_section_that_is_missing_goes_before_the_families(text: str) -> None:
    without = text.replace(text[text.index("apex:") : text.index("# belongs to")], "")
    without = without.replace("    apex: 0.1+ascend\n", "")
    options: dict[str, str] = {"torch": "1.11.0", "cann": "8.0.RC2", "deepspeed": "0.6.0"}
    _, after = proposed(without, python="3.9", apex=True, **options)
    order = [line for line in after.splitlines() if re.match("[a-z#]", line)]
    place = order.index("# belongs to the families")
    assert order[place - 2 :] == [
        *("apex:", "deepspeed_plugins:"),
        *("# belongs to the families", "families:", "targets:"),
    ]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("3.9", "2.3.1", "8.0.T39", "910b"), "py39-torch231-cann8t39"),
        (("3.8", "2.1.0", "8.0.RC2", "910b"), "py38-torch210-cann8rc2"),
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


@given(some_options(), st.sampled_from([*LAYOUTS.values()]))
@times(0.5)
def test_every_proposal_loads_without_a_problem(
    tmp_path_factory: pytest.TempPathFactory, options: NewOptions, text: str
) -> None:
    try:
        found, after = proposed(text, **vars(options))
    except CanneryError as error:
        assert error.problems  # noqa: PT017 - nothing fits, which is an answer
        return
    targets = require_valid(tmp_path_factory.mktemp("proposal"), after)
    assert [*targets] == [*targets_of(text), found.id]
