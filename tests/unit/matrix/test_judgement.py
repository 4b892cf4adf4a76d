# SPDX-License-Identifier: Apache-2.0
"""A cause is reported once, where it is, with the targets that it concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files
from tests.unit.families import FAMILY
from tests.unit.matrices import MATRIX, edited, load, place, refused

ROOT = Path(__file__).resolve().parents[3]


def doubled(count: int, text: str = MATRIX) -> str:
    """``text`` with ``count`` more targets that are as the target full."""
    block = text[text.index("  full:\n") : text.index("  bare:\n")]
    copies = [block.replace("  full:", f"  full-{number}:") for number in range(count)]
    return text.replace(block, block + "".join(copies))


# What is replaced, by what, where the cause is, what is said; all targets like full have it.
CAUSES = {
    "a layout of another age": (
        "    layout: ascend-toolkit\n    toolkit:\n",
        "    layout: cann\n    toolkit:\n",
        "cann\n    toolkit",
        "CANN 8.0.RC2 installs itself as ascend-toolkit, not as cann. Source: the makers, 2026, ",
    ),
    "a toolkit of another release": (
        "toolkit_8.0.RC2_linux-aarch64.run",
        "Ascend-cann-toolkit_8.0.RC3_linux-aarch64.run",
        "Ascend-cann-toolkit",
        "cannot be the toolkit package of CANN 8.0.RC2: it is of CANN 8.0.RC3.",
    ),
    "kernels as another archive": (
        "kernels-910b_8.0.RC2_linux.run",
        "kernels-910b_8.0.RC2_linux.tar.gz",
        "kernels-910b_8",
        "it is not a .run file, which is what the image runs.",
    ),
    "a requirement of CANN": (
        "      - numpy<2\n",
        "      - pyyaml\n      - numpy>=2\n",
        "numpy>=2",
        "'numpy>=2' contradicts numpy<2, which CANN <=8.0.RC2 needs. Source: the tests, 2026, ",
    ),
    "a suite that there is not": (
        "    suite: bullseye\n",
        "    suite: bulseye\n",
        "bulseye",
        "unknown suite 'bulseye' of base debian-11.",
    ),
    "a glibc of another suite": (
        "    glibc: 2.31\n",
        "    glibc: 2.36\n",
        "2.36",
        "bullseye has glibc 2.31, not 2.36.",
    ),
    "a Python that Debian has not": (
        "    version: 3.9.2\n",
        "    version: 3.11.9\n",
        "3.11.9",
        "bullseye has Python 3.9.2, not 3.11.9.",
    ),
    "a base of another distribution": (
        "image: debian:11@",
        "image: docker.io/openeuler/openeuler:22.03@",
        "docker.io/openeuler",
        "base debian-11 is made from image 'openeuler', and packages of its suite bullseye are",
    ),
    "an image of another suite": (
        "image: debian:11@",
        "image: registry.example.com:5000/debian:bookworm-slim@",
        "registry.example.com",
        "base debian-11 is image debian:bookworm-slim, which is bookworm, not bullseye.",
    ),
    "an apex for another Python": (
        "apex-0.1+ascend-{tag}-{abi}-linux_{machine}.whl",
        "apex-0.1+ascend-cp311-cp311-linux_{machine}.whl",
        "apex-0.1+ascend-cp311",
        "it is for cp311-cp311 only, and the target has another Python.",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), CAUSES.values(), ids=CAUSES)
def test_a_cause_is_reported_once_with_all_affected_targets(
    tmp_path: Path, old: str, new: str, anchor: str, said: str
) -> None:
    text = doubled(9, MATRIX.replace(old, new, 1))
    problems = [each for each in refused(tmp_path, text) if said in each]
    assert len(problems) == 1, problems
    assert problems[0].startswith(place(text, anchor))
    assert " It concerns full, full-0, full-1 and " in problems[0]


def test_a_cause_in_one_target_names_no_other(tmp_path: Path) -> None:
    text = doubled(3).replace("torch_npu: 2.3.1.post2", "torch_npu: 2.3.1.post4", 1)
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, "2.3.1.post4"))
    assert "It concerns" not in problem


def test_a_cause_in_an_axis_value_names_the_affected_targets(tmp_path: Path) -> None:
    text = MATRIX.replace("targets:\n", FAMILY + "targets:\n")
    text = edited(
        "new: {torch: 2.3.1, torch_npu: 2.3.1.post2,",
        "new: {torch: 2.3.1, torch_npu: 2.3.1.post4,",
        text,
    )
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, "2.3.1.post4"))
    assert "It concerns own-new, base-new." in problem


def test_a_value_with_a_mistake_is_not_judged_as_well(tmp_path: Path) -> None:
    text = edited("    glibc: 2.31\n", "    glibc: banana\n")
    [problem] = refused(tmp_path, text)
    assert "'banana' is not a version of glibc" in problem


def test_ops_may_be_of_another_release_than_the_toolkit() -> None:
    files = Project(root=ROOT).files()
    head, name, tail = files["matrix.yaml"].partition("  py310-torch271-cann900-mindspeed2600:")
    tail = edited("cann: 9.0.0", "cann: {toolkit: 9.0.0, kernels: 9.1.0, nnal: 9.0.0}", tail)
    target = parse_files({**files, "matrix.yaml": head + name + tail}).targets[name.strip(" :")]
    assert target.components["toolkit"] == "9.0.0"
    assert target.components["kernels"] == "9.1.0 (910b)"
    assert target.artifacts["kernels"].name == "Ascend-cann-910b-ops_9.1.0_linux-aarch64.run"


def test_a_base_may_be_an_image_of_one_s_own(tmp_path: Path) -> None:
    text = edited("image: debian:11@", "image: registry.example/base/company-python:2026.11@")
    assert load(tmp_path, text).targets["full"].base.image.startswith("registry.example/base/")
