# SPDX-License-Identifier: Apache-2.0
"""What is said before, and instead of, a build: no engine can be reached in these tests."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from cannery.matrix.project import Project
from tests.cli.checkout import Checkout
from tests.fetch.run_files import run_file

TARGET = "py39-torch231-cann8t39"
STANDALONE = "py38-torch210-cann8rc2"


def vendor_files(checkout: Checkout, target: str) -> list[str]:
    found = Project(root=checkout.root).matrix().targets[target].artifacts.values()
    return [file.name for file in found]


@pytest.fixture
def artifacts(original: Checkout, tmp_path: Path) -> Path:
    """A folder with a file for every one that the target needs."""
    folder = tmp_path / "vendor"
    folder.mkdir()
    for name in vendor_files(original, TARGET):
        (folder / name).write_bytes(run_file(b"archive\n"))
    return folder


@pytest.mark.parametrize("target", [TARGET, STANDALONE])
def test_missing_files_are_listed_before_any_engine_is_asked(
    original: Checkout, target: str
) -> None:
    before = original.state()
    result = original.run("--target", target)
    folder = original.root / "artifacts"
    names = vendor_files(original, target)
    result.refused(
        5, f"{len(names)} files missing for a real build:", f"Put the files into {folder}"
    )
    told = result.messages[0]
    assert [told.count(name) for name in names] == [1 for _ in names]
    assert ("add --simulate" in result.messages[-1]) == (target == TARGET)
    assert ("nearest public release is 8.0.RC3" in result.messages[-1]) == (target == TARGET)
    assert original.state() == before


def test_artifacts_is_relative_to_the_current_directory(
    original: Checkout, artifacts: Path
) -> None:
    [*_, last] = vendor_files(original, TARGET)
    (artifacts / last).unlink()
    result = original.run("--target", TARGET, "--artifacts", "vendor", cwd=artifacts.parent)
    result.refused(5, "1 file missing for a real build:", f"Put the files into {artifacts}")
    assert last in result.messages[0]


def test_the_problem_of_each_target_is_reported(original: Checkout) -> None:
    result = original.run("--target", "py39-*-cann8???")
    assert result.code == 5
    assert "Traceback" not in result.err
    found = [line for line in result.err.splitlines() if line.startswith("build.py: ")]
    assert [line.split("]")[0] for line in found if "cannot be built" in line] == [
        "build.py: [py39-torch210-cann8rc2",
        "build.py: [py39-torch231-cann8t39",
    ]
    assert len(found) == 3


NOT_RUNNING = "the container engine is not running: "
HOSTS = {
    "unix:///nonexistent/docker.sock": f"{NOT_RUNNING}there is no socket /nonexistent/docker.sock.",
    "tcp://127.0.0.1:9": f"{NOT_RUNNING}nothing answers at tcp://127.0.0.1:9.",
    "nonsense://x": "invalid DOCKER_HOST 'nonsense://x'.",
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "arguments",
    [["build", "--simulate"], ["build", "--artifacts", "../vendor"], ["test"], ["push"]],
)
def test_an_unreachable_engine_is_reported(
    checkout: Checkout, artifacts: Path, arguments: list[str], host: str
) -> None:
    assert artifacts.is_dir()
    before = checkout.state()
    more = ["--registry", "r.test/x"] if arguments == ["push"] else []
    result = checkout.run(*arguments, "--target", TARGET, *more, env={"DOCKER_HOST": host})
    result.refused(6, HOSTS[host])
    assert "DOCKER_HOST" in result.messages[0]
    assert len(result.messages[0]) < 250
    assert checkout.state() == before


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["build", "--simulate"], ["test"]])
def test_an_engine_whose_socket_is_closed_to_this_user(
    program: Checkout, tmp_path: Path, arguments: list[str]
) -> None:
    path = tmp_path / "docker.sock"
    # For root, only the right to ignore the modes of files has to be given up.
    root = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0)
        result = program.start(
            *arguments,
            *("--target", TARGET),
            before=[] if os.geteuid() else root,
            env={"DOCKER_HOST": f"unix://{path}"},
        )
    result.refused(6, f"no permission to use the container engine's socket {path}. Add this user")
    assert len(result.err) < 350
