# SPDX-License-Identifier: Apache-2.0
"""What is refused of a wheel that is built from an sdist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.applications import TEXT
from tests.unit.built_wheels import BUILT
from tests.unit.matrices import edited, refused

DEEPSPEED = "    file: deepspeed-0.6.0-py3-none-any.whl\n    origin: built where torch is\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "sdist: serve-npu==1.1",
            "sdist: other==1.1",
            "the wheel of serve_npu cannot be built from the sdist of other.",
        ),
        (
            "sdist: serve-npu==1.1",
            "sdist: serve-npu",
            "'serve-npu' is not one version of a package.",
        ),
        ("serve-npu==1.1", "serve-npu>=1.1", "'serve-npu>=1.1' is not one version of a package."),
        ("serve-npu==1.1", "serve-npu==1.1x", "'serve-npu==1.1x' is not one version of a package."),
        ("serve-npu==1.1", "serve-npu==1.*", "'serve-npu==1.*' is not one version of a package."),
        ("serve-npu==1.1", "serve-npu @ file:///x", "is not one version of a package."),
        ("local: npu", "local: n_u", "'n_u' is not a local version."),
        ("[setuptools<81, wheel]", '["wheel @ file:///x"]', "names an address"),
        ("[setuptools<81, wheel]", '["wheel <"]', "'wheel <' is not a requirement."),
        ("SERVE_DEVICE: empty", "SERVE_DEVICE: $(id)", "'$(id)' cannot be in 'environment'"),
        ("SERVE_DEVICE: empty", "serve-device: empty", "'serve-device' cannot be in 'environment'"),
        (
            "        local: npu\n",
            "        local: npu\n        file: a.whl\n",
            "file: it is of a wheel that is a file, and 'sdist' of one that is built.",
        ),
        ("        local: npu\n", "        locl: npu\n", "unknown key 'locl'"),
        ("      serve_npu:\n", "      python:\n", "'python' is the name of another component."),
    ],
)
def test_a_mistake_is_reported(tmp_path: Path, old: str, new: str, said: str) -> None:
    problems = refused(tmp_path, edited(old, new, BUILT))
    assert [each for each in problems if said in each and each.startswith("matrix.yaml:")]


def test_an_application_is_built_in_its_own_version(tmp_path: Path) -> None:
    text = edited(
        "      serve_npu:\n", "      serve:\n", edited("serve-npu==1.1", "serve==1.1", BUILT)
    )
    [said] = refused(tmp_path, text)
    assert "the sdist is of version 1.1, and 1.2 is declared. Write it as in serve==1.2." in said


def test_deepspeed_is_built_in_the_version_of_its_key(tmp_path: Path) -> None:
    text = edited(DEEPSPEED, "    sdist: deepspeed==0.6.1\n", TEXT)
    [said] = refused(tmp_path, text)
    assert "the sdist is of version 0.6.1, and 0.6.0 is declared." in said


@pytest.mark.parametrize("section", ["torch_npu_wheels", "apex"])
def test_others_are_files(tmp_path: Path, section: str) -> None:
    head = f"{section}:\n"
    body = TEXT.partition(head)[2].splitlines(keepends=True)
    old = head + "".join(body[:3])
    text = edited(old, head + body[0] + "    sdist: a==1\n", TEXT)
    assert [each for each in refused(tmp_path, text) if "unknown key 'sdist'" in each]


def test_a_wheel_without_either(tmp_path: Path) -> None:
    problems = refused(tmp_path, edited("        sdist: serve-npu==1.1\n", "", BUILT))
    assert [each for each in problems if "has no 'file'" in each]
