# SPDX-License-Identifier: Apache-2.0
"""What a package does before it changes anything: options, integrity, EULA, machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import ARCH, TOOLKIT, Machine, Packed

DAMAGED, USAGE, EULA, MACHINE = 1, 2, 3, 4


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


def test_check_accepts_what_was_packed(machine: Machine, t39: Packed) -> None:
    result = machine.run(t39.file(TOOLKIT), "--check")
    assert result.returncode == 0
    assert "size and sha256 are right" in result.stdout


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
    assert result.returncode == DAMAGED
    assert "the file is damaged" in result.stderr
    assert message in result.stderr
    assert machine.state() == {}
    assert not (tmp_path / "extracted").exists()


def test_without_a_mode_the_usage_is_shown(machine: Machine, t39: Packed) -> None:
    result = machine.run(t39.file(TOOLKIT), "--quiet")
    assert result.returncode == USAGE
    assert "--install-for-all" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--instal",), "unknown option --instal"),
        (("--install", "--install-path="), "unknown option --install-path="),
        (("extra", "--install"), "unknown option extra"),
        (("--chip=",), "unknown option --chip="),
        (("--tar",), "--tar needs the arguments of tar"),
        (("--install", "--uninstall"), "--install and --uninstall cannot be given together"),
        (("--install", "--check"), "--install and --check cannot be given together"),
    ],
)
def test_wrong_options_are_named(
    machine: Machine, t39: Packed, arguments: tuple[str, ...], message: str
) -> None:
    result = machine.run(t39.file(TOOLKIT), "--quiet", *arguments)
    assert result.returncode == USAGE
    assert message in result.stderr


def test_help_and_version_say_simulated(machine: Machine, t39: Packed) -> None:
    helped = machine.run(t39.file(TOOLKIT), "--help")
    version = machine.run(t39.file(TOOLKIT), "--version")
    assert (helped.returncode, version.returncode) == (0, 0)
    assert "SIMULATED" in helped.stdout
    assert version.stdout == f"Ascend-cann-toolkit 8.0.T39 linux-{ARCH} (simulated)\n"


@pytest.mark.parametrize("answer", ["Y\n", "y\n", "y"])
def test_eula_accepted(machine: Machine, t39: Packed, answer: str) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--full", path, stdin=answer)
    assert "EULA" in result.stdout
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("answer", ["N\n", "yes please\n", "\n", ""])
def test_eula_refused(machine: Machine, t39: Packed, answer: str) -> None:
    path = f"--install-path={machine.ascend}"
    result = machine.run(t39.file(TOOLKIT), "--install", path, stdin=answer)
    assert result.returncode == EULA
    assert "the EULA was not accepted" in result.stderr
    assert "the EULA was not accepted" in machine.log(TOOLKIT)
    assert machine.state() == {}


def test_other_architecture_is_refused(machine: Machine, t39: Packed) -> None:
    machine.shim("uname", "echo riscv64")
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == MACHINE
    assert f"this package is for {ARCH}, this machine is riscv64" in result.stderr
    assert "The log is " in result.stderr
    assert "this machine is riscv64" in machine.log(TOOLKIT)
    assert machine.state() == {}


@pytest.mark.parametrize("path", ["relative/Ascend", "/tmp/a b", "/tmp/a'b", "/tmp/a\nb"])
def test_unusable_install_path_is_refused(machine: Machine, t39: Packed, path: str) -> None:
    result = machine.run(t39.file(TOOLKIT), "--quiet", "--install", f"--install-path={path}")
    assert result.returncode == MACHINE
    assert "the install path" in result.stderr


def test_install_path_of_others_is_refused_to_root(machine: Machine, t39: Packed) -> None:
    if not machine.is_root:
        pytest.skip("only root is asked for a path that is root's")
    (machine.root / "usr").chmod(0o775)
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == MACHINE
    assert "must be writable by root alone, its mode is 775" in result.stderr
    (machine.root / "usr").chmod(0o755)
    machine.shim("stat", 'case $2 in %u) echo 1000 ;; *) exec "$REAL" "$@" ;; esac')
    result = machine.install(t39.file(TOOLKIT))
    assert result.returncode == MACHINE
    assert "must belong to root, not to user 1000" in result.stderr


def test_extract_unpacks_and_installs_nothing(
    machine: Machine, t39: Packed, tmp_path: Path
) -> None:
    result = machine.run(t39.file(TOOLKIT), "--noexec", f"--extract={tmp_path / 'there'}")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "there/ascend-toolkit/8.0.T39/SIMULATED").is_file()
    assert machine.state() == {}
