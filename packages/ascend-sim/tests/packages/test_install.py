# SPDX-License-Identifier: Apache-2.0
"""What the packages install, in which order, and what a failure leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ARCH, KERNELS, NNAL, TOOLKIT, Machine, Packed, make_spec, run_pack

LINUX = f"{ARCH}-linux"


def read_settings(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if "=" in line]
    return dict(line.split("=", 1) for line in lines)


def test_old_layout(installed: Callable[[str], Machine]) -> None:
    machine = installed("t39")
    latest = machine.ascend / "ascend-toolkit/latest"
    for name in ("lib64/libascendcl.so", f"{LINUX}/devlib/libascend_hal.so", "runtime/lib64/stub"):
        assert (latest / name).exists()
    for name in ("runtime", "compiler", "bin", "tools", "toolkit", "python/site-packages", "opp"):
        assert (latest / name).is_dir()
    kernel = latest / "opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b"
    atb = machine.ascend / "nnal/atb/latest"
    for marked in (latest, kernel, atb):
        assert "stand-in" in (marked / "SIMULATED").read_text()
    for abi in (0, 1):
        assert (atb / f"atb/cxx_abi_{abi}/lib/libatb.so").is_file()
    assert read_settings(machine.record) == {"Toolkit_InstallPath": str(latest)}


def test_new_layout(installed: Callable[[str], Machine]) -> None:
    machine = installed("cann85")
    home = machine.ascend / "cann-8.5.0"
    for name in ("lib64/libascendcl.so", "runtime", "compiler", "opp", "install.conf"):
        assert (home / name).exists()
    kernel = home / "opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b"
    assert "This Ascend-cann-910b-ops is" in (kernel / "SIMULATED").read_text()
    assert (home / LINUX / "ascend_ops_install.info").is_file()
    assert read_settings(machine.record) == {"Toolkit_InstallPath": str(home)}
    assert "(SIMULATED) is installed" in machine.log("ascend_ops")


@pytest.mark.parametrize("release", ["t39", "cann85"])
def test_one_place_names_every_stand_in(
    request: pytest.FixtureRequest, installed: Callable[[str], Machine], release: str
) -> None:
    packed: Packed = request.getfixturevalue(release)
    place = installed(release).ascend / "simulated"
    names = {packed.file(each).name.split("_")[0] for each in (TOOLKIT, KERNELS, NNAL)}
    assert {path.name for path in place.iterdir()} == names
    for path in place.iterdir():
        assert f"This {path.name} is a software stand-in" in path.read_text()


@pytest.mark.parametrize("release", ["t39", "cann85"])
def test_pip_says_from_where_it_installed(
    installed: Callable[[str], Machine], release: str
) -> None:
    machine = installed(release)
    found = [*machine.ascend.rglob("direct_url.json")]
    assert {path.parent.name.split("-")[0] for path in found} >= {"te", "hccl"}
    for path in found:
        url = json.loads(path.read_text())["url"]
        assert re.match(rf"file://{machine.root}/home/selfgz\d+/", url)
        assert f"{path.parent.name}/direct_url.json,sha256=" in (path.parent / "RECORD").read_text()
        assert (path.parent / "SIMULATED").is_file()


def test_a3_installs_under_the_vendors_names(installed: Callable[[str], Machine]) -> None:
    home = installed("a3").ascend / "cann-9.1.1"
    kernels = home / "opp/built-in/op_impl/ai_core/tbe/kernel"
    assert {path.name for path in kernels.iterdir()} == {"ascend910_93", "config"}
    info = read_settings(home / "aarch64-linux/ascend_ops_install.info")
    assert info["package_name"] == "Ascend-cann-A3-ops"
    assert info["arch"] == "aarch64"
    assert not [*home.parent.rglob("version.cfg")]


def test_operators_of_two_chips_cannot_share_a_path(
    machine: Machine, a3: Packed, pack: Callable[..., Packed]
) -> None:
    machine.pretend_aarch64()
    machine.install_all(a3)
    before = machine.state()
    result = machine.install(pack("9.1.1", "cann", "aarch64").file(KERNELS))
    assert result.returncode == 1
    assert f"Ascend-cann-A3-ops is in {machine.ascend}, and the operators of" in result.stdout
    assert machine.state() == before
    machine.must_install(a3.file(KERNELS))


def test_kernels_of_two_chips_before_8_5_are_kept_side_by_side(
    machine: Machine, t39: Packed, pack: Callable[..., Packed]
) -> None:
    machine.must_install(t39.file(TOOLKIT))
    machine.must_install(t39.file(KERNELS))
    machine.must_install(pack("8.0.T39", "ascend-toolkit", ARCH, "a3").file(KERNELS))
    kernels = machine.ascend / "ascend-toolkit/8.0.T39/opp/built-in/op_impl/ai_core/tbe/kernel"
    assert {path.name for path in kernels.iterdir()} == {"ascend910_93", "ascend910b", "config"}


def test_version_cfg_gains_the_kernels(machine: Machine, t39: Packed) -> None:
    cfg = machine.ascend / "ascend-toolkit/latest/version.cfg"
    machine.must_install(t39.file(TOOLKIT))
    assert "\ntoolkit_running_version=[0.0.0.0.0:8.0.T39]\n" in cfg.read_text()
    assert "opp_kernel" not in cfg.read_text()
    machine.must_install(t39.file(KERNELS))
    assert "\ntoolkit_running_version=[0.0.0.0.0:8.0.T39]\n" in cfg.read_text()
    assert "\nopp_kernel_running_version=[0.0.0.0.0:8.0.T39]\n" in cfg.read_text()


@pytest.mark.parametrize("component", [KERNELS, NNAL])
def test_toolkit_comes_first(machine: Machine, t39: Packed, component: str) -> None:
    result = machine.install(t39.file(component), ASCEND_TOOLKIT_HOME="/somewhere")
    assert result.returncode == 1
    assert f"no CANN toolkit is installed in {machine.ascend}" in result.stdout
    assert "no CANN toolkit is installed" in machine.log(f"ascend_{component}")
    assert machine.state() == {}


@pytest.mark.parametrize("component", [KERNELS, NNAL])
def test_toolkit_must_be_of_the_same_version(
    machine: Machine, t39: Packed, rc3: Packed, component: str
) -> None:
    machine.must_install(rc3.file(TOOLKIT))
    before = machine.state()
    result = machine.install(t39.file(component), ASCEND_TOOLKIT_HOME="/somewhere")
    assert result.returncode == 1
    assert "CANN toolkit 8.3.RC1 is installed, this package is for 8.0.T39" in result.stdout
    assert machine.state() == before


def test_nnal_needs_the_environment(machine: Machine, t39: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    result = machine.install(t39.file(NNAL))
    assert result.returncode == 1
    assert "ASCEND_TOOLKIT_HOME is not set" in result.stdout


def test_another_version_goes_beside_and_latest_leads_to_it(
    machine: Machine, t39: Packed, rc3: Packed
) -> None:
    machine.must_install(rc3.file(TOOLKIT))
    machine.must_install(t39.file(TOOLKIT))
    folder = machine.ascend / "ascend-toolkit"
    assert {path.name for path in folder.iterdir()} == {
        "8.3.RC1",
        "8.0.T39",
        "latest",
        "set_env.sh",
    }
    assert str((folder / "latest/opp").readlink()) == "../8.0.T39/opp"


def test_without_install_for_all_others_are_kept_out(machine: Machine, t39: Packed) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install", path)
    assert result.returncode == 0, result.stderr
    tree = machine.ascend / "ascend-toolkit/8.0.T39"
    assert tree.stat().st_mode & 0o777 == 0o750
    assert (tree / "SIMULATED").stat().st_mode & 0o777 == 0o640


def test_other_users_install_in_their_home(machine: Machine, t39: Packed) -> None:
    machine.shim("id", "echo 1000")
    machine.shim("chown", "exit 0")
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install")
    assert result.returncode == 0, result.stderr
    home = machine.root / "home"
    assert (home / "Ascend/ascend-toolkit/latest/runtime").is_dir()
    assert (home / "Ascend/ascend_cann_install.info").is_file()
    assert (home / "var/log/ascend_seclog/ascend_toolkit_install.log").is_file()


@pytest.mark.parametrize("answer", ["Y\n", "y"])
def test_eula_accepted(machine: Machine, t39: Packed, answer: str) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--full", path, stdin=answer)
    assert "EULA" in result.stdout
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("answer", ["N\n", "yes please\n", ""])
def test_eula_refused(machine: Machine, t39: Packed, answer: str) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--install", path, stdin=answer)
    assert result.returncode == 1
    assert "the EULA was not accepted" in machine.log("ascend_toolkit")
    assert machine.state() == {}


def test_other_architecture_is_refused(machine: Machine, t39: Packed) -> None:
    machine.shim("uname", "echo riscv64")
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == 1
    assert f"this package is for {ARCH}, this machine is riscv64" in result.stdout
    assert "The log is " in result.stdout
    assert machine.state() == {}


@pytest.mark.parametrize("path", ["relative/Ascend", "/tmp/a b", "/tmp/a'b", "/tmp/a\nb"])
def test_unusable_install_path_is_refused(machine: Machine, t39: Packed, path: str) -> None:
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install", f"--install-path={path}")
    assert result.returncode == 1
    assert "the install path" in result.stdout


@pytest.mark.parametrize("mode", [0o750, 0o700])
def test_install_path_unreadable_by_others_is_refused_to_root(
    machine: Machine, t39: Packed, mode: int
) -> None:
    if not machine.is_root:
        pytest.skip("only root is asked for a path that is root's")
    (machine.root / "usr").chmod(mode)
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == 1
    assert f"must have at least mode 755, its mode is {mode:o}" in result.stdout
    (machine.root / "usr").chmod(0o755)
    machine.shim("stat", 'case $2 in %U) echo somebody ;; *) exec "$REAL" "$@" ;; esac')
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == 1
    assert "must belong to root, not to somebody" in result.stdout


@pytest.mark.parametrize(
    ("component", "option", "code"),
    [
        (TOOLKIT, "--devel", 0),
        (NNAL, "--devel", 1),
        (NNAL, "--full", 1),
        (KERNELS, "--full", 1),
    ],
)
def test_actions_are_those_of_the_package(
    machine: Machine, cann91: Packed, component: str, option: str, code: int
) -> None:
    path = f"--install-path={machine.ascend}"
    options = ("-q", option, path, "--chip=Ascend910B3", "--nox11", "--force")
    result = machine.run(cann91.file(component), *options)
    assert result.returncode == code
    assert (f"{option} is not for this package" in result.stdout) == bool(code)


def failing(component: str, how: str, device: Path, folder: Path, layout: str = "cann") -> Path:
    """A package of which a file that its list names is missing."""
    spec = make_spec("9.1.1" if layout == "cann" else "8.0.T39", layout)
    [entry] = [each for each in spec["packages"] if each["component"] == component]
    spec["packages"] = [{**entry, "fails": how}]
    result = run_pack(spec, device, folder / "out", folder)
    assert result.returncode == 0, result.stderr
    return folder / "out/artifacts" / str(entry["file"])


def test_failed_operators_are_logged_but_exit_with_zero(
    machine: Machine, cann91: Packed, device: Path, tmp_path: Path
) -> None:
    machine.must_install(cann91.file(TOOLKIT))
    result = machine.install(failing(KERNELS, "softly", device, tmp_path))
    assert result.returncode == 0
    assert "[ERROR]: cannot copy" in result.stdout
    assert "[ERROR]: cannot copy" in machine.log("ascend")
    home = machine.ascend / "cann-9.1.1/share/info"
    assert (home / "ops_math/scene.info").is_file()
    # What names the release and the files is there first.
    assert (home / "ops_nn/version.info").is_file()
    assert (home / "ops_nn/script/filelist.csv").is_file()
    assert not (home / "ops_nn/scene.info").is_file()


@pytest.mark.parametrize("component", [TOOLKIT, KERNELS])
def test_a_failure_leaves_half_a_tree(
    machine: Machine, cann91: Packed, device: Path, tmp_path: Path, component: str
) -> None:
    if component == KERNELS:
        machine.must_install(cann91.file(TOOLKIT))
    result = machine.install(failing(component, "hard", device, tmp_path))
    assert result.returncode == 1
    assert "[ERROR]: cannot copy" in result.stdout
    assert "The log is " in result.stdout
    assert (machine.ascend / "cann-9.1.1/opp").is_dir()


def test_a_toolkit_can_be_told_to_fail_softly(
    machine: Machine, device: Path, tmp_path: Path
) -> None:
    file = failing(TOOLKIT, "softly", device, tmp_path, "ascend-toolkit")
    result = machine.install(file)
    assert result.returncode == 0
    assert "[ERROR]" in result.stdout


@pytest.mark.parametrize(("component", "code"), [(TOOLKIT, 1), (KERNELS, 0)])
def test_without_pip(machine: Machine, cann91: Packed, component: str, code: int) -> None:
    if component == KERNELS:
        machine.must_install(cann91.file(TOOLKIT))
    machine.shim("pip3", "exit 1")
    result = machine.install(cann91.file(component))
    assert result.returncode == code
    assert re.search(r"\[ERROR\]: install \w+-[\d.]+-py3-none-any\.whl failed", result.stdout)


def test_a_full_disk_is_reported(machine: Machine, t39: Packed) -> None:
    """The limit on a file's size stands for a full disk: the kernel itself stops the write."""
    limited = machine.root / "limited.sh"
    limited.write_text(f'ulimit -f 8\nexec sh "{t39.file(TOOLKIT)}" "$@"\n')
    result = machine.install(limited)
    assert result.returncode == 1
    assert "cannot unpack to" in result.stderr


def test_a_part_can_be_left_out(machine: Machine, device: Path, tmp_path: Path) -> None:
    spec = make_spec("9.1.1", "cann")
    spec["packages"] = [{**spec["packages"][0], "without": ["bisheng"]}]
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 0, result.stderr
    machine.must_install(tmp_path / "out/artifacts" / spec["packages"][0]["file"])
    assert not (machine.ascend / "cann/tools/bishengir").exists()
    assert (machine.ascend / "cann/tools/profiler").is_dir()


def test_a_missing_part_is_named(device: Path, tmp_path: Path) -> None:
    spec = make_spec("9.1.1", "cann")
    spec["packages"] = [{**spec["packages"][0], "without": ["hccl"]}]
    result = run_pack(spec, device, tmp_path / "out", tmp_path)
    assert result.returncode == 1
    assert "has no part hccl, only runtime, ge-compiler, hcomm, bisheng, toolkit" in result.stderr
