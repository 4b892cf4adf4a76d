# SPDX-License-Identifier: Apache-2.0
"""What an application says, what it adds to a target, and what is refused of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.lock.requirements import Requirements
from cannery.matrix.matrix import Matrix
from tests.unit.applications import TEXT
from tests.unit.matrices import DIGEST, edited, load, place, refused


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return load(tmp_path, TEXT)


def test_the_fields_of_an_application(matrix: Matrix) -> None:
    application = matrix.targets["served"].application
    assert application
    assert (application.component, application.version) == ("serve", "1.2")
    assert application.ports == ("7860", "8000")
    assert application.volumes == {"./hf_cache": "/root/.cache/huggingface", "/data": "/data"}
    assert application.environment == {
        "DISABLE_VERSION_CHECK": "1",
        "SERVE_CACHE": "/var/cache/serve",
    }
    assert [(each.folder, each.file.sha256) for each in application.sources] == [
        ("serve_lib", DIGEST),
        ("serve_extra", ""),
    ]


def test_requirements_of_an_application_come_first(matrix: Matrix) -> None:
    served, other = matrix.targets["served"], matrix.targets["other"]
    assert served.requirements == ("serve==1.2", "accelerate>=0.34.0", "tqdm")
    assert Requirements(served).groups["application"] == served.requirements
    assert other.requirements == ("other==2.0.0",)


def test_a_stack_without_requirements_has_no_layer(matrix: Matrix) -> None:
    assert "application" not in Requirements(matrix.targets["old"]).groups


def test_sdists(matrix: Matrix) -> None:
    sdists = Requirements(matrix.targets["served"]).sdists
    assert set(sdists) == {"deepspeed", "fire", "rouge-score"}
    assert set(Requirements(matrix.targets["full"]).sdists) == {"deepspeed"}


def test_a_stack_is_the_last_component(matrix: Matrix) -> None:
    assert [*matrix.targets["served"].components.items()][-1] == ("serve", "1.2")
    assert matrix.targets["served"].components["torch_npu"] == "2.3.1.post2"
    assert "torch" not in matrix.targets["other"].components


def test_artifacts(matrix: Matrix) -> None:
    assert {name: file.name for name, file in matrix.targets["served"].artifacts.items()} == {
        "toolkit": "toolkit_8.0.RC2_linux-aarch64.run",
        "kernels": "kernels-910b_8.0.RC2_linux.run",
        "nnal": "nnal_8.0.RC2_linux-aarch64.run",
        "serve_npu": "serve_npu-1.2-cp39-none-linux_aarch64.whl",
        "serve_lib": "serve-lib-1.2.tar.gz",
        "serve_extra": "serve-extra-7.tar.gz",
    }
    assert {name: file.name for name, file in matrix.targets["old"].artifacts.items()} == {
        "python": "cpython-3.8.18-aarch64.tar.gz",
        "toolkit": "toolkit_8.0.RC2_linux-aarch64.run",
        "kernels": "kernels-910b_8.0.RC2_linux.run",
        "torch_npu": "torch_npu-1.11.0-cp38-cp38-linux_aarch64.whl",
        "apex": "apex-0.1+ascend-cp38-cp38-linux_aarch64.whl",
        "deepspeed": "deepspeed-0.6.0-py3-none-any.whl",
        "deepspeed_plugin": "deepspeed_npu-0.6.0-py3-none-any.whl",
    }


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("served", {"serve_npu", "serve_lib", "serve_extra"}),
        ("old", {"python", "torch_npu", "deepspeed", "deepspeed_plugin"}),
        ("full", set()),
        ("other", set()),
    ],
)
def test_real_artifacts(matrix: Matrix, name: str, real: set[str]) -> None:
    assert set(matrix.targets[name].real_artifacts) == real


def test_a_wheel_of_the_vendor_is_in_no_lock(matrix: Matrix) -> None:
    groups = Requirements(matrix.targets["old"]).groups
    assert groups["torch_npu"] == ("pyyaml", "setuptools<81")
    assert "deepspeed" not in groups
    assert groups["torch"] == ("torch==1.11.0",)
    assert Requirements(matrix.targets["full"]).groups["torch_npu"][0] == "torch-npu==2.3.1.post2"


def test_another_framework_needs_nothing_of_torch(matrix: Matrix) -> None:
    other = matrix.targets["other"]
    assert not {"torch", "torch_npu", "deepspeed"} & Requirements(other).groups.keys()
    assert (other.torch, other.torch_npu) == ("", "")


@pytest.mark.parametrize(
    ("torch", "python", "missing"),
    [
        ("2.5.1", "3.9.2", False),
        ("2.6.0", "3.9.2", True),
        ("2.8.0", "3.9.2", True),
        ("2.10.0", "3.11.2", False),
    ],
)
def test_importlib_metadata_is_installed_where_torch_imports_it_undeclared(
    tmp_path: Path, torch: str, python: str, missing: bool
) -> None:
    full = load(tmp_path).targets["full"]
    target = replace(full, torch=torch, python=replace(full.python, version=python))
    added = ("importlib-metadata",) if missing else ()
    assert Requirements(target).groups["torch"] == (f"torch=={torch}", *added)


# What is replaced in TEXT, by what, where the problem is, what is said of it.
PROBLEMS = {
    "no component": ("    component: plain\n", "", "version: 3\n", "has no 'component'. Add it."),
    "component of ours": (
        "component: plain",
        "component: torch",
        "torch\n",
        "'torch' is the name of another component.",
    ),
    "unknown application": (
        "application: other-2.0.0",
        "application: other-2.0.1",
        "other-2.0.1",
        "there is no application 'other-2.0.1'. Did you mean 'other-2.0.0'?",
    ),
    "override that is none": (
        "[accelerate==0.34.2,",
        "[accelerate=0.34.2,",
        "accelerate=0.34.2",
        "'accelerate=0.34.2' is not a requirement",
    ),
    "override with a place": (
        "[accelerate==0.34.2,",
        "[accelerate @ file:///x,",
        "accelerate @",
        "names an address",
    ),
    "sdist with a version": (
        "[fire,",
        "[fire==1,",
        "fire==1",
        "'fire==1' is not the name of a package",
    ),
    "variable with a space": (
        'DISABLE_VERSION_CHECK: "1"',
        'DISABLE_VERSION_CHECK: "1 2"',
        '"1 2"',
        "'1 2' cannot be in 'environment'",
    ),
    "variable that is none": ("{DISABLE_VERSION_CHECK:", "{9X-:", '"1"', "'9X-' cannot be in 'env"),
    "port that is none": ("[7860,", "[http,", "http,", "'http' is not a port."),
    "volume with an option": (
        "/data: /data",
        '/data: "/data:rw"',
        '"/data:rw"',
        "'/data:rw' cannot be in 'volumes'",
    ),
    "source in a path": ("folder: serve_lib", "folder: a/b", "a/b", "cannot be a component"),
    "source like another": (
        "folder: serve_extra",
        "folder: serve_lib",
        "serve_lib\n        file: serve-extra",
        "'serve_lib' is the folder of another source.",
    ),
    "vendor wheel with another field": (
        "{tag}-{abi}-linux_{machine}.whl\n    origin: a release",
        "{tag}-{os}-linux_{machine}.whl\n    origin: a release",
        "torch_npu-1.11.0-",
        "only {tag}, {abi} and {machine} can be filled in.",
    ),
    "torch_npu without torch": (
        "    torch: 1.11.0\n",
        "",
        "summary: what only a vendor has",
        "targets.old: there is no 'torch'. Add it.",
    ),
    "a reason of several lines": (
        "summary: a server",
        'summary: a server\n    unverified: "a\\nRUN id"',
        '"a\\nRUN',
        "unverified: it must not have quotes, backslashes, '$' or line breaks.",
    ),
    "no reason": (
        "summary: a server",
        "summary: a server\n    unverified: yes",
        "yes",
        "targets.served.unverified: this must be text",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), PROBLEMS.values(), ids=PROBLEMS)
def test_one_problem(tmp_path: Path, old: str, new: str, anchor: str, said: str) -> None:
    text = edited(old, new, TEXT)
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, anchor))
    assert said in problem
