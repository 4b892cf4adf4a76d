# SPDX-License-Identifier: Apache-2.0
"""Files of vendors are told by their names, of CANN's packages, of wheels and of interpreters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cannery.common.bases import File, PythonSource
from cannery.common.model import Application, Target
from cannery.common.wheels import VendorWheel
from cannery.compat import Verdict, judge
from tests.unit.cann_packages import with_packages
from tests.unit.compat_targets import COMPAT, GOOD, cann, changed, python

NINE = changed(
    torch="2.9.0",
    torch_npu="2.9.0.post6",
    cann=cann("9.1.0", chip="a3"),
    chip="a3",
    python=python("3.11.9"),
    apex=None,
    deepspeed="0.18.4",
)
FILE = File(name="", origin="its makers")


def said(target: Target) -> list[str]:
    """What is forbidden of ``target``, with what to do."""
    found = [each for each in judge(target, COMPAT) if each.verdict is Verdict.FORBIDDEN]
    return [f"{each.place}: {each.text} {each.fix}" for each in found]


def with_kernels(name: str) -> Target:
    kernels = {"a3": replace(FILE, name=name)}
    return replace(NINE, cann=with_packages(NINE.cann, kernels=kernels))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("Ascend-cann-A3-ops_9.1.0_linux-aarch64.run", ""),
        ("my-own-name.run", ""),
        ("Ascend-cann-a3-ops_9.1.0_linux-aarch64.run", "Huawei writes other letters of it in"),
        ("ascend-cann-A3-ops_9.1.0_linux-aarch64.run", "Huawei writes other letters of it in"),
        ("Ascend-cann-910b-ops_9.1.0_linux-aarch64.run", "it is for chip 910b"),
        ("Ascend-cann-A3-ops_9.0.0_linux-aarch64.run", "it is of CANN 9.0.0"),
        ("Ascend-cann-A3-ops_9.1.0_linux-x86_64.run", "it is for x86_64"),
        ("Ascend-cann-A3-ops_9.1.0_linux-aarch64.tar.gz", "it is not a .run file"),
        ("Ascend-cann-A3-ops_9.1.0_linux-aarch64.zip", "it is not a .run file"),
        ("Ascend-cann-A3-ops_9.1.0_linux-aarch64", "it is not a .run file"),
        ("Ascend-cann-toolkit_9.1.0_linux-aarch64.run", "it is a toolkit package"),
    ],
)
def test_kernels(name: str, wrong: str) -> None:
    found = said(with_kernels(name))
    assert len(found) == bool(wrong), found
    if wrong:
        assert found[0].startswith("('cann', '9.1.0', 'kernels', 'a3', 'file'): ")
        assert wrong in found[0]
        assert found[0].endswith(
            "Huawei's name for it is Ascend-cann-A3-ops_9.1.0_linux-aarch64.run."
        )


def wheel(file: str, version: str = "0.1+ascend") -> VendorWheel:
    return VendorWheel(version=version, file=file, origin="its makers")


@pytest.mark.parametrize(
    ("file", "wrong"),
    [
        ("apex-0.1+ascend-{tag}-{abi}-linux_{machine}.whl", ""),
        ("apex-0.1+ascend-cp39-cp39-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", ""),
        ("apex-0.1+ascend-py3-none-any.whl", ""),
        ("apex-0.1+ascend-cp38-abi3-linux_aarch64.whl", ""),
        ("apex-0.1+ascend-cp311-cp311-linux_aarch64.whl", "it is for cp311-cp311 only, and the"),
        ("apex-0.1+ascend-cp310-abi3-linux_aarch64.whl", "it is for cp310-abi3 only, and the"),
        ("apex-0.1+ascend-cp39-cp39-linux_x86_64.whl", "it is for linux_x86_64, and the target's"),
        ("apex-0.1+ascend-cp39-cp39-win_amd64.whl", "it is for win_amd64, and the target's"),
        (
            "apex-0.1+ascend-cp39-cp39-manylinux_2_34_aarch64.whl",
            "needs glibc 2.34, and base debian",
        ),
        (
            "apex-0.2+ascend-cp39-cp39-linux_aarch64.whl",
            "it is version 0.2+ascend, and 0.1+ascend is",
        ),
        ("apex-0.1-cp39-cp39-linux_aarch64.whl", "it is version 0.1, and 0.1+ascend is declared"),
        ("apox-0.1+ascend-cp39-cp39-linux_aarch64.whl", "it is a wheel of apox"),
        ("apex-0.1+ascend-cp39-cp39-linux_aarch64.tar.gz", "it is not named as a wheel is"),
        ("apex-0.1_ascend_20240413-cp39-cp39-linux_aarch64.whl", "it is not named as a wheel is"),
    ],
)
def test_apex(file: str, wrong: str) -> None:
    found = said(changed(apex=wheel(file)))
    assert len(found) == bool(wrong), found
    if wrong:
        assert found[0].startswith("('apex', '0.1+ascend', 'file'): ")
        assert wrong in found[0]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (
            {
                "torch_npu_wheel": wheel(
                    "torch_npu-2.3.1-{tag}-{abi}-linux_{machine}.whl", "2.3.1.post2"
                )
            },
            "it is version 2.3.1, and 2.3.1.post2 is declared",
        ),
        (
            {"torch_npu_wheel": wheel("torch_npu-2.3.1.post2-cp310-cp310-any.whl", "2.3.1.post2")},
            "it is for cp310-cp310",
        ),
        (
            {"deepspeed_wheel": wheel("deepspeed-0.15.1-py3-none-any.whl", "0.15.0")},
            "version 0.15.1",
        ),
        (
            {
                "deepspeed": "0.9.2",
                "deepspeed_plugin": wheel("deepspeed-0.9.2-py3-none-any.whl", "0.9.2"),
            },
            "it is a wheel of deepspeed",
        ),
    ],
)
def test_other_wheels(changes: dict[str, Any], wrong: str) -> None:
    found = [each for each in said(changed(**changes)) if "cannot be the wheel of" in each]
    assert len(found) == 1
    assert wrong in found[0]


def application(**wheels: str) -> Application:
    return Application(
        name="serve-1.2",
        component="serve",
        version="1.2",
        requirements=(),
        overrides=(),
        sdists=(),
        wheels={name: wheel(file, "1.2") for name, file in wheels.items()},
        packages=(),
        environment={},
        sources=(),
        ports=(),
        volumes={},
    )


@pytest.mark.parametrize(
    ("wheels", "wrong"),
    [
        (
            {
                "serve": "serve-1.2+empty-py3-none-any.whl",
                "serve_npu": "serve_npu-7-py3-none-any.whl",
            },
            "",
        ),
        (
            {"serve": "serve-1.3+empty-py3-none-any.whl"},
            "it is version 1.3+empty, and 1.2 is declared",
        ),
        ({"serve_npu": "serve-1.2-py3-none-any.whl"}, "it is a wheel of serve"),
    ],
)
def test_wheels_of_an_application(wheels: dict[str, str], wrong: str) -> None:
    found = said(changed(application=application(**wheels)))
    assert len(found) == bool(wrong), found
    if wrong:
        name = next(iter(wheels))
        assert found[0].startswith(f"('applications', 'serve-1.2', 'wheels', '{name}', 'file'): ")
        assert wrong in found[0]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("cpython-3.9.19+20240726-aarch64-unknown-linux-gnu-install_only.tar.gz", ""),
        ("cpython-3.9.19-aarch64-unknown-linux-gnu-install_only.tar.gz", ""),
        ("our-python.tar.gz", ""),
        (
            "cpython-3.9.19+20240726-x86_64-unknown-linux-gnu-install_only.tar.gz",
            "it is for x86_64",
        ),
        (
            "cpython-3.9.20+20240726-aarch64-unknown-linux-gnu-install_only.tar.gz",
            "it is Python 3.9.20",
        ),
        ("cpython-3.9.19+20240726-aarch64-apple-darwin-install_only.tar.gz", "it is not for Linux"),
        (
            "cpython-3.9.19+20240726-aarch64-unknown-linux-musl-install_only.tar.gz",
            "not for Linux with",
        ),
        (
            "cpython-3.9.19+20240726-aarch64-unknown-linux-gnu-pgo+lto-full.tar.zst",
            "it is not a .tar.gz",
        ),
    ],
)
def test_an_archive_of_an_interpreter(name: str, wrong: str) -> None:
    archives = {"aarch64": replace(FILE, name=name)}
    own = replace(python("3.9.19"), source=PythonSource.STANDALONE, archives=archives)
    found = said(changed(python=own))
    assert len(found) == bool(wrong), found
    if wrong:
        assert found[0].startswith("('pythons', '3.9.19', 'archive', 'file'): ")
        assert wrong in found[0]


def test_layouts() -> None:
    from cannery.common.model import Layout

    for layout, version, known in (
        (Layout.ASCEND_TOOLKIT, "9.1.0", "cann"),
        (Layout.CANN, "8.0.RC3", "ascend-toolkit"),
    ):
        release = replace(cann(version), layout=layout)
        found = [each for each in said(changed(cann=release)) if "installs itself" in each]
        assert len(found) == 1
        assert (
            f"CANN {version} installs itself as {known}, not as {layout}. Write {known}."
            in found[0]
        )
    assert said(GOOD) == []
