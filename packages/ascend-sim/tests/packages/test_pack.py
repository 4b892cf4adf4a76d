# SPDX-License-Identifier: Apache-2.0
"""pack.py itself: the same bytes every time, the host tree, the apex wheel, bad input."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from .conftest import (
    APEX,
    ARCH,
    KERNELS,
    NNAL,
    PACKAGES,
    PYTHON_TAG,
    TOOLKIT,
    Packed,
    make_spec,
    run_pack,
    unpacked,
)


def files_below(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_packing_again_gives_the_same_bytes(t39: Packed, device: Path, tmp_path: Path) -> None:
    copy = tmp_path / "device"
    shutil.copytree(device, copy, symlinks=True)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    result = run_pack(t39.spec, copy, tmp_path / "out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert files_below(tmp_path / "out") == files_below(t39.out)


def test_host_tree_is_complete(t39: Packed) -> None:
    host = t39.out / "host"
    assert sorted(files_below(host)) == [
        "etc/ascend_install.info",
        "usr/local/Ascend/driver/SIMULATED",
        "usr/local/Ascend/driver/lib64/driver/libascend_hal.so",
        "usr/local/Ascend/driver/simulated_devices.conf",
        "usr/local/Ascend/driver/version.info",
        "usr/local/bin/npu-smi",
        "usr/local/dcmi/README",
    ]
    driver = host / "usr/local/Ascend/driver"
    assert (driver / "lib64/common").is_dir()
    assert (driver / "version.info").read_text().startswith("Version=24.1.rc3-sim\n")
    devices = (driver / "simulated_devices.conf").read_text()
    assert devices.startswith("count=8\nname=910B3\nshown=910B3\nkernels=ascend910b\nmemory=HBM\n")
    assert os.access(host / "usr/local/bin/npu-smi", os.X_OK)
    install_info = (host / "etc/ascend_install.info").read_text()
    assert "Driver_Install_Path_Param=/usr/local/Ascend\n" in install_info


def test_everything_may_be_left_out(device: Path, tmp_path: Path) -> None:
    spec = {"arch": ARCH, "cann": "8.0.T39", "layout": "cann", "apex": None, "driver": None}
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert files_below(tmp_path / "out") == {}


@pytest.mark.parametrize(
    ("chip", "folder", "soc"),
    [
        ("a3", "ascend910_93", "910_9392"),
        ("A3", "ascend910_93", "910_9392"),
        ("310p", "ascend310p", "310P3"),
        ("910", "ascend910", "910A"),
        ("950", "ascend950", "950PR_9579"),
    ],
)
def test_kernels_go_where_torch_npu_looks(
    device: Path, tmp_path: Path, chip: str, folder: str, soc: str
) -> None:
    spec = make_spec("8.5.0", "cann", "aarch64", chip.lower())
    name = f"Ascend-cann-{chip.upper()}-ops_8.5.0_linux-aarch64.run"
    spec["packages"] = [{"component": "kernels", "chip": chip, "file": name}]
    spec["driver"] = {**spec["driver"], "chip": chip.lower(), "memory_mb": 7}
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 0, result.stderr
    tree = unpacked(tmp_path / "out/artifacts" / name, tmp_path / "there")
    kernels = tree / "cann-8.5.0/opp/built-in/op_impl/ai_core/tbe/kernel"
    assert {path.name for path in kernels.iterdir()} == {"config", folder}
    assert f"This Ascend-cann-{chip.upper()}-ops is" in (kernels / folder / "SIMULATED").read_text()
    product = next(
        line.split()[:3]
        for line in (kernels / folder / "accepted_types").read_text().splitlines()
        if line.startswith("Matmul ")
    )
    assert product == ["Matmul", "0", "self"]
    devices = tmp_path / "out/host/usr/local/Ascend/driver/simulated_devices.conf"
    assert {f"name={soc}", "memory_mb=7"} <= set(devices.read_text().splitlines())


def test_all_problems_of_a_spec_are_reported(device: Path, tmp_path: Path) -> None:
    spec = {
        "arch": "riscv64",
        "cann": "8.0 T39",
        "layout": "old",
        "packages": [{"component": "kernels", "chip": "910c", "file": "../kernels.zip"}, 3],
        "apex": {"wheel": "apex.whl"},
        "driver": {"version": "1", "chip": "910B3", "devices": "8", "memory_mb": -1},
        "drivers": None,
    }
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 1
    for problem in (
        "spec.arch: 'riscv64' is not one of aarch64, x86_64",
        "spec.cann: expected a plain name, found '8.0 T39'",
        "spec.layout: 'old' is not one of ascend-toolkit, cann",
        "spec.packages[0].file: expected a plain name",
        "spec.packages[0].chip: '910c' is not one of 310p, 910, 910b, 950, a3",
        "spec.packages[1]: expected an object, found int",
        "spec.apex.wheel: unknown key",
        "spec.driver.devices: expected a number, found '8'",
        "spec.drivers: unknown key",
    ):
        assert problem in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_non_empty_folder_is_not_overwritten(device: Path, tmp_path: Path) -> None:
    result = run_pack(make_spec("8.0.T39"), device, tmp_path, tmp_path)
    assert result.returncode == 1
    assert "is not empty" in result.stderr


def test_missing_library_is_named(tmp_path: Path) -> None:
    result = run_pack(make_spec("8.0.T39"), tmp_path / "none", tmp_path / "out", tmp_path)
    assert result.returncode == 1
    assert f"the device has no {tmp_path / 'none'}" in result.stderr


def test_library_of_another_architecture_is_refused(device: Path, tmp_path: Path) -> None:
    copy = tmp_path / "device"
    shutil.copytree(device, copy, symlinks=True)
    elf = b"\x7fELF" + bytes(14) + (243).to_bytes(2, "little")
    (copy / "toolkit/lib64/libnpusim.so").write_bytes(elf)
    result = run_pack(make_spec("8.0.T39"), copy, tmp_path / "out", tmp_path)
    assert result.returncode == 1
    assert f"is for ELF machine 243, the spec asks for {ARCH}" in result.stderr


@pytest.fixture(scope="module")
def site(t39: Packed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which pip has installed the apex wheel."""
    target = tmp_path_factory.mktemp("site")
    wheel = t39.out / "artifacts" / APEX
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
    options = ["--no-index", "--no-deps", "--no-compile", f"--target={target}"]
    subprocess.run([*pip, "install", "--quiet", *options, str(wheel)], check=True)
    return target


def test_apex_metadata_says_stand_in(site: Path) -> None:
    info = site / "apex-0.1+ascend.dist-info"
    metadata = Parser().parsestr((info / "METADATA").read_text())
    assert (metadata["Name"], metadata["Version"]) == ("apex", "0.1+ascend")
    assert "Stand-in" in metadata["Summary"]
    assert "not for training" in metadata["Summary"]
    wheel = Parser().parsestr((info / "WHEEL").read_text())
    assert wheel["Root-Is-Purelib"] == "false"
    assert wheel["Tag"] == f"{PYTHON_TAG}-{PYTHON_TAG}-linux_{ARCH}"


def test_apex_is_marked_as_the_other_stand_ins_are(site: Path) -> None:
    assert "This apex is a software stand-in" in (site / "apex/SIMULATED").read_text()


def test_the_head_of_every_file_marks_the_simulation(t39: Packed) -> None:
    """So that it can be told without installing it."""
    for component in (TOOLKIT, KERNELS, NNAL):
        head = t39.file(component).read_bytes()[:100].decode("ascii", errors="replace")
        assert head.splitlines()[1] == "# SIMULATED by cannery: no vendor software."


FAKE_TORCH = """
class optim:
    Adadelta, Adam, AdamW, SGD = "Adadelta", "Adam", "AdamW", "SGD"
"""


def test_apex_does_nothing_and_says_so(site: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(FAKE_TORCH)
    code = """
import apex
from apex import amp
from apex.multi_tensor_apply import multi_tensor_applier
from apex.optimizers import NpuFusedAdam
assert apex.__stand_in__ and NpuFusedAdam == "Adam" and not multi_tensor_applier.available
assert amp.initialize("model", "optimizer", opt_level="O0") == ("model", "optimizer")
assert amp.initialize("model", opt_level="O2", enabled=False) == "model"
with amp.scale_loss(3, "optimizer") as loss:
    assert loss == 3
try:
    amp.initialize("model", "optimizer", opt_level="O1")
except NotImplementedError as error:
    assert "stand-in" in str(error) and "'O1'" in str(error) and "O0" in str(error)
else:
    raise AssertionError("O1 was accepted")
"""
    environment = {"PYTHONPATH": f"{tmp_path}:{site}", "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_wrong_wheel_name_is_refused(device: Path, tmp_path: Path) -> None:
    spec: dict[str, Any] = make_spec("8.0.T39")
    spec["apex"] = {"file": "apex.whl"}
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 1
    assert "'apex.whl' is not a wheel's name" in result.stderr


@pytest.fixture(scope="module")
def shellcheck() -> str:
    beside = str(Path(sys.executable).parent)
    checker = shutil.which("shellcheck", path=os.pathsep.join([beside, os.environ["PATH"]]))
    return checker or pytest.skip("shellcheck is not installed")


def test_scripts_pass_shellcheck(shellcheck: str) -> None:
    subprocess.run([shellcheck, *sorted(PACKAGES.rglob("*.sh"))], check=True)


@pytest.mark.parametrize(("cann", "layout"), [("8.0.T39", "ascend-toolkit"), ("8.5.0", "cann")])
def test_packed_scripts_pass_shellcheck(
    pack: Callable[..., Packed], tmp_path: Path, shellcheck: str, cann: str, layout: str
) -> None:
    packed = pack(cann, layout)
    for component in (TOOLKIT, NNAL):
        unpacked(packed.file(component), tmp_path / component)
    scripts = sorted(p for p in tmp_path.rglob("tree/**/set_env.sh") if not p.is_symlink())
    assert len(scripts) >= 3
    subprocess.run([shellcheck, *scripts], check=True)
