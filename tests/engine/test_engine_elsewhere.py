# SPDX-License-Identifier: Apache-2.0
"""An engine behind TCP that has none of this machine's files, as with a mounted socket or ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import DRIVER_MOUNTS, no_device, simulated_device
from cannery.deploy.user_options import TRUSTED
from cannery.engine import client, containers
from cannery.engine.containers import container
from cannery.matrix.project import Project
from cannery.verify.run_checks import CheckedImage, pytest_in
from cannery.verify.verification import Check
from tests.faults.base import archive

from .engines import Engine, engine, free_port

PLATFORM = "linux/amd64"
NUMBER = 29
CHECKS = """\
import pytest

@pytest.mark.device
def test_driver(host):
    assert host.check_output("cat /usr/local/Ascend/driver/version.info") == "Version=25.2"

def test_trusted(host):
    assert host.check_output("cat /run/cannery-ca.crt") == "a certificate"
"""


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose place the engine has an empty file system."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, hidden: Path) -> Iterator[Engine]:
    if os.geteuid():
        pytest.fail("an engine of its own needs root")
    folder, port = tmp_path_factory.mktemp("engine"), free_port()
    script = f'mount -t tmpfs none "{hidden}" && exec "$@"'
    own = ("unshare", "--mount", "sh", "-ec", script, "sh")
    tcp = ("--host", f"tcp://127.0.0.1:{port}", "--tls=false")
    with engine(folder, NUMBER, containerd=False, inside=own, options=tcp) as started:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
            client.connect.cache_clear()
            containers.remove_abandoned.cache_clear()
            yield started
        client.connect().close()
        client.connect.cache_clear()
        containers.remove_abandoned.cache_clear()


@pytest.fixture(scope="module")
def image(elsewhere: Engine) -> str:
    argv = ["docker", "import", "--platform", PLATFORM, "-", "elsewhere:1"]
    done = subprocess.run(argv, input=archive("elsewhere"), capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def host(hidden: Path) -> Iterator[Path]:
    """The files of a simulated driver, which only their owner may read."""
    made = hidden / "host"
    for path in DRIVER_MOUNTS:
        file = made / path.lstrip("/") / ("version.info" if path.endswith("driver") else "")
        file = file if file.suffix else made / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("dcmi"):
            file.mkdir()
        else:
            file.write_text("Version=25.2")
    (made / "usr/local/bin/npu-smi").chmod(0o700)
    (made / "usr/local/Ascend/driver").chmod(0o700)
    (made / "usr/local/Ascend/driver/version.info").chmod(0o600)
    (made / "usr/local/Ascend/driver/lib.so").symlink_to("version.info")
    yield made
    shutil.rmtree(made)


@pytest.fixture
def ca(hidden: Path) -> Path:
    (hidden / "real.crt").write_text("a certificate")
    link = hidden / "ca.crt"
    link.unlink(missing_ok=True)
    link.symlink_to("real.crt")
    return link


def said(container_id: str, *words: str) -> str:
    argv = ["docker", "exec", "--user", "1234:1234", container_id, *words]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_container_has_the_files_for_the_checks(image: str, host: Path, ca: Path) -> None:
    with container(image, PLATFORM, simulated_device(host), ca) as name:
        assert said(name, "cat", TRUSTED) == "a certificate"
        for path in ("/usr/local/Ascend/driver/lib.so", "/etc/ascend_install.info"):
            assert said(name, "cat", path) == "Version=25.2"
        said(name, "sh", "-c", "test -x /usr/local/bin/npu-smi && test -d /usr/local/dcmi")
        # The folders above are the image's own.
        said(name, "sh", "-c", "test -r /usr/bin/cat && ! test -w /usr")


def test_checks_pass_there(image: str, host: Path, ca: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(CHECKS)
    words = [str(tmp_path), "--rootdir", str(tmp_path), "--confcutdir", str(tmp_path)]
    project = Project(root=tmp_path)
    outcomes: list[Check] = []
    for spec in (no_device(), simulated_device(host)):
        with container(image, PLATFORM, spec, ca) as name:
            checked = CheckedImage(container=name, kind=DeviceKind(spec.kind), name="x")
            outcomes += pytest_in(project, checked, words)
    assert [(each.outcome, each.left_out) for each in outcomes] == [
        ("not run", "waits"),
        ("passed", ""),
        ("passed", ""),
        ("not run", "elsewhere"),
    ], outcomes
