# SPDX-License-Identifier: Apache-2.0
"""The program that takes CANN out of another image."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.image.context_programs import load

ASCEND = "usr/local/Ascend"
OLD = f"{ASCEND}/ascend-toolkit/8.3.RC1"
NEW = f"{ASCEND}/cann-9.1.0"
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel"
COMPONENTS = ("toolkit", "kernels", "nnal")

Take = Callable[[str], dict[str, str]]
"""Makes the layer of a component; returns path to text, or to the target of a link."""


def elf(machine: int) -> str:
    return (b"\x7fELF" + bytes(14) + struct.pack("<H", machine)).decode("latin-1")


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("latin-1"))
    return path


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An image of the vendor's with CANN 8.3.RC1, as its installers leave it."""
    found = tmp_path / "vendor"
    info = "package_name=Ascend-cann-toolkit\nversion=8.3.RC1\narch=aarch64\nos=linux\n"
    write(found / OLD / "aarch64-linux/ascend_toolkit_install.info", info)
    write(found / OLD / "aarch64-linux/lib64/libascendcl.so", elf(183))
    write(found / OLD / "opp_kernel/version.info", "Version=8.3.T5.0.B028\nversion_dir=8.3.RC1\n")
    write(found / OLD / KERNELS / "ascend910b/add/add.o", "operator")
    write(found / OLD / "version.cfg", "runtime_running_version=[1:8.3.RC1]\n")
    link(found / ASCEND / "ascend-toolkit/latest", "8.3.RC1")
    atb = "Ascend-cann-atb : 8.3.RC1\nAscend-cann-atb Version : 8.3.RC1.B010\nPlatform : aarch64\n"
    write(found / ASCEND / "nnal/atb/8.3.RC1/version.info", atb)
    link(found / ASCEND / "nnal/atb/latest", "8.3.RC1")
    write(found / "etc/Ascend/ascend_cann_install.info", "Toolkit_InstallPath=/x\n")
    write(found / "usr/local/python3.11.14/bin/python3.11", "not CANN")
    write(found / "root/.bashrc", "source set_env.sh")
    return found


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("take-cann", monkeypatch, "vendor")


@pytest.fixture
def facts(
    program: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[], dict[str, Any]]:
    def read() -> dict[str, Any]:
        program.main(["facts", str(tree)])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return read


@pytest.fixture
def take(program: ModuleType, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Take:
    def run(component: str) -> dict[str, str]:
        layer = tmp_path / component
        monkeypatch.setattr(program, "LAYER", layer)
        monkeypatch.setattr(program.os, "chown", lambda *_, **__: None)
        program.main(["layer", str(tree), component])
        return texts_in(layer)

    return run


def texts_in(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text(encoding="latin-1")
    return found


def test_facts_of_an_older_release(facts: Callable[[], dict[str, Any]]) -> None:
    assert facts() == {
        "releases": {"toolkit": ["8.3.RC1"], "kernels": ["8.3.RC1"], "nnal": ["8.3.RC1"]},
        "arches": ["aarch64"],
        "operators": ["ascend910b"],
        "stand_ins": [],
        "driver": [],
        "record": True,
    }


def test_facts_of_a_newer_release(facts: Callable[[], dict[str, Any]], tree: Path) -> None:
    for path in (ASCEND, "etc/Ascend"):
        (tree / path).rename(tree / f"{path}-before")
    for package, name in (("toolkit", "toolkit"), ("ops", "910b-ops")):
        text = f"package_name=Ascend-cann-{name}\nversion=9.1.0\narch=x86_64\n"
        write(tree / NEW / f"x86_64-linux/ascend_{package}_install.info", text)
    # In these releases the folder's name in version.info is no version.
    write(tree / NEW / "opp_kernel/version.info", "Version=9.1.0\nversion_dir=cann\n")
    write(tree / NEW / KERNELS / "ascend910_93/add/add.o", "operator")
    write(tree / NEW / "x86_64-linux/lib64/libascendcl.so", elf(62))
    found = facts()
    assert found["releases"] == {"toolkit": ["9.1.0"], "kernels": ["9.1.0"], "nnal": []}
    assert (found["arches"], found["operators"]) == (["x86_64"], ["ascend910_93"])
    assert not found["record"]


def test_facts_of_two_toolkits_and_of_another_machine_s_library(
    facts: Callable[[], dict[str, Any]], tree: Path
) -> None:
    other = f"{ASCEND}/ascend-toolkit/8.1.RC1/aarch64-linux"
    write(tree / other / "ascend_toolkit_install.info", "version=8.1.RC1\narch=aarch64\n")
    write(tree / other / "lib64/libascendcl.so", elf(62))
    found = facts()
    assert found["releases"]["toolkit"] == ["8.1.RC1", "8.3.RC1"]
    assert found["arches"] == ["aarch64", "x86_64"]


def test_stand_ins_and_a_driver_are_reported(
    facts: Callable[[], dict[str, Any]], tree: Path
) -> None:
    write(tree / ASCEND / "simulated/Ascend-cann-toolkit")
    write(tree / ASCEND / "driver/lib64/driver/libascend_hal.so", elf(183))
    write(tree / ASCEND / "driver/version.info", "Version=24.1.rc3\n")
    found = facts()
    assert found["stand_ins"] == [f"{ASCEND}/simulated/Ascend-cann-toolkit"]
    assert found["driver"] == [f"{ASCEND}/driver"]


def test_an_image_without_cann_has_no_facts(
    facts: Callable[[], dict[str, Any]], tree: Path
) -> None:
    (tree / "usr/local/Ascend").rename(tree / "elsewhere")
    assert facts()["releases"] == {"toolkit": [], "kernels": [], "nnal": []}


def test_each_file_of_cann_is_in_exactly_one_layer(take: Take, tree: Path) -> None:
    write(tree / ASCEND / "driver/lib64/driver/libascend_hal.so", elf(183))
    layers = [take(component) for component in COMPONENTS]
    whole = {path: text for layer in layers for path, text in layer.items()}
    assert len(whole) == sum(len(layer) for layer in layers), "a file is in two layers"
    expected = texts_in(tree)
    for path in [*expected]:
        if path.startswith(("root/", "usr/local/python", f"{ASCEND}/driver/")):
            del expected[path]
    assert whole == expected


def test_each_component_gets_its_own_files(take: Take) -> None:
    kernels = {f"{OLD}/opp_kernel/version.info", f"{OLD}/{KERNELS}/ascend910b/add/add.o"}
    assert {*take("kernels")} == kernels
    nnal = {f"{ASCEND}/nnal/atb/8.3.RC1/version.info", f"{ASCEND}/nnal/atb/latest"}
    assert {*take("nnal")} == nnal
    assert "etc/Ascend/ascend_cann_install.info" in take("toolkit")


def test_modes_dates_and_hard_links_are_kept(take: Take, tree: Path, tmp_path: Path) -> None:
    library = tree / OLD / "aarch64-linux/lib64/libascendcl.so"
    library.chmod(0o550)
    os.link(library, library.with_name("libascendcl.so.1"))
    (tree / OLD).chmod(0o750)
    (tree / "usr/local").chmod(0o777)
    empty = tree / OLD / "tools/aml"
    empty.mkdir(parents=True)
    take("toolkit")
    made = tmp_path / "toolkit"
    one = made / OLD / "aarch64-linux/lib64/libascendcl.so.1"
    assert one.stat().st_mode & 0o777 == 0o550
    assert one.samefile(one.with_name("libascendcl.so"))
    assert (made / OLD).stat().st_mode & 0o777 == 0o750
    assert (made / OLD / "tools/aml").is_dir()
    # A folder above CANN is the base's, and must not get the mode of another image's.
    assert (made / "usr/local").stat().st_mode & 0o777 == 0o755


def test_a_missing_component_is_an_error(take: Take, tree: Path) -> None:
    (tree / ASCEND / "nnal").rename(tree / "elsewhere")
    with pytest.raises(SystemExit, match="the image has no nnal"):
        take("nnal")


def fifo(tree: Path) -> str:
    os.mkfifo(tree / OLD / "pipe")
    return f"'/{OLD}/pipe' is a device, a pipe or a socket"


def setuid(tree: Path) -> str:
    write(tree / OLD / "bin/tool").chmod(0o4755)
    return f"'/{OLD}/bin/tool' is setuid or setgid"


def sparse(tree: Path) -> str:
    with write(tree / OLD / "aarch64-linux/lib64/libatb.so").open("r+b") as stream:
        stream.truncate(20 << 30)
    return f"'/{OLD}/aarch64-linux/lib64/libatb.so' has 21,474,836,480 bytes"


def many_large(tree: Path) -> str:
    for number in range(12):
        with write(tree / OLD / f"{number}").open("r+b") as stream:
            stream.truncate(3 << 30)
    return r"more than 1,000,000 files, or 34,359,738,368 bytes"


def usr_is_a_link(tree: Path) -> str:
    (tree / "usr").rename(tree / "system")
    link(tree / "usr", "/usr")
    link(tree / "system/usr", "/")
    return "'/usr' is a link or a file in place of a folder"


def record_is_a_link(tree: Path) -> str:
    (tree / "etc/Ascend").rename(tree / "etc/other")
    link(tree / "etc/Ascend", "other")
    return "'/etc/Ascend' is a link or a file in place of a folder"


HOSTILE = [fifo, setuid, sparse, many_large, usr_is_a_link, record_is_a_link]


@pytest.mark.parametrize("spoil", HOSTILE)
def test_nothing_is_taken_of_an_image_with_what_cann_does_not_have(
    take: Take,
    facts: Callable[[], dict[str, Any]],
    tree: Path,
    tmp_path: Path,
    spoil: Callable[[Path], str],
) -> None:
    what = re.escape(spoil(tree))
    for action in (facts, lambda: take("toolkit")):
        with pytest.raises(SystemExit, match=f"nothing of it is taken: {what}"):
            action()
    assert not (tmp_path / "toolkit").exists()


def test_all_that_cann_does_not_have_is_named_at_once(take: Take, tree: Path) -> None:
    for number in range(30):
        os.mkfifo(tree / OLD / f"pipe{number}")
    with pytest.raises(SystemExit, match=r"pipe0' is .*pipe1' is .*; and 10 more$"):
        take("kernels")


@pytest.mark.parametrize("words", [[], ["facts"], ["layer", "/", "driver"], ["x", "/"]])
def test_wrong_words_show_the_usage(program: ModuleType, words: list[str]) -> None:
    with pytest.raises(SystemExit, match="Usage: take-cann facts TREE"):
        program.main(words)
