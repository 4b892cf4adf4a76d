# SPDX-License-Identifier: Apache-2.0
"""The program that installs one of CANN's packages and judges whether that worked."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_guard_programs import make_wheel
from tests.unit.image.context_programs import load
from tests.unit.image.file_lists import file_list, row

HEAD = "#!/bin/sh\n# SIMULATED by cannery, for a test\nset -e\n"
LOG = 'mkdir -p "$LOGS"; echo "[t] [INFO] begun" >"$LOGS/install.log"\n'
SOFT = 'echo "[t] [ERROR] a part was not installed" >>"$LOGS/install.log"\n'

TOOLKITS = {
    "ascend-toolkit": """\
home="$ASCEND/ascend-toolkit/8.1.RC1"
mkdir -p "$home/aarch64-linux" "$ASCEND/ascend-toolkit/latest"
for part in compiler opp runtime; do
    mkdir -p "$home/$part"
    printf 'Version=7.7.0\\nversion_dir=8.1.rc1\\n' >"$home/$part/version.info"
done
printf 'version=8.1.RC1\\narch=aarch64\\n' >"$home/aarch64-linux/ascend_toolkit_install.info"
home="$ASCEND/ascend-toolkit/latest"
""",
    "cann": """\
home="$ASCEND/cann-9.1.0"
mkdir -p "$home/aarch64-linux" "$home/share/info/runtime" "$home/tools/bishengir/bin"
mkdir -p "$ASCEND/ascend-toolkit"
echo Version=9.1.0 >"$home/share/info/runtime/version.info"
printf 'version=9.1.0\\narch=aarch64\\n' >"$home/aarch64-linux/ascend_toolkit_install.info"
echo >"$home/tools/bishengir/bin/bishengir-compile"
""",
}
RELEASES = {"ascend-toolkit": "8.1.RC1", "cann": "9.1.0"}
HOMES = {"ascend-toolkit": "ascend-toolkit/latest", "cann": "cann-9.1.0"}

SET_ENV = """\
cat >"$ASCEND/ascend-toolkit/set_env.sh" <<TEXT
export ASCEND_HOME_PATH=$home
export PATH=$home/bin:\\$PATH
export LD_LIBRARY_PATH=$home/lib64:\\${LD_LIBRARY_PATH}:$home/devlib
TEXT
"""
"""What a toolkit leaves behind last."""

NNAL = """\
[ -n "$ASCEND_HOME_PATH" ] || exit 9
top="$ASCEND/nnal/atb"
for abi in 0 1; do
    mkdir -p "$top/8.1.RC1/atb/cxx_abi_$abi/lib"
    echo >"$top/8.1.RC1/atb/cxx_abi_$abi/lib/libatb.so"
done
ln -s 8.1.RC1 "$top/latest"
cat >"$top/set_env.sh" <<'TEXT'
export ATB_HOME_PATH=$ASCEND_HOME_PATH/../../nnal/atb/latest/atb/cxx_abi_${1#--cxx_abi=}
TEXT
"""

KERNELS = {
    "ascend-toolkit": """\
mkdir -p "$ASCEND/ascend-toolkit/8.1.RC1/opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b/x"
mkdir -p "$ASCEND/ascend-toolkit/8.1.RC1/opp_kernel"
echo version_dir=8.1.RC1 >"$ASCEND/ascend-toolkit/8.1.RC1/opp_kernel/version.info"
""",
    "cann": """\
mkdir -p "$ASCEND/cann-9.1.0/opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b/x"
mkdir -p "$ASCEND/cann-9.1.0/share/info/ops_math" "$ASCEND/cann-9.1.0/share/info/ops_nn"
echo Version=9.1.0 >"$ASCEND/cann-9.1.0/share/info/ops_math/version.info"
echo Version=2.0 >"$ASCEND/cann-9.1.0/share/info/ops_nn/version.info"
""",
}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where packages are installed: a folder in place of /usr/local/Ascend."""

    root: Path
    ascend: Path
    run: Callable[..., int]

    def install(
        self, component: str, script: str, *, layout: str = "ascend-toolkit", **facts: Any
    ) -> int:
        """The exit code of the program with a package that runs ``script``."""
        package = self.root / f"{component}.run"
        package.write_text(HEAD + script, encoding="utf-8")
        release = RELEASES[layout]
        known = {"release": release, "toolkit": release, "layout": layout, "machine": "aarch64"}
        (self.root / "facts.json").write_text(json.dumps(known | facts), encoding="utf-8")
        return self.run(component, str(package), "", "true")

    def table(self, *, layout: str = "ascend-toolkit", **more: str) -> dict[str, str]:
        """The variables that the scripts set, and ``more``."""
        home = self.ascend / HOMES[layout]
        driver = self.ascend / "driver" / "lib64"
        return {
            "ASCEND_HOME_PATH": str(home),
            "PATH": f"{home}/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": f"{home}/lib64:{driver}",
            **more,
        }


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    module = load("install-cann", monkeypatch)
    ascend, logs = tmp_path / "Ascend", tmp_path / "log"
    monkeypatch.setattr(module, "ASCEND", ascend)
    monkeypatch.setattr(module, "RECORDS", tmp_path / "etc")
    monkeypatch.setattr(module, "FACTS", tmp_path / "facts.json")
    monkeypatch.setattr(module, "BEFORE", tmp_path / "before")
    monkeypatch.setattr(module, "LOGS", (logs, tmp_path / "atb-log"))
    monkeypatch.setenv("ASCEND", str(ascend))
    monkeypatch.setenv("LOGS", str(logs))

    def run(*words: str) -> int:
        try:
            module.main(*words)
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            return int(bool(ended.code))
        return 0

    return Machine(root=tmp_path, ascend=ascend, run=run)


@pytest.mark.parametrize("layout", [*TOOLKITS])
def test_toolkit_and_kernels(machine: Machine, layout: str) -> None:
    script = LOG + TOOLKITS[layout] + SET_ENV
    table = machine.table(layout=layout)
    assert machine.install("toolkit", script, layout=layout, environment=table) == 0
    assert not (machine.root / "log").exists()
    kernels = LOG + KERNELS[layout]
    assert machine.install("kernels", kernels, layout=layout, operators="ascend910b") == 0


def test_nnal_finds_the_toolkit_by_its_environment_and_has_both_abis(machine: Machine) -> None:
    machine.install("toolkit", TOOLKITS["ascend-toolkit"] + SET_ENV)
    home = f"{machine.ascend}/ascend-toolkit/latest/../../nnal/atb/latest/atb/cxx_abi_0"
    assert machine.install("nnal", NNAL, environment=machine.table(ATB_HOME_PATH=home)) == 0


def spoilt(text: str, old: str, new: str = "") -> str:
    assert old in text
    return text.replace(old, new)


OLD, NEW = TOOLKITS["ascend-toolkit"], TOOLKITS["cann"]
BAD = {
    "exit code": (LOG + OLD + SET_ENV + "exit 6\n", "ended with exit code 6"),
    "soft": (LOG + OLD + SET_ENV + SOFT, "log/install.log: [t] [ERROR] a part was not installed"),
    "soft, without a log": (
        OLD + SET_ENV + "echo '[ERROR] pip is missing'\n",
        "the installer's output: [ERROR] pip is missing",
    ),
    "soft, log of NNAL": (
        OLD + SET_ENV + 'mkdir "${LOGS%/*}/atb-log"; echo "[Error]x" >"${LOGS%/*}/atb-log/a.log"\n',
        "atb-log/a.log: [Error]x",
    ),
    "nothing": (LOG, "8.1.RC1; nothing is there."),
    "layout": (LOG + NEW + SET_ENV, "cann-9.1.0."),
    "release": (LOG + spoilt(OLD, "8.1.RC1", "8.2.RC1") + SET_ENV, "ascend-toolkit/8.2.RC1."),
    "part": (LOG + spoilt(OLD, "compiler opp") + SET_ENV, "/opp/version.info"),
    "part of another release": (
        LOG + spoilt(OLD, "8.1.rc1", "8.0.RC3") + SET_ENV,
        "runtime/version.info is of 8.0.RC3, not of 8.1.RC1",
    ),
    "machine": (LOG + spoilt(OLD, "arch=aarch64", "arch=x86_64") + SET_ENV, "has arch x86_64"),
    "no set_env.sh": (LOG + OLD, "ascend-toolkit/set_env.sh"),
}


@pytest.mark.parametrize("case", [*BAD])
def test_an_incomplete_toolkit_is_an_error(
    machine: Machine, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    script, said = BAD[case]
    assert machine.install("toolkit", script) == 1
    lines = capfd.readouterr().err.splitlines()
    assert "ERROR: toolkit 8.1.RC1 is not installed by toolkit.run:" in lines
    found = [line for line in lines if line.startswith("ERROR: ") and said in line]
    assert found, lines


def test_the_last_lines_of_the_log_are_shown(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = 'for i in $(seq 100); do echo "line $i." >>"$LOGS/install.log"; done\n'
    assert machine.install("toolkit", LOG + lines + "exit 1\n") == 1
    said = capfd.readouterr().err
    assert f"the last 40 lines of {machine.root}/log/install.log:\nline 61.\n" in said
    assert "line 100.\n" in said
    assert "line 60." not in said


def test_a_newer_toolkit_without_the_compiler_of_triton(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    script = spoilt(NEW, 'echo >"$home/tools/bishengir/bin/bishengir-compile"\n')
    assert machine.install("toolkit", script + SET_ENV, layout="cann") == 1
    assert "there is no " in (said := capfd.readouterr().err)
    assert "cann-9.1.0/tools/bishengir/bin/bishengir-compile" in said


VARIABLES = {
    "another value": ("ASCEND_HOME_PATH", "/x", "gives ASCEND_HOME_PATH", "ENV would have '/x'"),
    "one too many": ("MORE", "1", "gives MORE no value", "ENV would have '1'"),
}


@pytest.mark.parametrize("case", [*VARIABLES])
def test_a_script_variable_different_from_env_is_an_error(
    machine: Machine, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    name, value, *said = VARIABLES[case]
    environment = {**machine.table(), name: value}
    assert machine.install("toolkit", LOG + OLD + SET_ENV, environment=environment) == 1
    text = capfd.readouterr().err
    assert all(each in text for each in said), text
    assert "cann_environment.json" in text


def test_a_variable_missing_in_env_fails(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    script = OLD + SET_ENV + 'echo "export NEWER=1" >>"$ASCEND/ascend-toolkit/set_env.sh"\n'
    assert machine.install("toolkit", script, environment=machine.table()) == 1
    assert "gives NEWER '1', and ENV would have no value" in capfd.readouterr().err


BAD_KERNELS = {
    "another chip": (KERNELS["ascend-toolkit"].replace("910b", "310p"), "no kernels in"),
    "another release": (
        spoilt(KERNELS["ascend-toolkit"], "=8.1.RC1", "=8.0.RC3"),
        "opp_kernel/version.info is of 8.0.RC3",
    ),
    "no version": (
        spoilt(KERNELS["ascend-toolkit"], "echo version_dir", ": version_dir"),
        "opp_kernel/version.info is of no release",
    ),
}


@pytest.mark.parametrize("case", [*BAD_KERNELS])
def test_invalid_kernels_are_refused(
    machine: Machine, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    machine.install("toolkit", OLD + SET_ENV)
    script, said = BAD_KERNELS[case]
    assert machine.install("kernels", script, operators="ascend910b") == 1
    assert said in capfd.readouterr().err


def test_kernels_of_the_newer_layout_without_a_version(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.install("toolkit", NEW + SET_ENV, layout="cann")
    script = KERNELS["cann"].replace("9.1.0 >", "9.0.0 >")
    assert machine.install("kernels", script, layout="cann", operators="ascend910b") == 1
    assert "ops_math/version.info is of 9.0.0, not of 9.1.0" in capfd.readouterr().err


def with_list(count: int, places: int) -> str:
    """Kernels with a list of ``count`` files, of which so many are placed."""
    rows = [row(f"opp/{number}.o") for number in range(count)]
    return f"""\
cd "$ASCEND/ascend-toolkit/8.1.RC1"
mkdir -p opp_kernel/script
echo OPP_KERNEL_INSTALL_TYPE=full >opp_kernel/ascend_install.info
cat >opp_kernel/script/filelist.csv <<'TEXT'
{file_list(*rows)}TEXT
cd opp
touch $(seq -f %g.o 0 {places - 1})
"""


def test_kernels_without_files_of_their_own_list_are_refused(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.install("toolkit", OLD + SET_ENV)
    script = KERNELS["ascend-toolkit"]
    assert machine.install("kernels", script + with_list(90, 40), operators="ascend910b") == 1
    assert "opp_kernel/script/filelist.csv names 90 files, and lacks opp/40.o" in (
        said := capfd.readouterr().err
    )
    assert "and 45 more." in said
    assert machine.install("kernels", script + with_list(90, 90), operators="ascend910b") == 0


def test_one_missing_file_of_many_is_a_note(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.install("toolkit", OLD + SET_ENV)
    script = KERNELS["ascend-toolkit"] + with_list(90, 89)
    assert machine.install("kernels", script, operators="ascend910b") == 0
    assert "NOTE: " in (said := capfd.readouterr().err)
    assert "lacks opp/89.o. The list may be mistaken." in said


PIP = """\
mkdir -p "$home/aarch64-linux/lib64"
cp "$WHEEL" "$home/aarch64-linux/lib64/"
pip3 install --disable-pip-version-check --upgrade --no-deps --force-reinstall "$WHEEL" @OPTIONS@
"""


@pytest.mark.parametrize("options", ["", '-t "$home/python/site-packages"'])
def test_te_ends_in_the_toolkit_whichever_way_pip_is_called(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    wheel = machine.root / "te-0.4.0-py3-none-any.whl"
    monkeypatch.setenv("WHEEL", str(wheel))
    make_wheel(wheel.parent, "te", "0.4.0")
    home = 'home="$ASCEND/ascend-toolkit/8.1.RC1"\n'
    script = LOG + OLD + home + PIP.replace("@OPTIONS@", options)
    script += 'home="$ASCEND/ascend-toolkit/latest"\n' + SET_ENV
    assert machine.install("toolkit", script) == 0
    assert (machine.ascend / "ascend-toolkit/8.1.RC1/python/site-packages/te").is_dir()


def test_te_that_went_elsewhere_is_an_error(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    script = 'mkdir -p "$ASCEND/ascend-toolkit/8.1.RC1/aarch64-linux/lib64"\n'
    script += (
        'echo >"$ASCEND/ascend-toolkit/8.1.RC1/aarch64-linux/lib64/te-0.4.0-py3-none-any.whl"\n'
    )
    assert machine.install("toolkit", LOG + OLD + script + SET_ENV) == 1
    assert "pip has not installed te-0.4.0-py3-none-any.whl in " in capfd.readouterr().err


def test_a_backup_of_records_is_removed(machine: Machine) -> None:
    records = machine.root / "etc"
    for name in ("20261128_071500", "20261128071500", "notes", "2026"):
        (records / name).mkdir(parents=True)
    (records / "ascend_cann_install.info").touch()
    assert machine.install("toolkit", LOG + OLD + SET_ENV) == 0
    assert {each.name for each in records.iterdir()} == {
        "notes",
        "2026",
        "ascend_cann_install.info",
    }


def test_nnal_with_one_abi(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    machine.install("toolkit", OLD + SET_ENV)
    assert machine.install("nnal", NNAL.replace("in 0 1", "in 0")) == 1
    assert "cxx_abi_1/lib/libatb.so" in capfd.readouterr().err


def test_a_wrong_file_is_not_run(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    machine.install("toolkit", "exit 1\n")
    package = machine.root / "toolkit.run"
    script = HEAD + f"touch {machine.root}/was-run\n"
    digest = hashlib.sha256(script.encode()).hexdigest()
    for text, sha256, simulated, said in (
        ("", "", "", "toolkit.run is empty."),
        (script, "", "", "toolkit.run is a simulated package: add --build-arg SIMULATED=true"),
        (script.replace("# SIM", "# "), "", "true", "is not a simulated package"),
        (script, "ab" * 32, "", f"has the sha256 {digest}, and {'ab' * 32} is expected."),
    ):
        package.write_text(text, encoding="utf-8")
        assert machine.run("toolkit", str(package), sha256, simulated) == 1
        assert said in capfd.readouterr().err
    assert not (machine.root / "was-run").exists()
    package.write_text(script, encoding="utf-8")
    machine.run("toolkit", str(package), digest, "true")
    assert (machine.root / "was-run").exists()


def test_the_layer_is_sealed_where_the_system_before_is_mounted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.root / "before").mkdir()
    program = machine.root / "bin" / "seal-layer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >{machine.root}/sealed\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    script = LOG + TOOLKITS["ascend-toolkit"]
    assert machine.install("toolkit", script) == 1
    assert not (machine.root / "sealed").exists()
    assert machine.install("toolkit", script + SET_ENV) == 0
    assert "--after / --link --only" in (machine.root / "sealed").read_text(encoding="utf-8")
