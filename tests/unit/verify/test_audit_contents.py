# SPDX-License-Identifier: Apache-2.0
"""Each of the things that 'test --image' must find, by the check that must find it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.verify.audit.contents import judge_image, judge_inherited
from cannery.verify.audit.facts import ImageConfig, ImageFacts, Origin, config_of, parse_probe
from cannery.verify.audit.report import Standing
from tests.unit.audits import (
    COMPAT,
    DERIVED,
    FOREIGN,
    HOME,
    KNOWN,
    OURS,
    TARGET,
    dists,
    found_with,
    results,
)

NO_ENV = dict.fromkeys(
    ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
)
SOURCED = {"/root/.bashrc": ["source /usr/local/Ascend/ascend-toolkit/set_env.sh"]}


def standings(found: ImageFacts, config: ImageConfig = FOREIGN, chip: str = "") -> dict[str, str]:
    return {name: str(each.standing) for name, each in results(found, config, chip).items()}


@pytest.mark.parametrize("config", [OURS, DERIVED, FOREIGN], ids=["ours", "derived", "foreign"])
def test_nothing_is_wrong_with_what_is_known_to_work(config: ImageConfig) -> None:
    assert results(found_with(), config) == {}
    every = judge_image(found_with(), config, COMPAT, KNOWN)
    assert {"compat/torch_npu", "compat/apex", "driver/baked-in"} <= {e.check for e in every}


def test_the_published_pair() -> None:
    found = found_with(
        distributions=dists(torch="2.12.0", torch_npu="2.8.0.post2"), torch_file="2.12.0"
    )
    result = results(found)["compat/torch_npu"]
    assert result.standing is Standing.BROKEN
    assert "torch_npu 2.8.0.post2 was built for torch 2.8.0" in result.text
    assert "cannot be imported with torch 2.12.0" in result.text
    assert "Nearest known: " in result.fix


def test_the_published_pair_without_cann() -> None:
    found = found_with(
        distributions=dists(torch="2.12.0+cpu", torch_npu="2.8.0.post2"),
        torch_file="2.12.0+cpu",
        ascend={"homes": {}},
    )
    assert standings(found) == {
        "compat/toolkit": "not ours to say",
        "compat/torch_npu": "broken",
    }


def test_a_pair_that_nobody_names() -> None:
    found = found_with(distributions=dists(torch_npu="2.3.1.post99"))
    result = results(found)["compat/torch_npu"]
    assert result.standing is Standing.UNKNOWN
    assert "are not known to work on CANN 8.0.T39" in result.text


def test_the_metadata_of_torch_is_not_that_of_its_files() -> None:
    result = results(found_with(torch_file="2.1.0"))["compat/torch"]
    assert result.standing is Standing.BROKEN
    assert "are those of 2.1.0, and its metadata says 2.3.1" in result.text


def test_torch_is_installed_twice() -> None:
    twice = {"torch": [["2.3.1", "/usr/lib"], ["2.1.0", "/opt/lib"]]}
    assert "installed twice" in results(found_with(distributions=twice))["compat/torch"].text


def test_the_python_needs_of_cann() -> None:
    said = "Traceback\nModuleNotFoundError: No module named 'decorator'"
    attempt = {"code": 1, "said": said}
    found = found_with(
        distributions=dists(decorator=None), cann_programs={"te": attempt, "atc": attempt}
    )
    found_results = results(found)
    assert {*found_results} == {"cann/python-packages", "cann/te", "cann/atc"}
    assert {each.standing for each in found_results.values()} == {Standing.BROKEN}
    assert found_results["cann/atc"].fix == "Install the Python package with the module decorator."
    assert "decorator" in found_results["cann/python-packages"].text


def test_a_missing_package_that_harms_nothing_is_a_note() -> None:
    works = {"te": {"code": 0, "said": ""}}
    found = found_with(distributions=dists(tornado=None), cann_programs=works)
    assert results(found) == {}
    [note] = [
        each
        for each in judge_image(found, FOREIGN, COMPAT, KNOWN)
        if each.check == "cann/python-packages"
    ]
    assert note.standing is Standing.NOTE


def test_env_only_in_bashrc() -> None:
    found = found_with(environment=NO_ENV, shell_files=SOURCED)
    result = results(found)["environment/shell-only"]
    assert result.standing is Standing.BROKEN
    assert "only /root/.bashrc sets them" in result.text
    assert "ASCEND_HOME_PATH, ASCEND_OPP_PATH, LD_LIBRARY_PATH, PYTHONPATH" in result.text


def test_env_nowhere() -> None:
    found = found_with(environment=NO_ENV)
    assert standings(found) == {"environment/cann": "broken"}


def test_a_python_that_only_a_shell_puts_first() -> None:
    path = "/opt/conda/envs/npu/bin/python3.10"
    found = found_with(
        distributions=dists(torch=None, torch_npu=None, mindspore=None, apex=None),
        torch_file="",
        other_pythons={path: ["torch_npu-2.7.1"]},
    )
    result = results(found)["environment/python"]
    assert result.standing is Standing.BROKEN
    assert result.fix.endswith("ENV PATH=/opt/conda/envs/npu/bin:$PATH")


def test_triton_over_triton_ascend() -> None:
    both = dists(triton="3.5.0", triton_ascend="3.2.0")
    found = found_with(distributions=both, triton={"triton": 4, "triton-ascend": 0, "neither": 0})
    result = results(found)["packages/triton"]
    assert result.standing is Standing.BROKEN
    assert "triton 3.5.0 was installed over triton-ascend 3.2.0: 4 files" in result.text
    assert results(found)["compat/triton"].standing is Standing.BROKEN


def test_triton_ascend_beside_a_pair_that_no_source_has_it_with() -> None:
    found = found_with(distributions=dists(triton_ascend="3.2.1"))
    result = results(found)["compat/triton-ascend"]
    assert result.standing is Standing.UNKNOWN
    assert "'triton-ascend==3.2.1' is not known to go with torch_npu 2.3.1" in result.text
    assert "matrix" not in result.text + result.fix


@pytest.mark.parametrize(
    ("config", "chip", "by"),
    [
        (OURS, "", "its label io.cannery.chip says 910b"),
        (FOREIGN, "", "its name says 910b"),
        (replace(FOREIGN, reference="x"), "a3", "--chip says a3"),
    ],
)
def test_kernels_of_another_chip(config: ImageConfig, chip: str, by: str) -> None:
    result = results(found_with(ascend={"operators": ["ascend310p"]}), config, chip)["kernels/chip"]
    assert result.standing is Standing.BROKEN
    assert "are for chip 310p, and " + by in result.text


def test_a_chip_that_nobody_names() -> None:
    config = replace(FOREIGN, reference="theirs:1")
    assert standings(found_with(), config) == {"kernels/chip": "not ours to say"}


def test_kernels_of_another_release() -> None:
    info = {f"{HOME}/aarch64-linux/ascend_kernels_install.info": {"version": "8.0.RC2"}}
    infos = {**found_infos(), **info}
    assert standings(found_with(ascend={"infos": infos}))["compat/kernels"] == "broken"


def found_infos() -> dict[str, dict[str, str]]:
    from tests.unit.audits import FACTS

    return dict(FACTS["ascend"]["infos"])


def test_a_driver_baked_in() -> None:
    found = found_with(driver=["/usr/local/Ascend/driver/version.info", "/usr/local/bin/npu-smi"])
    result = results(found)["driver/baked-in"]
    assert result.standing is Standing.BROKEN
    assert "/usr/local/Ascend/driver/version.info" in result.text


def test_an_image_for_another_architecture_than_its_cann() -> None:
    config = replace(FOREIGN, architecture="amd64")
    assert standings(found_with(), config)["cann/architecture"] == "broken"


def test_a_toolkit_without_kernels() -> None:
    assert standings(found_with(ascend={"operators": []}))["compat/kernels"] == "unknown pairing"


def test_an_image_without_anything_of_ascend_s() -> None:
    found = found_with(distributions=dists(torch_npu=None), ascend={"homes": {}})
    assert standings(found) == {"compat/image": "not ours to say"}


def test_an_image_without_python() -> None:
    words = "cannery-sh: machine\taarch64\ncannery-sh: uid\t0\ncannery-sh: end\t1\n"
    assert standings(parse_probe(words)) == {"compat/image": "not ours to say"}


def inherited(**changes: Any) -> dict[str, Standing]:
    every = judge_inherited(found_with(**changes), DERIVED)
    return {each.check: each.standing for each in every if each.standing is not Standing.PASSED}


def test_everything_is_inherited() -> None:
    assert inherited() == {}
    assert [*judge_inherited(found_with(), FOREIGN)] == []


@pytest.mark.parametrize("torch", ["2.4.0", None])
def test_another_torch(torch: str | None) -> None:
    found = inherited(distributions=dists(torch=torch))
    assert found == {
        "inherited/torch": Standing.BROKEN,
        "inherited/constraints": Standing.BROKEN,
    }


def test_a_version_that_the_image_pins() -> None:
    changed = inherited(distributions=dists(numpy="2.1.0"))
    assert changed == {"inherited/constraints": Standing.BROKEN}


def test_the_guard_is_switched_off() -> None:
    assert inherited(environment={"PIP_CONSTRAINT": ""}) == {"inherited/guard": Standing.NOTE}


def test_the_constraints_are_emptied() -> None:
    assert inherited(constraints="") == {"inherited/guard": Standing.BROKEN}


def test_a_path_may_be_extended_but_not_replaced() -> None:
    path = found_with().environment["LD_LIBRARY_PATH"]
    assert inherited(environment={"LD_LIBRARY_PATH": f"/opt/mine:{path}"}) == {}
    replaced = inherited(environment={"LD_LIBRARY_PATH": "/opt/mine"})
    assert replaced == {"inherited/environment": Standing.BROKEN}


def test_another_python_comes_first() -> None:
    python = {"path": "/opt/conda/bin/python3.11", "version": "3.11.7"}
    assert inherited(python=python) == {"inherited/python": Standing.BROKEN}


def test_the_record_was_deleted() -> None:
    assert inherited(own_record=[]) == {"inherited/record": Standing.NOT_OURS}


def test_whose_an_image_is() -> None:
    assert [each.origin for each in (OURS, DERIVED, FOREIGN)] == [*Origin]
    assert DERIVED.later_steps == (
        "WORKDIR /app",
        "RUN /bin/sh -c pip install transformers # buildkit",
    )


def test_a_history_that_was_flattened_is_no_proof_of_an_own_image() -> None:
    assert replace(OURS, history=()).origin is Origin.DERIVED
    other = "LABEL org.opencontainers.image.title=theirs"
    assert replace(OURS, history=(other, *OURS.history)).later_steps == (other,)


def test_the_engine_s_words_about_an_image() -> None:
    inspected = {
        "Id": "sha256:9",
        "Architecture": "arm64",
        "Size": 5,
        "Config": {
            "Env": ["PATH=/bin", "A=b=c"],
            "User": "1000:100",
            "Entrypoint": None,
            "Cmd": ["/bin/bash"],
            "Labels": {"io.cannery.target": TARGET},
            "ExposedPorts": {"8888/tcp": {}, "22/tcp": {}},
        },
    }
    config = config_of("mine:1", inspected, ["RUN x"])
    assert config.environment == {"PATH": "/bin", "A": "b=c"}
    assert (config.ports, config.user, config.entrypoint) == ((22, 8888), "1000:100", ())
    assert config_of("mine:1", {"Id": "x", "Config": None}, []).labels == {}
