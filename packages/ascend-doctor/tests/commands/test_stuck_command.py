# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor stuck`` with the real py-spy on real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.stuck.py_spy import find_py_spy
from tests.commands.exit_codes import main
from tests.stuck.runs import (
    ALL_REDUCE,
    APART,
    COMPILE,
    IN_KERNEL,
    LOADER,
    SYNCHRONIZE,
    WORK,
    training_run,
)

Said = pytest.CaptureFixture[str]
Wrap = Callable[[str], None]
QUICK = ("--interval", "0")
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "ascend_doctor", "stuck")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
needs_namespaces = pytest.mark.skipif(
    subprocess.run([*APART, "true"], capture_output=True, check=False).returncode != 0,
    reason="this user may make no PID namespace (unshare --pid)",
)


@pytest.fixture(autouse=True, scope="module")
def _may_sample() -> None:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() and scope.exists() and scope.read_text(encoding="ascii").strip() != "0":
        pytest.skip("this user may not read the memory of other processes (ptrace_scope)")


@pytest.fixture
def wrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    """Puts a shell script before py-spy, which is $PY_SPY in it; its arguments are py-spy's."""
    py_spy = find_py_spy()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(script: str) -> None:
        (folder / "py-spy").write_text(f"#!/bin/sh\nPY_SPY={py_spy}\n{script}\n", encoding="utf-8")
        (folder / "py-spy").chmod(0o755)

    return write


def stuck(*words: object) -> int:
    return main(["stuck", *map(str, words)])


def document(capsys: Said, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    assert stuck(*words, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_ranks_in_a_collective_wait_for_the_rank_loading_data(tmp_path: Path, capsys: Said) -> None:
    with training_run(tmp_path, [ALL_REDUCE, ALL_REDUCE, LOADER, ALL_REDUCE]) as run:
        assert stuck(run.launcher) == 0
        said = capsys.readouterr().out
        assert stuck(run.ranks[2], *QUICK) == 0
        alone = capsys.readouterr().out
    assert said.startswith(
        "data: Ranks 0-1, 3: in a collective, waiting for rank 2. "
        "Rank 2: waits for the workers of the data loader.\n"
    )
    assert "ranks 0-1, 3: collective: a collective of torch.distributed; stands still\n" in said
    assert "  > all_reduce (torch/distributed/distributed_c10d.py:5)\n    step (" in said
    assert alone.startswith("data: Rank 2: waits for the workers of the data loader.")


def test_every_other_state(tmp_path: Path, capsys: Said) -> None:
    with training_run(tmp_path, [COMPILE, WORK, SYNCHRONIZE]) as run:
        found = document(capsys, run.launcher)
        native = document(capsys, run.ranks[0], "--native", *QUICK)
    states = {each["rank"]: (each["state"], each["moved"]) for each in found["processes"]}
    assert states[0] == ("compile", False)
    assert states[1][0] == "works"
    assert states[2] == ("device", False)
    assert found["verdict"]["state"] in ("compile", "device")
    assert [each["pid"] for each in found["processes"] if each["rank"] == 0] == [run.ranks[0]]
    functions = [each["function"] for each in native["processes"][0]["threads"][0]["frames"]]
    assert functions.index("wait") > 0
    assert native["verdict"]["state"] == "compile"


def test_a_working_run_is_reported(tmp_path: Path, capsys: Said) -> None:
    with training_run(tmp_path, [WORK, WORK]) as run:
        assert stuck(run.launcher, "--interval", "1") == 0
    assert capsys.readouterr().out.startswith("works: The run works: rank")


def test_dumps_of_two_nodes_are_read_together(tmp_path: Path, capsys: Said) -> None:
    with training_run(tmp_path, [ALL_REDUCE, COMPILE]) as run:
        node = tmp_path / "node1.json"
        node.write_text(json.dumps(document(capsys, run.ranks[0], *QUICK)), encoding="utf-8")
        text = subprocess.run(
            [find_py_spy(), "dump", "--pid", str(run.ranks[1])],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    dump = tmp_path / "node2-rank_1.txt"
    dump.write_text(text, encoding="utf-8")
    assert stuck("--dump", node, dump) == 0
    said = capsys.readouterr().out
    assert said.startswith("compile: Rank 0: in a collective, waiting for rank 1. Rank 1: ")
    assert "> wait (torch/_inductor/async_compile.py:5)" in said


def test_a_rank_ending_during_sampling_is_missing(tmp_path: Path, capsys: Said, wrap: Wrap) -> None:
    with training_run(tmp_path, [ALL_REDUCE, ALL_REDUCE]) as run:
        dying = run.ranks[1]
        wrap(
            f'[ "$3" = {dying} ] && kill -9 {dying} && while grep -q "^State:.[^Z]" '
            f'/proc/{dying}/status; do :; done\nexec "$PY_SPY" "$@"'
        )
        found = document(capsys, run.launcher, *QUICK)
    assert [each["rank"] for each in found["processes"]] == [0]
    [missing] = found["missing"]
    assert (missing["rank"], missing["pid"]) == (1, dying)
    assert "ended before it was sampled" in missing["why"]


def test_a_rank_waiting_in_a_driver_is_shown(tmp_path: Path, capsys: Said) -> None:
    with training_run(tmp_path, [ALL_REDUCE, IN_KERNEL]) as run:
        assert stuck(run.launcher, "--timeout", "2", *QUICK) == 0
    said = capsys.readouterr().out
    assert "waiting for rank 1." in said
    assert (
        "    waits in the kernel, for a driver or a drive: it cannot be stopped\n    call (" in said
    )


def test_a_hanging_py_spy_is_stopped(tmp_path: Path, capsys: Said, wrap: Wrap) -> None:
    wrap("exec sleep 60")
    with training_run(tmp_path, [ALL_REDUCE]) as run:
        assert stuck(run.launcher, "--timeout", "1") == 9
    assert "py-spy did not answer within 1 s and was stopped" in capsys.readouterr().err


def test_py_spy_failures_and_bad_output_are_errors(
    tmp_path: Path, capsys: Said, wrap: Wrap
) -> None:
    with training_run(tmp_path, [ALL_REDUCE]) as run:
        wrap("echo '[{\"pid\": 1}]'")
        assert stuck(run.launcher) == 9
        assert "printed something that is not a dump" in capsys.readouterr().err
        wrap("echo 'Error: a reason' >&2; exit 1")
        assert stuck(run.launcher) == 9
        assert "py-spy failed: Error: a reason" in capsys.readouterr().err


@needs_root
def test_a_user_who_may_not_trace(tmp_path: Path, capsys: Said, wrap: Wrap) -> None:
    wrap('exec setpriv --reuid 65534 --clear-groups "$PY_SPY" "$@"')
    with training_run(tmp_path, [ALL_REDUCE]) as run:
        assert stuck(run.launcher) == 9
        said = capsys.readouterr().err
        assert "(ptrace) was refused" in said
        assert "py-spy dump --pid PID --json >rank0.json" in said
        with as_nobody():
            assert stuck(run.launcher) == 9
    assert "Run it as root or as the user of the run." in capsys.readouterr().err


@contextmanager
def as_nobody() -> Iterator[None]:
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@needs_namespaces
def test_a_container_from_the_host_and_from_inside(tmp_path: Path, capsys: Said) -> None:
    """In a PID namespace of its own, as a container has, with a program that is no child of it."""
    with training_run(tmp_path, [ALL_REDUCE, LOADER], apart=True) as run:
        outside = document(capsys, run.ranks[0], *QUICK)
        inside = subprocess.run(
            ["nsenter", f"--target={run.ranks[0]}", "--pid", "--mount", *PROGRAM, *QUICK],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert [each["rank"] for each in outside["processes"]] == [0, 1]
    assert outside["verdict"]["state"] == "data"
    assert inside.startswith("data: Rank 0: in a collective, waiting for rank 1.")


@needs_namespaces
def test_no_rank_here(capsys: Said) -> None:
    argv = [*APART, *PROGRAM]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no process here has RANK, OMPI_COMM_WORLD_RANK, RANK_ID" in done.stderr


def test_invalid_process_arguments_are_refused(capsys: Said) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert stuck(process.pid) == 9
        assert "it is not a Python process (" in capsys.readouterr().err
        process.kill()
    assert stuck(process.pid) == 2
    assert f"there is no process {process.pid} on this host" in capsys.readouterr().err
    assert stuck(1, "--dump", "x") == 2
    assert stuck("--dump", "x", "--timeout", 1) == 2


def test_unreadable_dumps_are_reported(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "half.json").write_text('[{"pid": 1,', encoding="utf-8")
    assert stuck("--dump", tmp_path / "half.json", tmp_path / "nothing.json") == 9
    said = capsys.readouterr().err
    assert "half.json:1: this is not JSON, or it ends too early. Make it with" in said
    assert "nothing.json" in said
