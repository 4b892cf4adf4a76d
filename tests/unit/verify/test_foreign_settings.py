# SPDX-License-Identifier: Apache-2.0
"""No variable and no file of the user's decides which checks of an image run, or their results."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cannery.building.plan import local_state
from cannery.common.errors import VerificationError
from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import no_device
from cannery.engine import containers
from cannery.engine.images import LocalImage
from cannery.matrix.project import Project
from cannery.verify import run_checks
from cannery.verify.results import report_text
from cannery.verify.run_checks import Subject, checks_in
from cannery.verify.verification import Verification
from tests.unit.matrices import CHECKOUT, load, lock_for, write_facts

CHECKS = {
    "os/test_os.py": "def test_good(facts):\n    assert facts == {'stderr': ''}\n\n"
    "def test_bad():\n    assert False, 'it is bad'\n",
    "torch/test_torch.py": "def test_torch():\n    pass\n",
    "driver/test_driver.py": "import pytest\n\n@pytest.mark.device\ndef test_card():\n    pass\n",
    "sglang/test_sglang.py": "def test_absent():\n    pass\n",
}
NAME = "cannery:full"
GOOD, BAD, TORCH = (
    "os/test_os.py::test_good",
    "os/test_os.py::test_bad",
    "torch/test_torch.py::test_torch",
)
NONE_LEFT = "def pytest_collection_modifyitems(items):\n    items.clear()\n"
ALL_PASS = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout with checks of its own, one of which fails, and a docker that answers them."""
    root = tmp_path / "above" / "checkout"
    root.mkdir(parents=True)
    write_facts(root)
    folder = root / "tests" / "image"
    for name, text in CHECKS.items():
        write(folder / name, text)
    shutil.copy(CHECKOUT / "tests" / "image" / "conftest.py", folder)
    shutil.copytree(CHECKOUT / "tests" / "image" / "probes", folder / "probes")
    write(root / "images" / "full" / "requirements.lock", lock_for(load(tmp_path).targets["full"]))
    docker = write(tmp_path / "bin" / "docker", "#!/bin/sh\necho {}\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=":")
    monkeypatch.setattr(containers, "check_running", lambda _: {})
    return Project(root=root)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def variable(name: str, value: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda _, patch: patch.setenv(name, value)


def file(name: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda root, _: (write(root / name, text), None)[1]


def module(name: str, text: str, **more: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    """A module in PYTHONPATH."""

    def leak(root: Path, patch: pytest.MonkeyPatch) -> None:
        write(root.parent / "modules" / f"{name}.py", text)
        patch.setenv("PYTHONPATH", str(root.parent / "modules"))
        for each, value in more.items():
            patch.setenv(each, value)

    return leak


def elsewhere(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(write(root.parent / "work" / "conftest.py", NONE_LEFT).parent)
    write(root.parent / "work" / "pytest.ini", "[pytest]\naddopts = --collect-only\n")


INI = "[pytest]\naddopts = --collect-only\n"
LEAKS = {
    "PYTEST_ADDOPTS": variable("PYTEST_ADDOPTS", "--deselect tests/image/os -p no:testinfra"),
    "PYTEST_PLUGINS": module("leak", NONE_LEFT, PYTEST_PLUGINS="leak"),
    "a plugin that passes all": module("leak", ALL_PASS, PYTEST_ADDOPTS="-p leak"),
    "sitecustomize": module(
        "sitecustomize", "import os\nos.environ['PYTEST_ADDOPTS'] = '--collect-only'\n"
    ),
    "PYTHONOPTIMIZE": variable("PYTHONOPTIMIZE", "2"),
    "LD_PRELOAD": variable("LD_PRELOAD", "/nonexistent/leak.so"),
    "pytest.ini": file("pytest.ini", INI),
    "pyproject.toml": file("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-k none'\n"),
    "pytest.ini below": file("tests/image/os/pytest.ini", INI),
    "conftest.py": file("conftest.py", NONE_LEFT),
    "conftest.py above": file("../conftest.py", NONE_LEFT),
    "a folder with settings": elsewhere,
}


def outcomes(project: Project) -> dict[str, str]:
    target = load(project.root.parent).targets["full"]
    subject = Subject(target=target, image="sha256:1", name=NAME)
    checks = checks_in(project, subject, "c1", DeviceKind.NONE)
    return {each.name: each.outcome for each in checks if not each.left_out}


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_user_settings_change_no_check(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    leak: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    leak(project.root, monkeypatch)
    assert outcomes(project) == {GOOD: "passed", BAD: "failed", TORCH: "passed"}


CUT_SHORT = {
    "none": NONE_LEFT,
    "one": "def pytest_collection_modifyitems(items):\n    items.pop()\n",
    "skipped": "import pytest\ndef pytest_collection_modifyitems(items):\n"
    "    for each in items:\n        each.add_marker(pytest.mark.left_out('elsewhere'))\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUT_SHORT.values(), ids=CUT_SHORT)
def test_too_few_checks_are_accepted_nowhere(
    project: Project, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    """Not by a build or a test, which call ``check``, nor by a record or a push, which read it."""

    @contextmanager
    def container(*_: object) -> Iterator[str]:
        yield "c1"

    monkeypatch.setattr(containers, "container", container)
    monkeypatch.setattr(run_checks, "stand_ins", lambda *_: ())
    write(project.root / "tests" / "image" / "os" / "test_os.py", "def test_good():\n    pass\n")
    target = load(project.root.parent).targets["full"]
    subject = Subject(target=target, image="sha256:1", name=NAME)
    images = {NAME: LocalImage(id="sha256:1", architecture="arm64", labels={})}
    recorded: list[Verification] = []

    def check() -> None:
        options = run_checks.ImageChecks(record=recorded.append)
        run_checks.check(project, subject, [no_device()], options)

    check()
    assert local_state(project, target, NAME, images).passed == {"none"}
    del recorded[:]
    write(project.root / "tests" / "image" / "os" / "conftest.py", cut)
    before = report_text(project, NAME)
    with pytest.raises(VerificationError, match=r"of 2 checks did not run on device none"):
        check()
    assert recorded == []
    assert report_text(project, NAME) == before
    assert local_state(project, target, NAME, images).passed == frozenset()
