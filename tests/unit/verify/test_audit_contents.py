# SPDX-License-Identifier: Apache-2.0
"""Each of the things that 'test --image' must find, by the check that must find it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cannery.verify.audit.contents import judge_image, judge_inherited
from cannery.verify.audit.facts import ImageConfig, Origin, config_of, parse_probe
from cannery.verify.audit.report import Standing
from tests.unit.audits import (
    COMPAT,
    DERIVED,
    FACTS,
    FOREIGN,
    HOME,
    KNOWN,
    OURS,
    RECORD,
    TARGET,
    dists,
    found_with,
    results,
)

NO_ENV = dict.fromkeys(
    ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
)
SOURCED = {"/root/.bashrc": ["source /usr/local/Ascend/ascend-toolkit/set_env.sh"]}


TORCH = "2.12.0"
PAIR = dists(torch=TORCH, torch_npu="2.8.0.post2")
TRITONS = dists(triton="3.5.0", triton_ascend="3.2.0")
IMPORT = {"code": 1, "output": "Traceback\nModuleNotFoundError: No module named 'decorator'"}
INFOS = FACTS["ascend"]["infos"]
KERNELS = f"{HOME}/aarch64-linux/ascend_kernels_install.info"
CONDA = "/opt/conda/envs/npu/bin/python3.10"
BROKEN, UNKNOWN, NOT_OURS = "broken", "unknown pairing", "not ours to say"

WRONG: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a published pair": (
        {"distributions": PAIR, "torch_file": TORCH},
        *("compat/torch_npu", BROKEN),
        "built for torch 2.8.0.*cannot be imported with torch 2.12.0.*Nearest known: ",
    ),
    "that pair without CANN": (
        {"distributions": PAIR, "torch_file": TORCH, "ascend": {"homes": {}}},
        *("compat/torch_npu", BROKEN, ""),
    ),
    "an unknown pair": (
        {"distributions": dists(torch_npu="2.3.1.post99")},
        *("compat/torch_npu", UNKNOWN, r"are not known to work on CANN 8\.0\.T39"),
    ),
    "metadata of another torch": (
        {"torch_file": "2.1.0"},
        *("compat/torch", BROKEN, r"are those of 2\.1\.0, and its metadata says 2\.3\.1"),
    ),
    "torch twice": (
        {"distributions": {"torch": [["2.3.1", "/usr/lib"], ["2.1.0", "/opt/lib"]]}},
        *("compat/torch", BROKEN, "installed twice"),
    ),
    "a wheel of torch unpacked over another": (
        {"distributions": {"torch": [["2.3.1", "/usr/lib"], ["2.1.0", "/usr/lib"]]}},
        *(
            "compat/torch",
            BROKEN,
            r"as 2\.3\.1 and 2\.1\.0, both in /usr/lib: a wheel was unpacked",
        ),
    ),
    "packages that CANN needs": (
        {"distributions": dists(decorator=None), "cann_programs": {"te": IMPORT}},
        *("cann/python-packages", BROKEN, "not all of them start: decorator"),
    ),
    "the compiler": (
        {"cann_programs": {"atc": IMPORT}},
        *("cann/atc", BROKEN, "Install the Python package with the module decorator"),
    ),
    "ENV only in bashrc": (
        {"environment": NO_ENV, "shell_files": SOURCED},
        "environment/shell-only",
        BROKEN,
        "ASCEND_HOME_PATH, ASCEND_OPP_PATH, LD_LIBRARY_PATH, PYTHONPATH; only /root/.bashrc sets",
    ),
    "ENV nowhere": ({"environment": NO_ENV}, "environment/cann", BROKEN, ""),
    "the Python of a shell": (
        {
            "distributions": dists(torch=None, torch_npu=None, mindspore=None, apex=None),
            "torch_file": "",
            "other_pythons": {CONDA: ["torch_npu-2.7.1"]},
        },
        *("environment/python", BROKEN, r"ENV PATH=/opt/conda/envs/npu/bin:\$PATH"),
    ),
    "triton over triton-ascend": (
        {"distributions": TRITONS, "triton": {"triton": 4, "triton-ascend": 0, "neither": 0}},
        *(
            "packages/triton",
            BROKEN,
            r"triton 3\.5\.0 was installed over triton-ascend .*: 4 files",
        ),
    ),
    "triton beside triton-ascend": ({"distributions": TRITONS}, "compat/triton", BROKEN, ""),
    "triton-ascend beside an unknown pair": (
        {"distributions": dists(triton_ascend="3.2.1")},
        "compat/triton-ascend",
        UNKNOWN,
        r"^(?!.*matrix).*'triton-ascend==3\.2\.1' is not known to go with torch_npu 2\.3\.1",
    ),
    "kernels of another release": (
        {"ascend": {"infos": {**INFOS, KERNELS: {"version": "8.0.RC2"}}}},
        *("compat/kernels", BROKEN, ""),
    ),
    "a driver": (
        {"driver": ["/usr/local/Ascend/driver/version.info", "/usr/local/bin/npu-smi"]},
        *("driver/baked-in", BROKEN, "/usr/local/Ascend/driver/version.info"),
    ),
    "no kernels": ({"ascend": {"operators": []}}, "compat/kernels", UNKNOWN, ""),
    "nothing of Ascend's": (
        {"distributions": dists(torch_npu=None), "ascend": {"homes": {}}},
        *("compat/image", NOT_OURS, "neither CANN nor torch_npu"),
    ),
}


@pytest.mark.parametrize(("changes", "check", "standing", "text"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_named(changes: dict[str, Any], check: str, standing: str, text: str) -> None:
    result = results(found_with(**changes))[check]
    assert result.standing == standing
    assert re.search(text, f"{result.text} {result.fix}")


@pytest.mark.parametrize("config", [OURS, DERIVED, FOREIGN], ids=["ours", "derived", "foreign"])
def test_nothing_is_wrong_with_a_known_image(config: ImageConfig) -> None:
    assert results(found_with(), config) == {}
    checks = judge_image(found_with(), config, COMPAT, KNOWN)
    assert {"compat/torch_npu", "compat/apex", "driver/baked-in"} <= {c.check for c in checks}


def test_a_harmless_missing_package_is_a_note() -> None:
    works = {"te": {"code": 0, "output": ""}}
    found = found_with(distributions=dists(tornado=None), cann_programs=works)
    assert results(found) == {}
    checks = {check.check: check for check in judge_image(found, FOREIGN, COMPAT, KNOWN)}
    assert checks["cann/python-packages"].standing is Standing.NOTE


@pytest.mark.parametrize(
    ("jinja2", "standing"), [(None, Standing.NOTE), ("3.1.6", Standing.PASSED)]
)
def test_what_one_part_of_cann_imports_is_missing_where_that_part_is(
    jinja2: str | None, standing: Standing
) -> None:
    works = {"te": {"code": 0, "output": ""}}
    found = found_with(distributions=dists(dataflow="0.0.1", jinja2=jinja2), cann_programs=works)
    [check] = [
        each
        for each in judge_image(found, FOREIGN, COMPAT, KNOWN)
        if each.check == "cann/python-packages"
    ]
    assert check.standing is standing
    assert check.fix == ("pip install jinja2" if standing is Standing.NOTE else "")


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


VLLM = "quay.io/ascend/vllm-ascend:v0.18.0rc1"


@pytest.mark.parametrize(
    ("reference", "operators", "standing"),
    [
        (f"{VLLM}-a5", "ascend950", Standing.PASSED),
        (f"{VLLM}-A5-openeuler", "ascend950", Standing.PASSED),
        (f"{VLLM}-910c", "ascend910_93", Standing.PASSED),
        (f"{VLLM}-a3-openeuler", "ascend910_93", Standing.PASSED),
        (f"{VLLM}-310p", "ascend310p", Standing.PASSED),
        ("ascend/cann:9.1.0-a2-ubuntu22.04", "ascend910b", Standing.PASSED),
        ("ascendai/cann:8.2.rc1-910-ubuntu22.04-py3.11", "ascend910", Standing.PASSED),
        ("ascendai/cann:8.2.rc1-910-ubuntu22.04-py3.11", "ascend910b", Standing.BROKEN),
        (f"{VLLM}-a5", "ascend910_93", Standing.BROKEN),
        (f"{VLLM}-910c", "ascend910b", Standing.BROKEN),
        (VLLM, "ascend910b", Standing.PASSED),
        (f"{VLLM}-openeuler", "ascend910b", Standing.PASSED),
        (VLLM, "ascend310p", Standing.BROKEN),
        ("our.example.com/vllm-ascend:v0.18.0rc1", "ascend310p", Standing.NOT_OURS),
        (f"{VLLM}-ours", "ascend310p", Standing.NOT_OURS),
    ],
)
def test_a_chip_has_several_names_in_tags(
    reference: str, operators: str, standing: Standing
) -> None:
    config, seen = (
        replace(FOREIGN, reference=reference),
        found_with(ascend={"operators": [operators]}),
    )
    checks = {check.check: check for check in judge_image(seen, config, COMPAT, KNOWN)}
    assert checks["kernels/chip"].standing is standing


def _listed(count: int, *, few: bool = False, changed: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the probe says of a list of 2,593 files, of which so many are missing."""
    missing = [f"opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b/{n}" for n in range(count)]
    found = {"list": f"{HOME}/opp_kernel/script/filelist.csv", "files": 2593, "count": count}
    return {**found, "few": few, "missing": missing[:20], "changed": [*changed]}


@pytest.mark.parametrize(
    ("listed", "standing", "text"),
    [
        (_listed(0), Standing.PASSED, "All 2,593 files that CANN's packages list are there."),
        (_listed(1200), Standing.BROKEN, "1,200 of 2,593 files in "),
        (_listed(2, few=True), Standing.NOTE, "The list may be wrong."),
        (_listed(0, changed=("conf/aoe.ini",)), Standing.NOTE, "conf/aoe.ini was edited"),
    ],
)
def test_files_that_the_packages_list(
    listed: dict[str, Any], standing: Standing, text: str
) -> None:
    facts = found_with(ascend={"lists": [listed]})
    every = [each for each in judge_image(facts, OURS, COMPAT, KNOWN) if each.check == "cann/files"]
    assert [each for each in every if each.standing is standing and text in each.text]


def test_a_toolkit_with_parts_of_another_release() -> None:
    infos = {**INFOS, f"{HOME}/runtime/version.info": {"version_dir": "8.1.RC1"}}
    result = results(found_with(ascend={"infos": infos}))["cann/parts"]
    assert result.standing is Standing.BROKEN
    assert "says that it is 8.0.T39, and " in result.text
    assert "runtime/version.info that it is 8.1.RC1." in result.text
    infos[f"{HOME}/runtime/version.info"] = {"version_dir": "8.0.t39"}
    assert "cann/parts" not in results(found_with(ascend={"infos": infos}))


def test_a_chip_without_a_name() -> None:
    config = replace(FOREIGN, reference="theirs:1")
    assert results(found_with(), config)["kernels/chip"].standing is Standing.NOT_OURS


def test_an_image_for_another_architecture_than_its_cann() -> None:
    config = replace(FOREIGN, architecture="amd64")
    assert results(found_with(), config)["cann/architecture"].standing is Standing.BROKEN


def test_an_image_without_python() -> None:
    words = "cannery-sh: machine\taarch64\ncannery-sh: end\t1\n"
    assert results(parse_probe(words))["compat/image"].standing is Standing.NOT_OURS


GUARD = {"PIP_CONSTRAINT": ""}
MINE = {"LD_LIBRARY_PATH": "/opt/mine"}
EXTENDED = {"LD_LIBRARY_PATH": f"/opt/mine:{FACTS['environment']['LD_LIBRARY_PATH']}"}
PYTHON = {"path": "/opt/conda/bin/python3.11", "version": "3.11.7"}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, {}),
        ({"distributions": dists(torch="2.4.0")}, {"torch": BROKEN, "constraints": BROKEN}),
        ({"distributions": dists(torch=None)}, {"torch": BROKEN, "constraints": BROKEN}),
        ({"distributions": dists(numpy="2.1.0")}, {"constraints": BROKEN}),
        ({"environment": GUARD}, {"guard": "note"}),
        ({"constraints": ""}, {"guard": BROKEN}),
        ({"environment": EXTENDED}, {}),
        ({"environment": MINE}, {"environment": BROKEN}),
        ({"python": PYTHON}, {"python": BROKEN}),
        ({"own_record": []}, {"record": NOT_OURS}),
    ],
)
def test_a_derived_image_must_keep_inherited_parts(
    changes: dict[str, Any], wrong: dict[str, str]
) -> None:
    checks = judge_inherited(found_with(**changes), DERIVED)
    kept = {check.check.removeprefix("inherited/"): str(check.standing) for check in checks}
    assert {name: standing for name, standing in kept.items() if standing != "passed"} == wrong
    assert [*judge_inherited(found_with(**changes), FOREIGN)] == []


@pytest.mark.parametrize(
    ("locked", "now", "standing"),
    [
        ({"wheels": {"torch": "2.9.0+cpu"}}, "2.9.0+cpu", "passed"),
        ({"wheels": {"torch": "2.9.0+cpu"}}, "2.9.0", "broken"),
        ({"wheels": {"torch": "2.9.0+cpu"}}, "2.9.0+cu128", "broken"),
        ({"wheels": {"torch": "2.9.0"}}, "2.9.0+cpu", "passed"),
        ({"vendor_wheels": {"torch": "2.13.0"}}, "2.13.0+cpu", "passed"),
        ({"vendor_wheels": {"torch": "2.13.0"}}, None, "broken"),
    ],
)
def test_another_build_of_torch_has_replaced_the_locked_one(
    locked: dict[str, Any], now: str | None, standing: str
) -> None:
    found = found_with(
        own_record={**RECORD, "wheels": {}, **locked}, distributions=dists(torch=now)
    )
    checks = {check.check: str(check.standing) for check in judge_inherited(found, DERIVED)}
    assert checks["inherited/torch"] == standing


def test_whose_an_image_is() -> None:
    assert [each.origin for each in (OURS, DERIVED, FOREIGN)] == [*Origin]
    assert DERIVED.later_steps == (
        "WORKDIR /app",
        "RUN /bin/sh -c pip install transformers # buildkit",
    )


def test_a_flattened_history_is_no_proof_of_an_own_image() -> None:
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
