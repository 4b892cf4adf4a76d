# SPDX-License-Identifier: Apache-2.0
"""describe-image, which makes the files that follow from a target's three."""

from __future__ import annotations

import json
import subprocess
import sys
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
ENV ASCEND_TOOLKIT_HOME=/cann \\
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
    "layers": {"wheels-torch": "torch"},
    "local_versions": {"built": "1+npu"},
    "vendor_wheels": {},
    "held": {"torch==2.3.1": "it is compiled for it"},
}
LOCK = "torch==2.3.1 \\\n    --hash=sha256:0\nbuilt==1 \\\n    --hash=sha256:1\n"


def made(dockerfile: str = DOCKERFILE) -> dict[str, str]:
    return described(
        {"Dockerfile": dockerfile, "target.json": json.dumps(RECORD), "requirements.lock": LOCK}
    )


def test_what_the_scripts_of_cann_must_set() -> None:
    files = made()
    assert files["toolkit.env"] == "ASCEND_TOOLKIT_HOME=/cann\nPATH=/cann/bin:/usr/bin\n"
    # With the first ABI, because targets with either share NNAL's layer.
    assert files["nnal.env"] == (
        "ASCEND_TOOLKIT_HOME=/cann\nATB_HOME_PATH=/atb/cxx_abi_0\nATB_SUFFIX=\n"
        "PATH=/atb/cxx_abi_0/bin:/cann/bin:/usr/bin\n"
    )


def test_what_is_in_the_image() -> None:
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
    assert not {"layers", "local_versions"} & record.keys()


def test_a_login_shell_completes_paths_and_keeps_what_is_set(tmp_path: Path) -> None:
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


def test_the_image_s_record_is_what_the_image_tests_expect(checkout: Checkout) -> None:
    target = checkout.target()
    record = plan_image(target, read_lock(checkout.project, target)).image_record
    files = described(Renderer(checkout.project).render(target).files)
    assert json.loads(files["target.json"]) == json.loads(json.dumps(record))
    assert f"ATB_HOME_PATH={ATB}/cxx_abi_0\n" in files["nnal.env"]


@pytest.mark.parametrize(
    ("dockerfile", "said"),
    [
        ("FROM base AS image\nENV A=1\n", "no ENV of the stage 'image' has ASCEND_TOOLKIT_HOME"),
        ("FROM base AS image\nENV A=1:$B\n", "ENV A uses $B, which no ENV before it sets"),
    ],
    ids=["nothing of CANN", "an unknown variable"],
)
def test_a_dockerfile_that_it_cannot_read(tmp_path: Path, dockerfile: str, said: str) -> None:
    (tmp_path / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    (tmp_path / "target.json").write_text(json.dumps(RECORD), encoding="utf-8")
    (tmp_path / "requirements.lock").write_text(LOCK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), str(tmp_path / "files")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, f"describe-image: {said}\n")
    assert not (tmp_path / "files").exists()
