# SPDX-License-Identifier: Apache-2.0
"""Things that are wrong on purpose, and must be found out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.building import running
from cannery.common.errors import BuildError
from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import RunSpec, no_device, simulated_device
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.run_checks import Subject, verify
from cannery.verify.verification import Verification

from .conftest import Built, Said, Spoil, build_one


def _failed(result: Verification) -> set[str]:
    return {check.name.split("::")[1] for _, check in result.failed}


def _verify(
    project: Project,
    built: Built,
    image: str,
    *specs: RunSpec,
    only: Sequence[str] = ("torch_npu",),
) -> Verification:
    subject = Subject(target=built.target, image=image, name=image, simulated=True)
    return verify(project, subject, specs, only=only)


@pytest.fixture
def artifacts(main: Built, tmp_path: Path) -> Path:
    """The vendor's files of the main target, to be spoiled."""
    return Path(shutil.copytree(main.simulated.artifacts, tmp_path / "artifacts"))


@pytest.fixture
def build_from(
    project: Project, main: Built, artifacts: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    made = replace(main.simulated, artifacts=artifacts)
    monkeypatch.setattr(running, "simulate", lambda *_: made)
    options = BuildOptions(simulate=True, test=False, force=True)
    return lambda: build_one(project, main.target, options)


def test_stand_ins_in_the_place_of_the_vendor_s_files(
    main: Built, build_py: Callable[..., Said]
) -> None:
    folder = str(main.simulated.artifacts)
    said = build_py("--target", main.target.id, "--artifacts", folder, "--no-test")
    assert said.code == 5, said.text
    assert said.text.count("is a stand-in made by the simulator") == 4


def test_kernels_of_another_version(
    main: Built, second: Built, artifacts: Path, build_from: Callable[[], None]
) -> None:
    foreign = second.simulated.artifacts / second.target.artifacts["kernels"].name
    shutil.copy(foreign, artifacts / main.target.artifacts["kernels"].name)
    with pytest.raises(BuildError, match=r"8\.0\.RC2") as caught:
        build_from()
    assert "8.0.T39" in str(caught.value)


def test_truncated_package(main: Built, artifacts: Path, build_from: Callable[[], None]) -> None:
    toolkit = artifacts / main.target.artifacts["toolkit"].name
    toolkit.write_bytes(toolkit.read_bytes()[:-1000])
    with pytest.raises(BuildError, match=r"toolkit 8.0.T39 is not installed by"):
        build_from()


def test_torch_of_another_version(
    main: Built, second: Built, build_py: Callable[..., Said], spoil: Spoil
) -> None:
    site = "/usr/local/lib/python3.9/dist-packages"
    image = spoil(
        main.image,
        f"RUN rm -rf {site}/torch {site}/torch-2.3.1*",
        f"COPY --from={second.image} {site}/torch {site}/torch",
        f"COPY --from={second.image} {site}/torch.libs {site}/torch.libs",
        f"COPY --from={second.image} {site}/torch-2.1.0.dist-info {site}/torch-2.1.0.dist-info",
        name="torch-2.1.0",
    )
    said = build_py(
        *("test", "--target", main.target.id, "--simulate", "--image", image),
        *("--component", "torch_npu", "--component", "torch"),
    )
    assert said.code == 8, said.text
    assert "torch_npu/test_torch_npu.py::test_imports" in said.text
    assert "undefined symbol" in said.text


def test_nnal_of_the_other_abi(project: Project, main: Built, spoil: Spoil) -> None:
    other = f"/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_{1 - (main.target.cxx_abi or 0)}"
    image = spoil(main.image, f"ENV ATB_HOME_PATH={other}", name="other-abi")
    result = _verify(project, main, image, no_device(), only=["nnal"])
    assert {"test_abi_is_the_framework_s", "test_abi_is_torch_s"} <= _failed(result)


def test_wrong_product(project: Project, main: Built, spoil: Spoil) -> None:
    image = spoil(main.image, "ENV NPUSIM_FAULT=matmul", name="wrong-product")
    result = _verify(project, main, image, simulated_device(main.simulated.host))
    assert _failed(result) == {"test_matmul"}


def test_probes_in_one_process_fail_separately(project: Project, main: Built, spoil: Spoil) -> None:
    site = "/usr/local/lib/python3.9/dist-packages"
    image = spoil(
        main.image,
        f"RUN rm -r {site}/decorator* /etc/Ascend/ascend_cann_install.info",
        f"RUN echo 'raise ImportError(__name__)' >{site}/apex/amp/__init__.py",
        f"RUN echo 'raise ImportError(__name__)' >{site}/deepspeed/__init__.py",
        name="in-one-process",
    )
    components = ["apex", "deepspeed", "toolkit", "torch", "torch_npu"]
    specs = [no_device(), simulated_device(main.simulated.host)]
    result = _verify(project, main, image, *specs, only=components)
    assert {(str(device), check.name) for device, check in result.failed} == {
        ("none", "apex/test_apex.py::test_imports"),
        ("none", "toolkit/test_toolkit.py::test_atc"),
        ("none", "toolkit/test_toolkit.py::test_compiler_imports"),
        ("none", "toolkit/test_toolkit.py::test_installer_record"),
        ("simulated", "deepspeed/test_deepspeed.py::test_accelerator"),
        ("simulated", "deepspeed/test_deepspeed.py::test_trains"),
    }


@pytest.mark.ci("the kernel did not start a shell, and the check counted as failed")
def test_no_driver(project: Project, main: Built) -> None:
    result = _verify(project, main, main.image, RunSpec(kind=DeviceKind.SIMULATED))
    assert {"test_is_available", "test_matmul", "test_random_tensor"} <= _failed(result)
    assert "test_imports" not in _failed(result)


def test_no_devices(project: Project, main: Built, tmp_path: Path) -> None:
    host = Path(shutil.copytree(main.simulated.host, tmp_path / "host", symlinks=True))
    devices = host / "usr/local/Ascend/driver/simulated_devices.conf"
    devices.write_text(devices.read_text().replace("count=8", "count=0"))
    result = _verify(project, main, main.image, simulated_device(host))
    assert "test_is_available" in _failed(result)
    assert "test_imports" not in _failed(result)
