# SPDX-License-Identifier: Apache-2.0
"""The words of a probe: good, cut, mangled, from the shell; and the layouts of CANN."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.common.model import Layout
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.facts import (
    Cann,
    cann_of,
    config_of,
    describe,
    parse_probe,
    record_of,
)
from cannery.verify.auditing import probe_program
from tests.unit.audits import (
    COMPAT,
    DERIVED,
    FACTS,
    FOREIGN,
    HOME,
    KNOWN,
    LATEST,
    OURS,
    PROJECT,
    found_with,
    said,
)
from tests.unit.image.file_lists import row, write_part

PROBE = PROJECT.root / "cannery" / "verify" / "probe"


def test_facts() -> None:
    found = parse_probe(said(FACTS))
    assert (found.machine, found.python, found.versions["torch"]) == ("aarch64", "3.9.2", "2.3.1")
    assert found.cann
    assert (found.cann.toolkit, found.cann.kernels, found.cann.nnal) == ("8.0.T39",) * 3
    assert (found.cann.folder, found.cann.layout) == (HOME, Layout.ASCEND_TOOLKIT)
    assert found.cann.chips == ("910b",)
    assert found.failed == {}


@pytest.mark.parametrize("text", ["", "sh: not found\n", "cannery-probe: ", "cannery-probe: []"])
def test_no_facts(text: str) -> None:
    with pytest.raises(ValueError, match=r"no facts|cannot be read"):
        parse_probe(text)


def test_facts_that_would_take_gigabytes_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 4,194,304 bytes"):
        parse_probe(said({**FACTS, "x": [[]] * 1_200_000}))


def test_a_form_of_a_later_version() -> None:
    with pytest.raises(ValueError, match="unknown form 2"):
        parse_probe(said({"probe": 2}))


def test_a_malformed_fact_costs_no_other() -> None:
    found = found_with(users="nonsense", triton=[1], distributions=7)
    assert {*found.failed} == {"users", "triton", "distributions"}
    assert (found.users, found.versions, found.machine) == ((), {}, "aarch64")


@pytest.mark.slow
def test_mangled_facts_never_raise_anything_else() -> None:
    whole = random.Random(14)
    values: list[object] = [None, 7, "x", [], {}, [[]], {"a": 1}, {"a": {"b": None}}, [None], True]
    values += [{"wheels": 7}, {"held": "x"}, {"torch": [["x", "/"]]}]
    for number in range(1000):
        facts = dict(FACTS)
        for name in whole.sample([*FACTS], 3):
            facts[name] = whole.choice(values)
        text = said(facts)
        if whole.random() < 0.3:
            text = text[: whole.randrange(len(text))]
        try:
            found = parse_probe(text)
        except ValueError:
            continue
        if number % 20:
            continue
        judge_image(found, whole.choice([OURS, DERIVED, FOREIGN]), COMPAT, KNOWN)
        describe(found, DERIVED)
        record_of(found, DERIVED)


def _cann(infos: dict[str, dict[str, str]], homes: dict[str, list[str]], **more: object) -> Cann:
    found = cann_of({"homes": homes, "infos": infos, **more}, {"ASCEND_HOME_PATH": ""})
    assert found
    return found


def test_the_layout_since_8_5() -> None:
    home = "/usr/local/Ascend/cann-9.1.0"
    infos = {
        f"{home}/aarch64-linux/ascend_toolkit_install.info": {"version": "9.1.0"},
        f"{home}/aarch64-linux/ascend_ops_install.info": {"version": "9.1.0"},
    }
    cann = _cann(infos, {home: ["/usr/local/Ascend/cann"]}, operators=["ascend910_93"])
    assert (cann.layout, cann.toolkit, cann.kernels) == (Layout.CANN, "9.1.0", "9.1.0")
    assert cann.chips == ("a3",)


def test_internal_versions_are_no_releases() -> None:
    infos = {
        f"{HOME}/runtime/version.info": {"version": "7.6.0.1.220"},
        f"{HOME}/version.info": {"version": "7.6", "version_dir": "cann-8.0.rc2"},
    }
    assert _cann(infos, {HOME: [LATEST]}).toolkit == "8.0.RC2"


def test_a_toolkit_by_its_version_cfg() -> None:
    infos = {f"{HOME}/version.cfg": {"runtime_running_version": "[7.6.T13.0.B094:8.0.T63]"}}
    assert _cann(infos, {HOME: [LATEST]}).toolkit == "8.0.T63"


def test_the_environment_chooses_one_of_several_toolkits() -> None:
    homes = {"/a/8.0.RC2": ["/a/8.0.RC2"], "/a/8.0.RC3": ["/a/latest"]}
    infos = {
        f"{home}/ascend_toolkit_install.info": {"version": home.rpartition("/")[2]}
        for home in homes
    }
    found = cann_of({"homes": homes, "infos": infos}, {"ASCEND_HOME_PATH": "/a/latest"})
    assert found
    assert (found.toolkit, found.homes) == ("8.0.RC3", ("/a/8.0.RC2", "/a/8.0.RC3"))


@pytest.mark.parametrize("chip", ["910b", "a3", "310p", "910"])
def test_chips(chip: str) -> None:
    folder = {"a3": "ascend910_93"}.get(chip, f"ascend{chip}")
    assert Cann(operators=(folder,)).chips == (chip,)


def _shell(program: str, path: str = "") -> str:
    script = (PROBE / "find_python.sh").read_text(encoding="utf-8")
    argv = ["/bin/sh", "-c", script, "probe", program]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={"PATH": path, "ASCEND_X": "1"}
    )
    return done.stdout


def test_the_probe_runs_on_this_machine() -> None:
    program = probe_program()
    found = parse_probe(_shell(program, str(Path(sys.executable).parent)))
    assert found.python.count(".") == 2
    assert "pytest" in found.versions
    assert found.environment["ASCEND_X"] == "1"
    assert found.failed == {}


def _old_layout(ascend: Path) -> dict[str, str]:
    """CANN before 8.5: latest is a folder of links, and the release's own folder has the files."""
    home = ascend / "ascend-toolkit" / "8.1.RC1"
    kernels = home / "opp" / "built-in" / "op_impl" / "ai_core" / "tbe" / "kernel" / "ascend910b"
    kernels.mkdir(parents=True)
    files = {
        home / "aarch64-linux" / "ascend_toolkit_install.info": "version=8.1.RC1\narch=aarch64\n",
        home / "opp_kernel" / "version.info": "Version=7.7.0\nversion_dir=8.1.RC1\n",
        home / "runtime" / "version.info": "Version=7.7.0\nversion_dir=8.1.RC1\n",
        home / "version.cfg": "runtime_running_version=[7.7.0:8.1.RC1]\n",
        # As a build of NNAL's public sources has it.
        ascend / "nnal" / "atb" / "8.1.RC1" / "version.info": "required_package=x\n",
    }
    older = ascend / "ascend-toolkit" / "8.0.RC3" / "aarch64-linux"
    files[older / "ascend_toolkit_install.info"] = "version=8.0.RC3\narch=aarch64\n"
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    latest = ascend / "ascend-toolkit" / "latest"
    latest.mkdir()
    for each in ("opp", "opp_kernel", "runtime", "aarch64-linux"):
        (latest / each).symlink_to(f"../8.1.RC1/{each}")
    (ascend / "nnal" / "atb" / "latest").symlink_to("8.1.RC1")
    write_part(home, "opp_kernel", row("opp_kernel/a"), row("opp_kernel/b"))
    (home / "opp_kernel/a").touch()
    write_part(older.parent, "opp_kernel", row("opp_kernel/c"))
    return {"ASCEND_HOME_PATH": str(latest)}


def _judged(cann: Cann | None, ascend: Path) -> None:
    assert cann
    assert (cann.toolkit, cann.kernels) == ("8.1.RC1", "8.1.RC1")
    assert (cann.arches, cann.chips, cann.layout) == (
        ("aarch64",),
        ("910b",),
        Layout.ASCEND_TOOLKIT,
    )
    releases = ascend / "ascend-toolkit"
    assert {*cann.homes} == {str(releases / "8.1.RC1"), str(releases / "8.0.RC3")}
    assert cann.folder == str(releases / "8.1.RC1")


def test_latest_is_a_folder_of_links(tmp_path: Path) -> None:
    named = _old_layout(tmp_path)
    program = probe_program()
    program = program.replace('"/usr/local/Ascend"', repr(str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=named
    )
    cann = parse_probe(done.stdout).cann
    _judged(cann, tmp_path)
    assert cann and cann.nnal == "8.1.RC1"
    [listed] = cann.lists
    assert (listed.files, listed.count, listed.missing) == (2, 1, ("opp_kernel/b",))
    assert {*cann.parts.values()} == {"8.1.RC1"}


def _without_python(folder: Path, ascend: str, environment: dict[str, str]) -> str:
    """The output of the probe's shell script where it finds no Python, and CANN in ``ascend``."""
    script = (PROBE / "find_python.sh").read_text(encoding="utf-8")
    # This machine has a Python in one of the places that are tried.
    script = script.replace("for path in /usr/local/python3*", "for path in /nowhere*")
    script = script.replace("/usr/bin/python3.* /opt", "/nowhere /opt")
    script = script.replace("/usr/local/Ascend", ascend)
    (folder / "bin").mkdir()
    for name in ("uname", "id", "env", "readlink"):
        (folder / "bin" / name).symlink_to(f"/usr/bin/{name}")
    env = {"PATH": str(folder / "bin"), **environment}
    argv = ["/bin/sh", "-c", script, "probe", ""]
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout


def test_latest_is_a_folder_of_links_and_there_is_no_python(tmp_path: Path) -> None:
    named = _old_layout(tmp_path)
    found = parse_probe(_without_python(tmp_path, str(tmp_path), named))
    _judged(found.cann, tmp_path)
    assert found.by_shell
    assert found.users[0].name == "root"
    assert "bash" in found.programs


def test_cann_by_the_shell() -> None:
    info = "/usr/local/Ascend/ascend-toolkit/8.0.RC3/aarch64-linux/ascend_toolkit_install.info"
    lines = [
        ("machine", "aarch64"),
        (f"info {info}", "version=8.0.RC3"),
        (f"info {info}", "arch=aarch64"),
        ("operators", "/usr/local/Ascend/x/kernel/ascend910b"),
        ("shell /root/.bashrc", "source set_env.sh"),
        ("user", "ma-user:x:1000:100::/home/ma-user:/bin/bash"),
        ("driver", "/usr/local/Ascend/driver/version.info"),
        ("end", "1"),
    ]
    text = "".join(f"cannery-sh: {key}\t{value}\n" for key, value in lines)
    found = parse_probe(text)
    assert found.cann
    assert (found.cann.toolkit, found.cann.chips) == ("8.0.RC3", ("910b",))
    assert found.shell_files == {"/root/.bashrc": ("source set_env.sh",)}
    assert (found.users[0].uid, found.driver) == (1000, ("/usr/local/Ascend/driver/version.info",))


@pytest.mark.parametrize("name", ["probe.py", "run_check.py"])
def test_programs_for_images_are_old_python(name: str) -> None:
    ast.parse((PROBE / name).read_text(encoding="utf-8"), feature_version=(3, 5))


def test_run_check_stops_a_slow_command() -> None:
    program = (PROBE / "run_check.py").read_text(encoding="utf-8")
    argv = [sys.executable, "-c", program, "echo begun; sleep 60", "0.2"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    answer = json.loads(done.stdout.strip().removeprefix("cannery-ran: "))
    assert (answer["output"], answer["timed_out"]) == ("begun\n", True)
    assert answer["seconds"] < 10


@pytest.mark.parametrize("record", ["[" * 50_000 + "]" * 50_000, "1e400", "NaN", "9" * 5000])
def test_a_deep_or_huge_image_record_is_refused(record: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        parse_probe('cannery-probe: {"probe": 1, "own_record": ' + record + "}")


def test_an_image_writes_no_lines_of_a_log() -> None:
    found = found_with(machine="a\n::error::x", libc="::error::c")
    assert found.machine == "a\\n::error::x"
    assert not found.libc.startswith("::")
    labels = {"a\nb": "c\n::error::d\x1b[2J"}
    own = {"Labels": labels, "ExposedPorts": {"9" * 5000: {}, "\u0661/tcp": {}, "80/tcp": {}}}
    config = config_of("x", {"Config": own}, ["RUN x\n::error::y"])
    assert config.labels == {"a\\nb": "c\\n::error::d\\x1b[2J"}
    assert (config.history, config.ports) == (("RUN x\\n::error::y",), (80,))
