# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import yaml

from cannery.common.errors import MatrixError, UsageError
from cannery.matrix.text import MatrixText
from cannery.update.choice import NewOptions
from cannery.update.propose import propose, target_id
from tests.unit.compat_targets import COMPAT
from tests.unit.proposals import ARCHIVES, TEXT, proposed, targets_of


def target(**options: object) -> dict[str, object]:
    result, text = proposed(**options)  # type: ignore[arg-type]
    return dict(yaml.load(text, Loader=yaml.BaseLoader)["targets"][result.id])


def test_the_newest_that_fits() -> None:
    result = target(python="3.10", torch="2.6.0", cann="8.3.RC1")
    assert result["torch_npu"] == "2.6.0.post3"
    assert result["python"] == "cpython-3.10.20"
    assert result["deepspeed"] == "0.16.9"
    assert result["cann"] == "8.3.RC1"
    assert "chip" not in result


def test_what_huawei_pairs_goes_before_what_others_have_tried() -> None:
    assert target(python="3.10", torch="2.5.1", cann="8.1.RC1")["torch_npu"] == "2.5.1"
    assert target(python="3.8", torch="2.3.1", cann="8.0.RC3")["torch_npu"] == "2.3.1.post2"


def test_who_names_the_requirements_of_a_new_release_is_said() -> None:
    result, _ = proposed(python="3.10", cann="9.1.0")
    notes = [each for each in result.notes if "requirements of CANN's Python parts" in each]
    assert bool(notes) == any(where == ("cann",) for where, _ in result.entries)
    assert all("Ascend/cann-container-image@HEAD" in each for each in notes)
    assert notes


@pytest.mark.parametrize("component", ["toolkit", "kernels", "nnal"])
def test_a_file_that_no_row_names_is_told(component: str) -> None:
    files = tuple(row for row in COMPAT.files if row.component != component)
    options = NewOptions(python="3.10", cann="9.1.0")
    with pytest.raises(MatrixError) as caught:
        own = MatrixText({"matrix.yaml": TEXT})
        propose(
            options, COMPAT.model_copy(update={"files": files}), own, ARCHIVES, targets_of(TEXT)
        )
    assert str(caught.value) == (
        f"no row of files in compat.yaml names the {component} file of CANN 9.1.0 for chip 910b. "
        "Add a row, or declare the release under cann: in matrix.yaml."
    )


def test_what_the_matrix_has_is_used() -> None:
    result, _ = proposed(python="3.9", cann="8.0.RC2", id="mine")
    assert [where for where, _ in result.entries] == [("targets",)]
    assert result.entries[0][1][0] == "mine:"


def test_an_exact_python_that_the_matrix_lacks_is_declared_with_its_hash() -> None:
    result, text = proposed(python="3.9.19", torch="2.3.1", cann="8.0.RC2")
    archive = yaml.safe_load(text)["pythons"]["cpython-3.9.19"]["archive"]
    assert archive["file"] == (
        "cpython-3.9.19+20240726-aarch64-unknown-linux-gnu-install_only.tar.gz"
    )
    assert len(archive["sha256"]) == 64
    assert "compat.yaml:" in result.notes[-1]


def test_an_interim_cann_that_the_matrix_has() -> None:
    result = target(python="3.9", torch="2.3.1", cann="8.0.T39")
    assert result["torch_npu"] == "2.3.1.post2"
    # The matrix has no NNAL for it.
    assert result["cann"] == "8.0.T39"


def test_kernels_of_an_interim_cann_have_its_own_version() -> None:
    _, text = proposed(python="3.9", torch="2.3.1", cann="8.0.T39", chip="310b")
    kernels = yaml.safe_load(text)["cann"]["8.0.T39"]["kernels"]["310b"]
    assert kernels["file"] == "Ascend-cann-kernels-310b_8.0.T39_linux-aarch64.run"
    assert "not published" in kernels["origin"]


def test_the_communitys_name_of_a_release_that_the_matrix_has() -> None:
    assert target(python="3.9", torch="2.3.1", cann="8.0.RC2.beta1")["cann"] == "8.0.RC2"


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
    result, text = proposed(text, python="3.9", apex=True, **options)
    data = yaml.load(text, Loader=yaml.BaseLoader)
    assert [*data["deepspeed_plugins"]] == ["0.6.0"]
    assert [*data["apex"]] == ["0.1+ascend"]
    assert data["targets"][result.id]["deepspeed"] == "0.6.0"


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_the_torch_is_one_that_deepspeed_and_apex_are_known_with(
    options: dict[str, object], torch: str
) -> None:
    assert target(**options)["torch"] == torch


def test_a_deepspeed_that_is_not_advised_for_this_python_is_not_proposed() -> None:
    assert "deepspeed" not in target(python="3.9", torch="1.11.0", cann="8.0.RC2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cann": "8.0"}, "'8.0' is not a CANN version"),
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
        (("3.8", "2.1.0", "8.0.RC2", "910b"), "py38-torch210-cann8rc2"),
        (("3.10", "2.7.1", "8.3.RC1", "a3"), "py310-torch271-cann83rc1-a3"),
        (("3.11", "2.9.0", "9.0.0-beta.1", "910b"), "py311-torch290-cann900beta1"),
        (("3.8", "2.3.1", "8.0.0", "910b"), "py38-torch231-cann800"),
    ],
)
def test_the_id(parts: tuple[str, str, str, str], name: str) -> None:
    assert target_id(*parts) == name
