# SPDX-License-Identifier: Apache-2.0
"""describe-image, which makes the files that follow from a target's three."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import read_lock
from tests.unit.described import PROGRAM, described
from tests.unit.matrices import Checkout

ATB = "/usr/local/Ascend/nnal/atb/latest/atb"
DOCKERFILE = """\
FROM base AS image
ENV ASCEND_TOOLKIT_HOME=/cann
ENV ASCEND_OPP_PATH=$ASCEND_TOOLKIT_HOME/opp \\
    # a comment
    PATH=/cann/bin:/usr/bin
ENV ATB_HOME_PATH=/atb/cxx_abi_1 \\
    ATB_SUFFIX="" \\
    PATH=/atb/cxx_abi_1/bin:$PATH
ENV MODE=fast
FROM image AS other
ENV MODE=slow
"""
RECORD: dict[str, Any] = {
    "id": "x",
    "machine": "aarch64",
    "operators": "ascend910b",
    "components": {"toolkit": "8.1.RC1", "kernels": "8.1.RC1 (910b)", "nnal": "8.2.RC1"},
    "toolkit_home": "/usr/local/Ascend/ascend-toolkit/latest",
    "compiled": ["/opt"],
    "leave_out": "*/tests *.a",
    "layers": {"wheels-torch": "torch", "wheels-built": "built"},
    "local_versions": {"built": "1+npu"},
    "vendor_wheels": {},
    "held": {"torch==2.3.1": "it is compiled for it"},
}
TORCH = "torch==2.3.1 \\\n    --hash=sha256:0\n"
LOCK = f"# Locked\n{TORCH}    # via x\nbuilt==1 \\\n    --hash=sha256:1\n"


def made(record: Mapping[str, Any] = RECORD) -> dict[str, str]:
    return described(
        {"Dockerfile": DOCKERFILE, "target.json": json.dumps(record), "requirements.lock": LOCK}
    )


def test_the_environment_expected_of_cann_scripts() -> None:
    files = made()
    toolkit, kernels, nnal = (
        json.loads(files[f"cann/{name}.json"]) for name in ("toolkit", "kernels", "nnal")
    )
    cann = {"ASCEND_TOOLKIT_HOME": "/cann", "ASCEND_OPP_PATH": "/cann/opp"}
    known = {"toolkit": "8.1.RC1", "layout": "ascend-toolkit", "machine": "aarch64"}
    assert toolkit == {
        "release": "8.1.RC1",
        **known,
        "environment": {**cann, "PATH": "/cann/bin:/usr/bin"},
    }
    assert kernels == {"release": "8.1.RC1", **known, "operators": "ascend910b"}
    # With the first ABI, because targets with either share NNAL's layer.
    atb = {"ATB_HOME_PATH": "/atb/cxx_abi_0", "ATB_SUFFIX": ""}
    path = "/atb/cxx_abi_0/bin:/cann/bin:/usr/bin"
    environment = {**cann, **atb, "PATH": path}
    assert nnal == {"release": "8.2.RC1", **known, "environment": environment}
    newer = {**RECORD, "toolkit_home": "/usr/local/Ascend/cann-8.1.RC1"}
    assert json.loads(made(record=newer)["cann/toolkit.json"])["layout"] == "cann"


def test_files_of_the_build() -> None:
    files = made()
    assert files["lock/wheels-torch.txt"] == TORCH
    assert (files["leave-out"], files["compile"]) == ("*/tests\n*.a\n", "/opt\n")


def test_the_files_describe_the_image() -> None:
    files = made()
    assert files["environment"].splitlines()[-2:] == [
        'PATH="/atb/cxx_abi_1/bin:/cann/bin:/usr/bin"',
        'MODE="fast"',
    ]
    assert files["constraints.txt"].splitlines()[2:] == ["torch==2.3.1  # it is compiled for it"]
    record = json.loads(files["target.json"])
    assert record["wheels"] == {"torch": "2.3.1", "built": "1+npu"}
    assert record["held"] == ["torch==2.3.1"]
    assert "MODE" not in record["environment"]
    assert not {"layers", "leave_out", "local_versions"} & record.keys()
    assert files["requirements.lock"] == LOCK


def test_a_login_shell_completes_paths_and_keeps_set_variables(tmp_path: Path) -> None:
    script = tmp_path / "profile.sh"
    script.write_text(made()["profile.sh"], encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", f'. {script}; . {script}; echo "$PATH $MODE [${{ATB_SUFFIX-unset}}]"'],
        env={"PATH": "/mine:/cann/bin", "MODE": "own"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "/atb/cxx_abi_1/bin:/mine:/cann/bin own []\n"


def test_the_image_s_record_matches_the_record_of_its_plan(checkout: Checkout) -> None:
    target = checkout.target()
    record = plan_image(target, read_lock(checkout.project, target)).image_record
    files = described(Renderer(checkout.project).render(target).files)
    assert json.loads(files["target.json"]) == json.loads(json.dumps(record))
    environment = json.loads(files["cann/nnal.json"])["environment"]
    assert environment["ATB_HOME_PATH"] == f"{ATB}/cxx_abi_0"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            *("Dockerfile", "FROM base AS image\nENV A=1\n"),
            "no ENV of the stage 'image' has ASCEND_OPP_PATH",
        ),
        (
            *("Dockerfile", "FROM base AS image\nENV A=1:$B\n"),
            "ENV A uses $B, which no ENV before it sets",
        ),
        ("requirements.lock", TORCH, "requirements.lock lacks built of layer wheels-built"),
        ("requirements.lock", f"{LOCK}six==1\n", "target.json has no layer for six"),
    ],
)
def test_mismatched_files_are_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    files = {"Dockerfile": DOCKERFILE, "target.json": json.dumps(RECORD), "requirements.lock": LOCK}
    for file, content in {**files, name: text}.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), str(tmp_path / "files")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, f"describe-image: {said}\n")
    assert not (tmp_path / "files").exists()
