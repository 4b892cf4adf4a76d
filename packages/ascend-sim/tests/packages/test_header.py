# SPDX-License-Identifier: Apache-2.0
"""What a package does before install.sh: options, integrity, unpacking; it behaves as makeself."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import ARCH, KERNELS, NNAL, TOOLKIT, Machine, Packed


def altered(packed: Packed, tmp_path: Path, change: str) -> Path:
    content = bytearray(packed.file(TOOLKIT).read_bytes())
    if change == "truncated":
        del content[-100:]
    elif change == "longer":
        content += b"x"
    else:
        content[-100] ^= 1
    path = tmp_path / "altered.run"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [("truncated", "bytes of payload instead of"), ("longer", "bytes"), ("byte", "sha256")],
)
@pytest.mark.parametrize("mode", ["--check", "--install", "--extract"])
def test_damaged_file_is_refused(
    machine: Machine, t39: Packed, tmp_path: Path, change: str, message: str, mode: str
) -> None:
    file = altered(t39, tmp_path, change)
    if mode == "--install":
        result = machine.install(file)
    else:
        argument = mode if mode == "--check" else f"--extract={tmp_path / 'extracted'}"
        result = machine.run(file, argument)
    assert result.returncode == 1
    assert "the file is damaged" in result.stderr
    assert message in result.stderr
    assert machine.state() == {}
    assert not (tmp_path / "extracted").exists()


def test_check_goes_on_to_install_sh(machine: Machine, t39: Packed, cann91: Packed) -> None:
    """Not a pure check: of the parts, the toolkit's succeed and operators' do not know it."""
    toolkit = machine.run(t39.file(TOOLKIT), "--check")
    assert toolkit.returncode == 0
    assert "size and sha256 are right" in toolkit.stdout
    assert "check: nothing to do" in machine.log("ascend")
    operators = machine.run(cann91.file(KERNELS), "--check")
    assert operators.returncode == 1
    assert "size and sha256 are right" in operators.stdout
    assert "[ERROR]: Unsupported parameters" in operators.stdout


@pytest.mark.parametrize("release", ["t39", "cann91"])
def test_check_of_nnal_fails_for_want_of_its_log_folder(
    request: pytest.FixtureRequest, machine: Machine, release: str
) -> None:
    packed: Packed = request.getfixturevalue(release)
    result = machine.run(packed.file(NNAL), "--check")
    assert result.returncode == 1
    assert "cann_atb_log" in result.stderr
    assert machine.state() == {}


def test_it_unpacks_into_folders_of_random_names_and_removes_them(
    machine: Machine, t39: Packed
) -> None:
    seen = machine.root / "seen"
    machine.shim("tar", f'echo "$*" >>"{seen}"; exec "$REAL" "$@"')
    for component in (TOOLKIT, KERNELS):
        machine.must_install(t39.file(component))
    folders = [line.rpartition(" ")[2] for line in seen.read_text().splitlines()]
    home = machine.root / "home"
    # The outer package, and one for each of its parts.
    assert len(folders) == len({*folders}) == 6 + 2
    assert all(folder.startswith(f"{home}/selfgz") for folder in folders)
    assert [*home.glob("selfgz*")] == []


def test_the_folder_is_below_tmpdir_if_tmpdir_is_set(machine: Machine, t39: Packed) -> None:
    place = machine.root / "place"
    place.mkdir()
    result = machine.run(t39.file(KERNELS), "--keep", "--noexec", variables={"TMPDIR": str(place)})
    assert result.returncode == 0, result.stderr
    [folder] = place.iterdir()
    assert {path.name for path in folder.iterdir()} == {"install.sh", "run_package"}


def test_inner_packages_are_packages(machine: Machine, t39: Packed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = machine.run(t39.file(TOOLKIT), "--noexec", f"--extract={out}")
    assert result.returncode == 0, result.stderr
    parts = {path.name for path in (out / "run_package").iterdir()}
    names = ("runtime", "compiler", "hccl", "opp", "toolkit")
    assert parts == {f"CANN-{name}-8.0.T39-linux.{ARCH}.run" for name in names}
    for path in (out / "run_package").iterdir():
        assert path.read_bytes().splitlines()[1].startswith(b"# SIMULATED by cannery")
    hccl = out / f"run_package/CANN-hccl-8.0.T39-linux.{ARCH}.run"
    inner = machine.run(hccl, "--noexec", "--target", str(tmp_path / "in"))
    assert inner.returncode == 0
    assert {"install.sh", "list", "wheels", "hccl"} == {p.name for p in (tmp_path / "in").iterdir()}
    assert machine.state() == {}


def test_a_package_shows_its_name_and_contents(machine: Machine, cann91: Packed) -> None:
    helped = machine.run(cann91.file(KERNELS), "--help")
    info = machine.run(cann91.file(KERNELS), "--info")
    assert (helped.returncode, info.returncode) == (0, 0)
    assert "SIMULATED" in helped.stdout
    assert f"Ascend-cann-910b-ops 9.1.1 linux-{ARCH}" in info.stdout
    listed = machine.run(cann91.file(KERNELS), "--list")
    assert f"run_package/cann-910b-ops-math_9.1.1_linux-{ARCH}.run" in listed.stdout
    read = machine.run(cann91.file(KERNELS), "--tar", "tf")
    inner = [f"run_package/cann-910b-{n}_9.1.1_linux-{ARCH}.run" for n in ("ops-math", "ops-nn")]
    assert read.stdout.split() == ["install.sh", "run_package/", *inner]
    assert machine.state() == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "usage: sh FILE.run ACTION"),
        (("--quiet",), "--install-for-all"),
        (("--instal",), "unknown option --instal"),
        (("--install", "--install-path="), "unknown option --install-path="),
        (("extra", "--install"), "unknown option extra"),
        (("--chip=",), "unknown option --chip="),
        (("--tar",), "--tar needs the arguments of tar"),
        (("--target",), "--target needs a folder"),
        (("--install", "--upgrade"), "--install and --upgrade cannot be given together"),
        (("--install", "--check"), "--install and --check cannot be given together"),
    ],
)
def test_wrong_options_are_named(
    machine: Machine, t39: Packed, arguments: tuple[str, ...], message: str
) -> None:
    result = machine.run(t39.file(TOOLKIT), *arguments)
    assert result.returncode == 1
    assert message in result.stdout + result.stderr
    assert machine.state() == {}
