# SPDX-License-Identifier: Apache-2.0
"""What the packages install, in which order, and that a failure leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ARCH, KERNELS, NNAL, TOOLKIT, Machine, Packed

TOOLKIT_MISSING, FAILED, TERMINATED = 5, 6, 143
LINUX = f"{ARCH}-linux"


def install_all(machine: Machine, packed: Packed) -> None:
    machine.must_install(packed.file(TOOLKIT))
    machine.must_install(packed.file(KERNELS))
    home = machine.ascend / "ascend-toolkit/latest"
    machine.must_install(packed.file(NNAL), ASCEND_TOOLKIT_HOME=str(home))


def read_settings(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if "=" in line]
    return dict(line.split("=", 1) for line in lines)


def test_old_layout(machine: Machine, t39: Packed) -> None:
    install_all(machine, t39)
    latest = machine.ascend / "ascend-toolkit/latest"
    assert str(latest.readlink()) == "8.0.T39"
    for name in ("lib64/libascendcl.so", "devlib/libascend_hal.so", "runtime/lib64/stub"):
        assert (latest / name).exists()
    for name in ("runtime", "compiler", "bin", "tools", "toolkit", "python/site-packages", "opp"):
        assert (latest / name).is_dir()
    kernel = latest / "opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b"
    atb = machine.ascend / "nnal/atb/latest"
    for marked in (latest, kernel, atb):
        assert "stand-in" in (marked / "SIMULATED").read_text()
    for abi in (0, 1):
        assert (atb / f"atb/cxx_abi_{abi}/lib/libatb.so").is_file()
    assert "8.0.T39" in (atb / "version.info").read_text()
    assert read_settings(machine.record) == {"Toolkit_InstallPath": str(latest)}
    assert (latest / "set_env.sh").is_file()


def test_new_layout(machine: Machine, cann85: Packed) -> None:
    install_all(machine, cann85)
    home = machine.ascend / "cann-8.5.0"
    assert str((machine.ascend / "cann").readlink()) == "cann-8.5.0"
    assert (machine.ascend / "ascend-toolkit/latest").resolve() == home.resolve()
    for name in ("lib64/libascendcl.so", "runtime", "compiler", "opp", "install.conf"):
        assert (home / name).exists()
    kernel = home / "opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b"
    assert "This Ascend-cann-910b-ops is" in (kernel / "SIMULATED").read_text()
    assert (home / "share/info/ascendnpu-ir/bin/set_env.sh").is_file()
    assert (home / LINUX / "ascend_ops_install.info").is_file()
    assert (machine.ascend / "ascend-toolkit/set_env.sh").is_file()
    assert read_settings(machine.record) == {"Toolkit_InstallPath": str(home)}
    assert "is installed in" in machine.log("ops")


@pytest.mark.parametrize("layout", ["t39", "cann85"])
def test_one_place_names_every_stand_in(
    request: pytest.FixtureRequest, machine: Machine, layout: str
) -> None:
    packed: Packed = request.getfixturevalue(layout)
    install_all(machine, packed)
    place = machine.ascend / "simulated"
    names = {packed.file(each).name.split("_")[0] for each in (TOOLKIT, KERNELS, NNAL)}
    assert {path.name for path in place.iterdir()} == names
    for path in place.iterdir():
        assert f"This {path.name} is a software stand-in" in path.read_text()


def test_each_package_names_itself(machine: Machine, t39: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    place = machine.ascend / "simulated"
    assert [path.name for path in place.iterdir()] == ["Ascend-cann-toolkit"]


def test_a3_installs_under_the_vendors_names(machine: Machine, a3: Packed) -> None:
    machine.pretend_aarch64()
    install_all(machine, a3)
    home = machine.ascend / "cann-9.1.1"
    assert a3.file(KERNELS).name == "Ascend-cann-A3-ops_9.1.1_linux-aarch64.run"
    kernels = home / "opp/built-in/op_impl/ai_core/tbe/kernel"
    assert [path.name for path in kernels.iterdir()] == ["ascend910_93"]
    info = read_settings(home / "aarch64-linux/ascend_ops_install.info")
    assert info["package_name"] == "Ascend-cann-A3-ops"
    assert info["arch"] == "aarch64"
    assert not (home / "version.cfg").exists()


def test_operators_of_two_chips_cannot_share_a_path(
    machine: Machine, a3: Packed, pack: Callable[..., Packed]
) -> None:
    machine.pretend_aarch64()
    other = pack("9.1.1", "cann", "aarch64")
    install_all(machine, other)
    before = machine.state()
    result = machine.install(a3.file(KERNELS))
    assert result.returncode == TOOLKIT_MISSING
    assert f"Ascend-cann-910b-ops is in {machine.ascend}, and the operators of" in result.stderr
    assert machine.state() == before
    machine.must_install(other.file(KERNELS))


def test_kernels_of_two_chips_before_8_5_are_kept_side_by_side(
    machine: Machine, t39: Packed, pack: Callable[..., Packed]
) -> None:
    install_all(machine, t39)
    machine.must_install(pack("8.0.T39", "ascend-toolkit", ARCH, "a3").file(KERNELS))
    kernels = machine.ascend / "ascend-toolkit/8.0.T39/opp/built-in/op_impl/ai_core/tbe/kernel"
    assert sorted(path.name for path in kernels.iterdir()) == ["ascend910_93", "ascend910b"]


def test_every_info_file_names_its_version(machine: Machine, t39: Packed) -> None:
    install_all(machine, t39)
    place = machine.ascend / "ascend-toolkit/8.0.T39" / LINUX
    infos = {
        "Ascend-cann-toolkit": place / "ascend_toolkit_install.info",
        "Ascend-cann-nnal": machine.ascend / "nnal/atb/8.0.T39/ascend_nnal_install.info",
    }
    for name, path in infos.items():
        info = read_settings(path)
        assert info.pop("innerversion").endswith("simulated")
        assert info == {
            "package_name": name,
            "version": "8.0.T39",
            "arch": ARCH,
            "os": "linux",
            "path": str(path.parent),
        }


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
    assert result.returncode == TOOLKIT_MISSING
    assert f"no CANN toolkit is installed in {machine.ascend}" in result.stderr
    assert "no CANN toolkit is installed" in machine.log(component)
    assert machine.state() == {}


@pytest.mark.parametrize("component", [KERNELS, NNAL])
def test_toolkit_must_be_of_the_same_version(
    machine: Machine, t39: Packed, rc3: Packed, component: str
) -> None:
    machine.must_install(rc3.file(TOOLKIT))
    before = machine.state()
    result = machine.install(t39.file(component), ASCEND_TOOLKIT_HOME="/somewhere")
    assert result.returncode == TOOLKIT_MISSING
    expected = "CANN toolkit 8.0.RC3 is installed, this package is for 8.0.T39"
    assert expected in result.stderr
    assert expected in machine.log(component)
    assert machine.state() == before


def test_nnal_needs_the_environment(machine: Machine, t39: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    result = machine.install(t39.file(NNAL))
    assert result.returncode == TOOLKIT_MISSING
    assert "ASCEND_TOOLKIT_HOME is not set" in result.stderr


def test_installing_twice_changes_nothing(machine: Machine, t39: Packed) -> None:
    install_all(machine, t39)
    before = machine.state()
    install_all(machine, t39)
    after = machine.state()
    cfg = "usr/Ascend/ascend-toolkit/8.0.T39/version.cfg"
    assert sorted(before.pop(cfg).splitlines()) == sorted(after.pop(cfg).splitlines())
    assert after == before


def test_another_version_goes_beside_and_moves_latest(
    machine: Machine, t39: Packed, rc3: Packed
) -> None:
    machine.must_install(rc3.file(TOOLKIT))
    machine.must_install(rc3.file(KERNELS))
    machine.must_install(t39.file(TOOLKIT))
    toolkits = machine.ascend / "ascend-toolkit"
    assert str((toolkits / "latest").readlink()) == "8.0.T39"
    assert (toolkits / "8.0.RC3/opp_kernel/version.info").is_file()
    machine.must_install(t39.file(KERNELS))


def test_without_install_for_all_others_are_kept_out(machine: Machine, t39: Packed) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install", path)
    assert result.returncode == 0, result.stderr
    tree = machine.ascend / "ascend-toolkit/8.0.T39"
    assert tree.stat().st_mode & 0o777 == 0o750
    assert (tree / "set_env.sh").stat().st_mode & 0o777 == 0o640


def test_other_users_install_in_their_home(machine: Machine, t39: Packed) -> None:
    machine.shim("id", "echo 1000")
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install")
    assert result.returncode == 0, result.stderr
    home = machine.root / "home"
    assert (home / "Ascend/ascend-toolkit/latest/set_env.sh").is_file()
    assert (home / "Ascend/ascend_cann_install.info").is_file()
    assert (home / "var/log/ascend_seclog/ascend_toolkit_install.log").is_file()


FAILURES = {
    "tar": ("echo 'tar: no space left' >&2; exit 2", FAILED, "cannot unpack"),
    "sed": ("exit 4", FAILED, "the installation failed"),
    "interrupted tar": ('kill -TERM $PPID; exec "$REAL" "$@"', TERMINATED, "interrupted"),
    "interrupted mv": ('"$REAL" "$@"; kill -TERM $PPID', TERMINATED, "interrupted"),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("over", ["nothing", "another version", "the same version"])
def test_failed_install_leaves_nothing(
    machine: Machine, t39: Packed, rc3: Packed, failure: str, over: str
) -> None:
    if over != "nothing":
        machine.must_install((t39 if over == "the same version" else rc3).file(TOOLKIT))
    before = machine.state()
    script, code, message = FAILURES[failure]
    program = failure.removeprefix("interrupted ")
    machine.shim(program, script)
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == code
    assert message in result.stderr
    assert "The log is " in result.stderr
    assert "nothing was changed" in machine.log(TOOLKIT)
    (machine.root / "bin" / program).unlink()
    assert machine.state() == before
    assert machine.record.exists() == (over != "nothing")


def test_file_that_does_not_fit_is_undone(machine: Machine, t39: Packed) -> None:
    """The limit on a file's size stands for a full disk: the kernel itself stops the write."""
    limited = machine.root / "limited.sh"
    limited.write_text(f'ulimit -f 8\nexec sh "{t39.file(TOOLKIT)}" "$@"\n')
    result = machine.install(limited)
    assert result.returncode == FAILED
    assert f"cannot unpack to {machine.ascend}" in result.stderr
    assert machine.state() == {}


@pytest.mark.parametrize("good_moves", [0, 1, 5, 9])
def test_half_done_moves_are_undone(
    machine: Machine, t39: Packed, rc3: Packed, good_moves: int
) -> None:
    """Over the same version every file is replaced by itself: many moves, one of them fails."""
    machine.must_install(rc3.file(TOOLKIT))
    machine.must_install(t39.file(TOOLKIT))
    before = machine.state()
    count = machine.root / "count"
    machine.shim(
        "mv",
        f'echo >>"{count}"; [ "$(wc -l <"{count}")" -ne {good_moves + 1} ] || exit 1; '
        'exec "$REAL" "$@"',
    )
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == FAILED
    assert machine.state() == before


def test_what_cannot_be_put_back_is_kept(machine: Machine, t39: Packed) -> None:
    machine.must_install(t39.file(TOOLKIT))
    machine.shim("mv", 'case $2 in */replaced/*) exec "$REAL" "$@" ;; esac; exit 1')
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == FAILED
    (replaced,) = machine.ascend.glob(".simulated-install.*/replaced")
    assert f"What could not be put back is in {replaced}" in result.stderr
    assert len(list(replaced.iterdir())) == 1
