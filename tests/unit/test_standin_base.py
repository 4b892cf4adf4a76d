# SPDX-License-Identifier: Apache-2.0
"""tools/standin-base, with programs in the place of mmdebstrap and docker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools/standin-base"
SETTINGS = "path-exclude=/usr/share/doc/*\npath-exclude=/usr/share/info/*\n"
INTERPRETERS = ("bin/dash", "bin/bash", "usr/bin/perl")
DATE = 1_000_000_000


def write(root: Path, *names: str, text: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A base as mmdebstrap has extracted it."""
    root = tmp_path / "root"
    write(root, "usr/share/doc/bash/copyright", "usr/lib/aarch64-linux-gnu/libssl", text="base")
    write(root, "lib/aarch64-linux-gnu/libc.so.6", text="base")
    write(root, *INTERPRETERS, "etc/apt/apt.conf.d/01", text="base")
    for folder in ("etc/dpkg/dpkg.cfg.d", "usr/share/doc"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        os.utime(root / folder, (DATE, DATE))
    return root


@pytest.fixture
def native(tmp_path: Path) -> Path:
    native = tmp_path / "native"
    names = ("bin/sed", "bin/uname", "usr/bin/dpkg", "usr/bin/dpkg-deb", "usr/bin/openssl")
    libraries = ("lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/libssl.so.1")
    write(native, *INTERPRETERS, *names, *libraries, text="native")
    return native


def hook(stage: str, root: Path, settings: Path, native: Path | str = "") -> None:
    subprocess.run([PROGRAM, "--hook", stage, root, settings, native], check=True)


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }


def test_it_leaves_out_the_paths_as_mmdebstrap_does(tmp_path: Path, root: Path) -> None:
    write(tmp_path, "settings", text=SETTINGS)
    before = files(root)
    del before["usr/share/doc/bash/copyright"]
    hook("extracted", root, tmp_path / "settings")
    assert files(root) == before | {"etc/dpkg/dpkg.cfg.d/99mmdebstrap": SETTINGS}
    for folder in ("etc/dpkg/dpkg.cfg.d", "usr/share/doc"):
        assert (root / folder).stat().st_mtime == DATE


def test_programs_of_this_machine_are_there_until_the_packages_are_installed(
    tmp_path: Path, root: Path, native: Path
) -> None:
    write(tmp_path, "settings", text=SETTINGS)
    hook("extracted", root, tmp_path / "settings", native)
    lent = {path.name for path in (root / ".cannery/bin").iterdir()}
    # dpkg and uname would name this machine's architecture.
    assert lent == {"bash", "dash", "dpkg-deb", "openssl", "perl", "sed"}
    assert (root / "usr/lib/x86_64-linux-gnu/libssl.so.1").is_file()
    assert "/.cannery/bin:" in (root / "etc/apt/apt.conf.d/00cannery").read_text(encoding="utf-8")
    before = files(root)
    hook("essential", root, tmp_path / "settings", native)
    assert {(root / name).read_text(encoding="utf-8") for name in INTERPRETERS} == {"native"}
    hook("installed", root, tmp_path / "settings", native)
    left = {name for name in before if not name.startswith((".cannery", "lib64", "usr/lib/x86"))}
    assert files(root) == {name: before[name] for name in left - {"etc/apt/apt.conf.d/00cannery"}}
    assert not (root / "lib64").exists()
    assert not (root / "usr/lib/x86_64-linux-gnu").exists()


DEB822 = """\
Types: deb
# the main archive
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
"""
UNUSED = """\
Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm bookworm-updates bookworm-security
Components: main

Types: deb
URIs: http://disabled.example/debian
Suites: bookworm bookworm-updates bookworm-security
Components: main
Enabled: no
"""
LINES = """\
deb-src http://sources.example/debian trixie main
deb [signed-by=/k] http://tools.example/apt cloud-bookworm main
deb [arch=amd64] http://mirror.example/debian trixie main
# deb http://elsewhere.example/debian trixie main
deb\thttp://mirror.example/security  trixie-security  main
"""
MIRRORS = [
    "deb http://mirror.example/debian bullseye main",
    "deb http://mirror.example/debian bullseye-updates main",
    "deb http://mirror.example/security bullseye-security main",
]


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sources of this machine's apt."""
    if not shutil.which("apt-get"):
        pytest.skip("this machine has no apt")
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    (folder / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{folder}/sources.list";\n'
        f'Dir::Etc::sourceparts "{folder}/sources.list.d";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(folder / "apt.conf"))
    return folder


def sources(suite: str) -> list[str]:
    argv = [str(PROGRAM), "--sources", suite]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list.d/debian.sources", DEB822), ("sources.list", LINES)],
)
def test_a_stand_in_gets_security_updates(apt: Path, name: str, text: str) -> None:
    (apt / name).write_text(text, encoding="utf-8")
    assert sources("bullseye") == MIRRORS


def test_disabled_stanzas_and_those_of_sources_are_not_used(apt: Path) -> None:
    (apt / "sources.list.d" / "a.sources").write_text(UNUSED, encoding="utf-8")
    assert sources("bullseye") == []
    (apt / "sources.list.d" / "b.sources").write_text(DEB822, encoding="utf-8")
    assert sources("bullseye") == MIRRORS


def test_a_machine_of_another_distribution_has_no_mirror_of_debian(apt: Path) -> None:
    text = "deb http://mirror.example/ubuntu jammy main\n"
    (apt / "sources.list").write_text(text, encoding="utf-8")
    assert sources("bullseye") == []


OTHER_PROGRAM = f"""#!{sys.executable}
import json, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
name = Path(sys.argv[0]).name
with (here / f"{{name}}.calls").open("a") as calls:
    print(json.dumps(words), file=calls)
hooks = [word.split() for word in words if word.startswith("--extract-hook=")]
for hook in hooks:
    (here / "settings").write_text(Path(hook[-2]).read_text())
if (here / "no-updates").exists() and "-security" in words[-1]:
    sys.exit("E: no such suite")
if (here / "no-mirror").exists():
    sys.exit("E: the mirror does not answer")
"""


@pytest.fixture
def programs(tmp_path: Path, apt: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with mmdebstrap and docker, on a machine for amd64."""
    (apt / "sources.list").write_text(LINES, encoding="utf-8")
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("mmdebstrap", "docker"):
        (folder / name).write_text(OTHER_PROGRAM, encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "dpkg").write_text("#!/bin/sh\necho amd64\n", encoding="utf-8")
    (folder / "dpkg").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def make(suite: str = "bookworm", architecture: str = "arm64") -> tuple[int, str]:
    """The exit code and the output."""
    argv = [str(PROGRAM), suite, architecture, f"example:{suite}"]
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def calls(programs: Path, name: str) -> list[list[str]]:
    """The words of each call of a program."""
    lines = (programs / f"{name}.calls").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_stand_in_has_the_settings_of_debian_s_slim_images(programs: Path) -> None:
    assert make() == (0, "")
    [words] = calls(programs, "mmdebstrap")
    assert words[-3:] == [line.replace("bullseye", "bookworm") for line in MIRRORS]
    assert '--aptopt=Acquire::Languages "none"' in words
    settings = (programs / "settings").read_text(encoding="utf-8").splitlines()
    assert {"path-exclude=/usr/share/doc/*", "force-unsafe-io"} <= {*settings}
    [imported] = calls(programs, "docker")
    assert imported[:3] == ["import", "--platform", "linux/arm64"]
    assert "LABEL io.cannery.bootstrap=bookworm" in imported
    assert imported[-1] == "example:bookworm"


def test_a_mirror_without_updates_is_named_and_used(programs: Path) -> None:
    (programs / "no-updates").touch()
    code, said = make()
    assert code == 0
    assert said == (
        "the mirror of this machine has no complete updates of Debian bookworm, so the stand-in "
        "has no security updates\n"
    )
    _, last = calls(programs, "mmdebstrap")
    assert (last[-3], last[-1]) == ("bookworm", MIRRORS[0].replace("bullseye", "bookworm"))


def test_an_unreachable_mirror_is_an_error(programs: Path) -> None:
    (programs / "no-mirror").touch()
    code, said = make()
    assert code == 1
    assert "E: the mirror does not answer" in said
    assert not (programs / "docker.calls").exists()


def test_a_login_of_a_mirror_is_in_no_base_and_no_message(programs: Path, apt: Path) -> None:
    text = "deb http://name:hunter2@mirror.test/debian bookworm main\n"
    (apt / "sources.list").write_text(text, encoding="utf-8")
    code, said = make()
    assert code == 1
    assert "has a login, which would stay in the base; name one without a login there" in said
    assert "hunter2" not in said
    assert not (programs / "mmdebstrap.calls").exists()


@pytest.mark.parametrize(
    ("suite", "architecture", "count"),
    [("bullseye", "amd64", 1), ("bullseye", "arm64", 2), ("bookworm", "arm64", 1)],
)
def test_programs_of_this_machine_help_only_where_a_base_of_bullseye_is_emulated(
    programs: Path, suite: str, architecture: str, count: int
) -> None:
    assert make(suite, architecture) == (0, "")
    first, *others = calls(programs, "mmdebstrap")
    assert len(others) == count - 1
    assert ({"--variant=extract", "--architectures=amd64"} <= {*first}) == (count == 2)
    hooks = [word for words in others for word in words if "--hook essential" in word]
    assert len(hooks) == count - 1


def test_the_error_without_mmdebstrap_names_apt_get_install(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "realpath"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    code, said = make()
    assert (code, "mmdebstrap is not installed; 'apt-get install" in said) == (1, True)
