# SPDX-License-Identifier: Apache-2.0
"""What can be typed, and what is said to what cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.checkout import Checkout, Result

TARGETS = ["py38-torch210-cann8rc2", "py39-torch210-cann8rc2", "py39-torch231-cann8t39"]
"""Some of those that are there, in the order of the matrix."""


def test_it_works_from_anywhere(original: Checkout, tmp_path: Path) -> None:
    for cwd in (tmp_path, Path("/"), original.root / "cannery"):
        original.run("render", "--check", cwd=cwd).accepted("images/ is in sync")


@pytest.mark.parametrize("arguments", [["list"], ["render", "--check"], ["lst"]])
def test_a_process_says_and_returns_the_same(
    program: Checkout, tmp_path: Path, arguments: list[str]
) -> None:
    asked, started = program.run(*arguments), program.start(*arguments, cwd=tmp_path)
    assert (started.code, started.out) == (asked.code, asked.out)
    assert without_time(started.err) == without_time(asked.err)


def without_time(text: str) -> str:
    return re.sub(r"(?m)^\[ *[0-9.]+ s\]", "[]", text)


WRONG = {
    "a target that is nearly there": (
        ["list", "--target", "py39-torch231-cann8t93"],
        ["there is no target 'py39-torch231-cann8t93'. Did you mean 'py39-torch231-cann8t39'?"],
    ),
    "a target in another case": (
        ["list", "--target", "PY39-*"],
        ["there is no target 'PY39-*'. Upper and lower case differ. Did you mean 'py39-*'?"],
    ),
    "several": (
        ["--target", "py37", "--target", "py39-*", "--target", "nothing*", "--simulate"],
        [
            "there is no target 'py37'. Near it: py37-",
            "there is no target 'nothing*'. 'build.py list' shows all ",
        ],
    ),
    "no target": (
        ["build"],
        [
            "no target is selected. Add the ID of one, --target, --where, --all or "  # noqa: ISC004
            "--from-bundle.",
        ],
    ),
    "a removed command": (
        ["prune", "--registry", "r.test"],
        ["'prune' was removed. Use the registry's own retention; docs/publish.md says what "],
    ),
    "a removed option": (
        ["catalog", "--notes", "x"],
        ["'--notes' was removed. Use 'build.py diff A B' with two files below releases/."],
    ),
    "a certificate that is not there": (
        ["--target", TARGETS[2], "--ca", "/nonexistent"],
        ["there is no file /nonexistent, named with --ca."],
    ),
    "an empty value": (
        ["list", "--target", ""],
        ["argument --target: the value is empty."],
    ),
    "a file without a certificate": (
        ["--target", TARGETS[2], "--ca", sys.executable],
        [f"{sys.executable} has no certificates that can be read: "],
    ),
    "a folder of files that is none": (
        ["--target", TARGETS[2], "--artifacts", "README.md"],
        ["/README.md, named with --artifacts."],
    ),
    "an index that is no address": (
        ["lock", "--index-url", "me:secret@foo"],
        ["argument --index-url: invalid address of a package index. Write it as in https://"],
    ),
    "an image for several targets": (
        ["test", "--target", "py39-*", "--image", "x"],
        ["--image needs a single target; "],
    ),
    "a container of several targets": (
        ["run", "--target", "py39-*-cann8???", "--print"],
        [f"run needs a single target; 2 are selected: {', '.join(TARGETS[1:])}."],
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_use(original: Checkout, arguments: list[str], said: list[str]) -> None:
    before = original.state()
    original.run(*arguments).refused(2, *said)
    assert original.state() == before


@pytest.mark.parametrize("arguments", [[], ["--help"], ["list"], ["list", "--help"]])
def test_a_closed_stdout_pipe_is_no_error(program: Checkout, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        program.argv(*arguments),
        stdout=writer,
        stderr=subprocess.PIPE,
        env=program.environ(),
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_another_broken_pipe_is_an_error(program: Checkout) -> None:
    """As of a connection: the output has its reader, and the command has not done its work."""
    lines = [
        "import sys",
        "from cannery import cli",
        "def broken(*_): raise BrokenPipeError(32, 'Broken pipe')",
        "cli._run = broken",
        "sys.exit(cli.main(['list']))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=program.root,
        env=program.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    Result(code=done.returncode, out=done.stdout, err=done.stderr).refused(9, "broken pipe.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [[], ["--help"], ["list"]])
def test_unwritable_output_is_an_error(program: Checkout, arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            program.argv(*arguments),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=program.environ(),
            check=False,
        )
    Result(code=done.returncode, out="", err=done.stderr).refused(9, "no space left on device")


@pytest.mark.skipif(bool([*Path("/dev").glob("davinci[0-9]*")]), reason="this machine has an NPU")
def test_a_container_where_there_is_no_npu(original: Checkout) -> None:
    original.run("run", "--target", TARGETS[2], "--print").refused(
        6, "this host has no NPU (/dev/davinci*). Add --simulate; or for"
    )


def test_cards_of_this_host_are_not_those_of_a_far_engine(original: Checkout) -> None:
    far = {"DOCKER_HOST": "ssh://me@far"}
    original.run("run", "--target", TARGETS[2], "--print", env=far).refused(
        6, "the engine ssh://me@far is on another host, and the cards are read from this one. Run"
    )
    printed = original.run("run", "--target", TARGETS[2], "--print", "--elsewhere", env=far)
    assert printed.code == 0
    assert "--device /dev/davinci0" in printed.out


@pytest.mark.parametrize(("name", "coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_no_color_and_force_color_are_obeyed(original: Checkout, name: str, coloured: bool) -> None:
    wrong, right = (original.run(*words, env={name: "1"}) for words in (["lst"], ["list"]))
    assert wrong.err.startswith("\x1b[31mbuild.py:\x1b[0m unknown" if coloured else "build.py: unk")
    # What is on stdout is for programs, too.
    assert "\x1b" not in right.out


@pytest.mark.parametrize(("words", "code"), [(["lst"], 2), (["render", "--check"], 0)])
def test_closed_stderr_keeps_exit_code(program: Checkout, words: list[str], code: int) -> None:
    argv = ["bash", "-c", '"$@" 2>&-', "bash", *program.argv(*words)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, env=program.environ(), check=False)
    assert (done.returncode, done.stdout) == (code, b"")
