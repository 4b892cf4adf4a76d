# SPDX-License-Identifier: Apache-2.0
"""'test --image' on images of cannery's, one made from them, others, and broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from cannery.common.references import image_name
from cannery.engine.client import image_id
from cannery.matrix.project import Project

from .bases import base_image
from .conftest import MAIN, SECOND, Said, Spoil

SITE = "/usr/local/lib/python3.9/dist-packages"
CANN = "/usr/local/Ascend/ascend-toolkit/latest"
KERNELS = f"{CANN}/opp/built-in/op_impl/ai_core/tbe/kernel"
FOREIGN = "LABEL io.cannery.target="
"""Makes an image look as if somebody else had made it."""

CHECKS = """\
schema: 1
checks:
  - name: two cards
    command: python3 -c 'import torch, torch_npu; print(torch.npu.device_count())'
    output: ^2$
    device: true
    cards: 2
  - {name: torch is large, command: python3 -c 'import torch', memory_mb: 1}
  - {name: slow, command: sleep 60, seconds: 1}
"""
TESTS = """\
import pytest

def test_mine(host):
    assert host.file("/etc/debian_version").exists

@pytest.mark.device
def test_cards(host):
    assert "910B" in host.check_output("npu-smi info")
"""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A run of build.py, and its report."""

    code: int
    text: str
    report: dict[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def broken(self) -> set[str]:
        return {e["check"] for e in self.report["results"] if e["standing"] == "broken"}


@pytest.fixture(scope="module")
def main() -> str:
    """The main target's simulated image."""
    name = image_name(MAIN, simulate=True)
    if not image_id(name):
        pytest.fail(f"{name} is not here; 'nox -s image' builds it")
    return name


@pytest.fixture
def tested(build_py: Callable[..., Said], tmp_path: Path) -> Callable[..., Verdict]:
    def run(image: str, *options: str) -> Verdict:
        path = tmp_path / "report.json"
        path.unlink(missing_ok=True)
        said = build_py("test", "--image", image, "--json", str(path), *options)
        report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return Verdict(code=said.code, text=said.text, report=report)

    return run


def quick(tested: Callable[..., Verdict], image: str, *options: str) -> Verdict:
    """Without the image tests of everything but the kernels, which take long when emulated."""
    return tested(image, "--component", "kernels", *options)


def test_the_main_image_and_users_checks(
    tested: Callable[..., Verdict], main: str, tmp_path: Path
) -> None:
    checks = tmp_path / "checks"
    checks.mkdir()
    (checks / "mine.yaml").write_text(CHECKS, encoding="utf-8")
    (checks / "test_mine.py").write_text(TESTS, encoding="utf-8")
    junit = tmp_path / "x.xml"
    options = ["--simulate", "--profile", "merlin", "--checks", str(checks)]
    options += ["--junit", str(junit)]
    found = quick(tested, main, *options, "--component", "torch_npu")
    assert found.broken == {"own/mine.yaml/torch is large", "own/mine.yaml/slow"}, found.text
    assert (found.code, found.report["origin"]) == (8, "ours")
    passed = {e["check"] for e in found.report["results"] if e["standing"] == "passed"}
    assert {
        "own/mine.yaml/two cards",
        "own/test_mine.py::test_mine",
        "own/test_mine.py::test_cards",
        "profile/merlin/bash",
        "image/torch_npu/test_torch_npu.py::test_imports",
        "image/torch_npu/test_torch_npu.py::test_matmul",
    } <= passed
    assert ET.parse(junit).getroot().get("failures") == "2"


def test_another_image_of_cannery_s(tested: Callable[..., Verdict]) -> None:
    found = quick(tested, image_name(SECOND, simulate=True))
    assert (found.code, found.broken, found.verdict) == (0, set(), "passed"), found.text
    assert found.report["what"]["torch"] == "2.1.0"
    assert "Add --simulate." in found.text


SETUP = (
    "from setuptools import setup; setup(name='llamafactory', version='0.9.0', packages=['mine'])"
)


def test_an_image_made_from_one(tested: Callable[..., Verdict], main: str, spoil: Spoil) -> None:
    image = spoil(
        main,
        "WORKDIR /app",
        f'RUN mkdir mine && touch mine/__init__.py && echo "{SETUP}" >setup.py',
        "RUN pip install --no-index --no-deps --no-build-isolation --no-cache-dir /app",
        "ENV HF_HOME=/root/.cache/huggingface PYTHONPATH=/app:$PYTHONPATH",
        "EXPOSE 7860 8000",
        "RUN ln -s link-to-itself /opt/link-to-itself",
        'CMD ["bash"]',
        name="derived",
    )
    options = ["--simulate", "--component", "torch_npu", "--component", "kernels"]
    found = tested(image, *options, "--profile", "kubernetes")
    assert (found.code, found.broken, found.verdict) == (0, set(), "passed"), found.text
    assert found.report["origin"] == "derived"
    passed = {e["check"] for e in found.report["results"] if e["standing"] == "passed"}
    assert {
        "inherited/torch",
        "inherited/constraints",
        "image/torch_npu/test_torch_npu.py::test_matmul",
    } <= passed


def test_an_image_made_from_one_with_another_torch(
    tested: Callable[..., Verdict], main: str, spoil: Spoil
) -> None:
    image = spoil(
        main,
        f"RUN cd {SITE} && mv torch-2.3.1.dist-info torch-2.4.0.dist-info"
        " && sed -i 's/^Version: .*/Version: 2.4.0/' torch-2.4.0.dist-info/METADATA"
        ' && sed -i "s/2.3.1/2.4.0/" torch/version.py',
        name="another-torch",
    )
    found = quick(tested, image)
    assert found.code == 8, found.text
    assert {"inherited/torch", "inherited/constraints", "compat/torch_npu"} <= found.broken


def test_the_published_pair(tested: Callable[..., Verdict], main: str, spoil: Spoil) -> None:
    image = spoil(
        main,
        f"RUN cd {SITE} && mv torch-2.3.1.dist-info torch-2.12.0.dist-info"
        " && sed -i 's/^Version: .*/Version: 2.12.0/' torch-2.12.0.dist-info/METADATA"
        ' && sed -i "s/2.3.1/2.12.0/" torch/version.py'
        " && mv torch_npu-2.3.1.post2.dist-info torch_npu-2.8.0.post2.dist-info"
        " && cd torch_npu-2.8.0.post2.dist-info"
        " && sed -i 's/^Version: .*/Version: 2.8.0.post2/' METADATA",
        FOREIGN,
        name="pair",
    )
    found = quick(tested, image)
    assert (found.code, found.report["origin"]) == (8, "foreign"), found.text
    assert "compat/torch_npu" in found.broken
    assert {each.partition("/")[0] for each in found.broken} == {"compat"}, found.text
    assert "torch_npu 2.8.0.post2 was built for torch 2.8.0" in found.text


TE = f"{CANN}/python/site-packages/te"
OF_TRITON = "d04b98f48e8f8bcc15c6ae5ac050801cd6dcfd428fb5f9e65c4e16e7807340fa"
MISTAKES = {
    f"RUN mkdir -p {TE} && echo 'import decorator' >{TE}/__init__.py"
    f" && printf '#!/usr/bin/python3\\nimport te\\n' >{CANN}/bin/atc"
    f" && chmod 755 {CANN}/bin/atc && rm -r {SITE}/decorator*": (
        "cann/python-packages",
        "cann/te",
        "cann/atc",
    ),
    f"RUN cd {SITE} && mkdir triton triton-3.5.0.dist-info triton_ascend-3.2.0.dist-info"
    " && printf hello >triton/__init__.py"
    " && printf 'Name: triton\\nVersion: 3.5.0\\n' >triton-3.5.0.dist-info/METADATA"
    " && printf 'Name: triton-ascend\\nVersion: 3.2.0\\n'"
    " >triton_ascend-3.2.0.dist-info/METADATA"
    " && echo 'triton/__init__.py,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5'"
    " >triton-3.5.0.dist-info/RECORD"
    f" && echo 'triton/__init__.py,sha256={OF_TRITON[:43]},9'"
    " >triton_ascend-3.2.0.dist-info/RECORD": ("packages/triton", "compat/triton"),
    f"RUN mv {KERNELS}/ascend910b {KERNELS}/ascend310p": ("kernels/chip", "cann/files"),
    "RUN mkdir -p /usr/local/Ascend/driver && echo 1 >/usr/local/Ascend/driver/version.info": (
        "driver/baked-in",
    ),
}
"""Lines of a Dockerfile to the checks that find them out.

CANN's Python packages lack one of theirs, triton lies over triton-ascend, the kernels are for
another chip, and a driver is in the image.
"""


def test_every_mistake_in_an_image_is_found(
    tested: Callable[..., Verdict], main: str, spoil: Spoil
) -> None:
    """All in one image, because starting what is in it takes most of the time."""
    found = quick(tested, spoil(main, *MISTAKES, FOREIGN, name="mistakes"))
    assert found.code == 8, found.text
    assert found.broken == {check for checks in MISTAKES.values() for check in checks}, found.text
    assert "No module named 'decorator'" in found.text


def test_env_only_in_bashrc(tested: Callable[..., Verdict], main: str, spoil: Spoil) -> None:
    image = spoil(
        main,
        "RUN echo 'source /usr/local/Ascend/ascend-toolkit/set_env.sh' >>/root/.bashrc",
        "ENV ASCEND_HOME_PATH= ASCEND_TOOLKIT_HOME= ASCEND_OPP_PATH= LD_LIBRARY_PATH= PYTHONPATH=",
        FOREIGN,
        name="bashrc",
    )
    found = quick(tested, image)
    assert (found.code, found.broken) == (8, {"environment/shell-only"}), found.text


def test_an_image_without_python(tested: Callable[..., Verdict], project: Project) -> None:
    target = project.matrix().targets[MAIN]
    found = quick(tested, base_image(target.base, target.docker_arch))
    assert (found.code, found.verdict) == (0, "not ours to say"), found.text


def test_an_image_without_a_shell(tested: Callable[..., Verdict], spoil: Spoil) -> None:
    image = spoil("scratch", "COPY Dockerfile /Dockerfile", name="empty")
    found = tested(image, "--profile", "docker")
    assert (found.code, found.broken) == (8, {"profile/docker/sh"}), found.text
    assert "no program 'sleep'" in found.text


def test_a_missing_image_is_refused(tested: Callable[..., Verdict]) -> None:
    found = tested("nobody/has:this")
    assert (found.code, found.report) == (6, {})
    assert "there is no image nobody/has:this here. Pull or build it" in found.text
