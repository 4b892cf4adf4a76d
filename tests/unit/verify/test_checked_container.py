# SPDX-License-Identifier: Apache-2.0
"""A process that the host could not start says nothing about the image."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from testinfra.backend.docker import DockerBackend

from cannery.common import process
from cannery.common.errors import EngineError, VerificationError
from cannery.common.model import DeviceKind
from cannery.engine import containers
from cannery.engine.containers import NOT_STARTED, is_not_started
from cannery.verify import pytest_report
from cannery.verify import run_checks as verify
from cannery.verify.pytest_report import TRIES, CheckedContainer
from cannery.verify.run_checks import PLUGIN
from tests.unit.audits import PROJECT

pytestmark = pytest.mark.slow

CHECKED = verify.CheckedImage(container="c1", kind=DeviceKind.NONE, name="tiny")

OCI = "OCI runtime exec failed: exec failed: unable to start container process: "

CHECKS = """\
import concurrent.futures

def test_a(host):
    assert host.run("true").rc == 0

def test_b(host):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(host.run, "true").result().rc == 0

def test_c(host):
    assert host.check_output("cat /etc/motd") == "Gr\u00fc\u00dfe"
"""

DOCKER = """\
#!/bin/sh
test "$1 $2 $3" = "exec c1 /bin/sh" || exit 1
case "$5" in
    cat*) printf 'Gr\\303\\274\\303\\237e'; exit 0 ;;
esac
%s
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (126, f"{OCI}exec /bin/sh: bad address: unknown\r\n"),
        (127, f"{OCI}error executing setns process: exit status 1: unknown\n"),
        (255, "exec /bin/sh: bad address\n"),
        (126, "/bin/sh: 1: python3: Bad address\n"),
        (126, "Bad address: /bin/sh"),
    ],
)
def test_the_host_could_not_start_it(code: int, said: str) -> None:
    assert is_not_started(code, said)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (127, "/bin/sh: 1: atc: not found\n"),
        (126, "/bin/sh: 1: /usr/local/bin/pip: Permission denied\n"),
        (126, "/bin/sh: 1: /usr/local/bin/pip: Exec format error\n"),
        (126, f'{OCI}exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown\n'),
        (126, f'{OCI}exec: "/bin/sh": permission denied: unknown\n'),
        (1, "OSError: [Errno 14] Bad address\n"),
        (0, f"{OCI}as a program of the image may print\n"),
        (1, ""),
    ],
)
def test_the_image_is_at_fault(code: int, said: str) -> None:
    assert not is_not_started(code, said)


def docker(monkeypatch: pytest.MonkeyPatch, folder: Path, does: str) -> None:
    """Put a program ``docker`` first in PATH, whose ``exec c1 /bin/sh`` ``does`` this."""
    program = folder / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER % does, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def checks(folder: Path) -> list[str]:
    """The words that select the checks above."""
    (folder / "test_mine.py").write_text(CHECKS, encoding="utf-8")
    return [str(folder / "test_mine.py"), "--rootdir", str(folder)]


@pytest.mark.parametrize("check", ["test_a", "test_b"])
def test_pytest_ends_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check: str) -> None:
    docker(monkeypatch, tmp_path, f"echo '{OCI}exec /bin/sh: bad address: unknown'; exit 126")
    argv = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-k", check]
    argv += [*checks(tmp_path), "--device", "none", "--report", str(tmp_path / "report.json")]
    argv += ["--hosts", "docker://c1"]
    done = subprocess.run(argv, cwd=PROJECT.root, capture_output=True, check=False)
    assert done.returncode == NOT_STARTED, done


def test_an_unstarted_process_is_no_failed_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker(monkeypatch, tmp_path, f"echo '{OCI}exec /bin/sh: bad address: unknown'; exit 126")
    with pytest.raises(EngineError, match=r"could not be started: OCI.*bad address") as caught:
        verify.pytest_in(PROJECT, CHECKED, checks(tmp_path))
    assert "says nothing about the image" in str(caught.value)


def test_an_unstartable_host_shell_ends_the_test_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise OSError(14, "Bad address", "/bin/sh")

    monkeypatch.setattr(DockerBackend, "run", run)
    with pytest.raises(pytest.exit.Exception, match="Bad address: '/bin/sh'") as caught:
        CheckedContainer("c1").run("true")
    assert caught.value.returncode == NOT_STARTED


def test_a_failed_start_of_a_shell_is_retried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = f"echo '{OCI}exec /bin/sh: bad address: unknown'; exit 126"
    calls = tmp_path / "calls"
    last = f"echo x >>{calls}; [ $(wc -l <{calls}) -ge {TRIES} ]"
    docker(monkeypatch, tmp_path, f"{last} || {{ {said}; }}")
    assert CheckedContainer("c1").run("true").rc == 0
    assert calls.read_text(encoding="utf-8").count("x") == TRIES


def test_a_partly_run_command_is_not_retried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    said = f"echo x >>{calls}; echo '/bin/sh: 1: python3: Bad address'; exit 126"
    docker(monkeypatch, tmp_path, said)
    with pytest.raises(pytest.exit.Exception, match="Bad address"):
        CheckedContainer("c1").run("mkdir a && python3")
    assert calls.read_text(encoding="utf-8") == "x\n"


def test_started_checks_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    docker(monkeypatch, tmp_path, "exit 0")
    found = verify.pytest_in(PROJECT, CHECKED, checks(tmp_path))
    assert {each.outcome for each in found} == {"passed"}, found


def test_long_checks_are_named_while_they_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docker(monkeypatch, tmp_path, "sleep 1")
    monkeypatch.setattr(process, "_NOTICE_AFTER", 0.1)
    verify.pytest_in(PROJECT, CHECKED, checks(tmp_path))
    said = capsys.readouterr().err
    assert re.search(r"tiny: check 1 of 3, \S*test_mine.py::test_a \(device: none\)", said)
    assert re.search(r"tiny: check 2 of 3, \S*test_mine.py::test_b \(device: none\)", said)


def test_files_without_any_test_are_no_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker(monkeypatch, tmp_path, "exit 0")
    (tmp_path / "test_mine.py").write_text("def check_a():\n    pass\n", encoding="utf-8")
    words = [str(tmp_path), "--rootdir", str(tmp_path), "--confcutdir", str(tmp_path)]
    with pytest.raises(VerificationError, match=f"no test in the files test_.* of {tmp_path}"):
        verify.pytest_in(PROJECT, CHECKED, words)


def test_a_program_that_prints_without_end_ends_the_checks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker(monkeypatch, tmp_path, "exec yes")
    monkeypatch.setattr(containers, "check_running", lambda _: {})
    found = verify.pytest_in(PROJECT, CHECKED, checks(tmp_path))
    assert {each.outcome for each in found} == {"failed"}
    assert all("stopped, because it printed more than 64 MB" in each.why for each in found)


def test_a_program_that_never_ends_ends_the_checks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docker(monkeypatch, tmp_path, "exec sleep 60")
    monkeypatch.setattr(pytest_report, "SECONDS", 0.3)
    container = CheckedContainer("c1")
    for _ in range(2):
        with pytest.raises(pytest.fail.Exception, match=r"it took more than 0 s: docker exec c1"):
            container.run("true")
