# SPDX-License-Identifier: Apache-2.0
"""What podman's quadlet, Slurm and the program of dev containers make of the printed texts."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cannery.common.references import image_name
from cannery.deploy import formats
from cannery.deploy.user_options import UserOptions
from cannery.deploy.workload import Workload
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.verify.devices import made_host
from tests.formats.goods import COMPUTED, COMPUTES
from tests.programs import need

ROOT = Path(__file__).parents[2]
PROJECT = Project(root=ROOT)
TARGET = PROJECT.matrix().targets["py39-torch231-cann8t39"]
QUADLET = "/usr/local/libexec/podman/quadlet", "/usr/libexec/podman/quadlet"
DEVCONTAINER = ROOT / "npm" / "devcontainer" / "node_modules" / ".bin" / "devcontainer"
ODD = ["echo $HOME", "a 'b' \"c\"", "%h %%", "\\n \\", "line\nline", "$$", ""]


def text(form: str, **more: Any) -> str:
    return formats.text(form, Workload(**{"image": "r.test/a:1", "target": TARGET, **more}))


def run(*argv: str | Path, **env: str) -> str:
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def meant(line: str) -> list[str]:
    """The words of a line that systemd starts; shlex does not know the escapes of C."""
    words = shlex.split(line.replace("\\\\", "\0").replace("\\n", "\n"))
    return [w.replace("\0", "\\").replace("%%", "%").replace("$$", "$") for w in words]


def test_quadlet_starts_the_same_words(tmp_path: Path) -> None:
    asked = UserOptions(variables=('A=%h $x "y"',), ports=("80:80",), network="host", name="one")
    more: dict[str, Any] = {"user": "1000:1001", "read_only": True, "mounts": {"/a": "/b"}}
    whole = [word for word in ODD if word]
    unit = text("quadlet", command=tuple(whole), asked=asked, cards=(0, 1), **more)
    (tmp_path / "one.container").write_text(unit, encoding="utf-8")
    quadlet = need("units of quadlet as podman reads them", *QUADLET)
    said = run(quadlet, "-dryrun", QUADLET_UNIT_DIRS=str(tmp_path))
    [line] = re.findall("^ExecStart=(.*)$", said, re.MULTILINE)
    words = meant(line)
    assert words[-len(whole) - 1 :] == ["r.test/a:1", *whole]
    pairs = [*pairwise(words)]
    for option in (
        *(("--env", 'A=%h $x "y"'), ("--env", "HOME=/tmp"), ("--network", "host")),
        *(("--device", "/dev/davinci1"), ("--shm-size", "16g"), ("--user", "1000:1001")),
        *(("--cap-drop", "all"), ("--publish", "80:80"), ("-v", "/a:/b"), ("--name", "one")),
    ):
        assert option in pairs
    assert {"--read-only", "--init", "--security-opt=no-new-privileges"} <= {*words}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a cluster of two nodes, both on this host."""
    untested = "batch files as Slurm reads them"
    controller, node = need(untested, "slurmctld"), need(untested, "slurmd")
    ports = []
    for _ in range(3):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        f"ClusterName=test\nSlurmctldHost={socket.gethostname().partition('.')[0]}(127.0.0.1)\n"
        "SlurmUser=root\nAuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/pgid\n"
        f"TaskPlugin=task/none\nSlurmctldPort={ports[0]}\nStateSaveLocation={tmp_path}/state\n"
        f"SlurmctldPidFile={tmp_path}/pid\nSlurmdPidFile={tmp_path}/%n.pid\n"
        f"SlurmdSpoolDir={tmp_path}/%n\nSlurmdParameters=config_overrides\n"
        f"NodeName=m1 NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2\n"
        f"NodeName=m2 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2\n"
        "PartitionName=p Nodes=m[1-2] Default=YES State=UP\n",
        encoding="utf-8",
    )
    (tmp_path / "state").mkdir()
    env = {**os.environ, "SLURM_CONF": str(conf)}
    started = []
    try:
        for argv in ([controller, "-D", "-i"], [node, "-D", "-N", "m1"], [node, "-D", "-N", "m2"]):
            with (tmp_path / "log").open("a") as log:
                started.append(subprocess.Popen(argv, env=env, stdout=log, stderr=log))
        until = time.monotonic() + 60
        while "idle m[1-2]" not in " ".join(_output("sinfo", env).split()):
            assert time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.5)
        yield {"SLURM_CONF": str(conf)}
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _output(program: str, env: dict[str, str]) -> str:
    return subprocess.run([program], env=env, capture_output=True, text=True, check=False).stdout


def test_slurm_starts_the_command_once_on_each_node(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    for nodes in (1, 2):
        file = tmp_path / f"{nodes}.sbatch"
        found = text("slurm", nodes=nodes, cards=(0, 1), command=("python3", *ODD))
        file.write_text(found, encoding="utf-8")
        assert f"using {2 * nodes} processors" in run("sbatch", "--test-only", file, **cluster)
    # The same file with a program of this host, because Debian 12 and 13 have no apptainer.
    begin, end = found.index("  apptainer \\\n"), found.index("  docker://")
    end = found.index("\n", end) + 1
    words = 'import os, json, sys; print(json.dumps([os.environ["APPTAINERENV_NODE_RANK"], '
    words += 'os.environ["APPTAINERENV_MASTER_ADDR"], *sys.argv[2:]]))'
    ours = found[:begin] + f"  python3 \\\n  -c \\\n  {shlex.quote(words)} \\\n" + found[end:]
    file.write_text(ours.replace("%x-%j.log", f"{tmp_path}/job.log"), encoding="utf-8")
    run("sbatch", "--wait", file, **cluster)
    lines = sorted((tmp_path / "job.log").read_text(encoding="utf-8").splitlines())
    assert [json.loads(line) for line in lines] == [["0", "m1", *ODD], ["1", "m1", *ODD]]


def test_a_dev_container_has_the_simulated_device(tmp_path: Path) -> None:
    image = image_name(TARGET.id, simulate=True)
    host = made_host(PROJECT, TARGET)
    if not host or not engine.image_id(image):
        pytest.fail(f"{image} is not here; 'nox -s image' builds it")
    (tmp_path / ".devcontainer").mkdir()
    file = tmp_path / ".devcontainer" / "devcontainer.json"
    more: dict[str, Any] = {"image": image, "simulate_host": host, "cards": (0, 1)}
    file.write_text(text("devcontainer", **more), encoding="utf-8")
    where = ("--workspace-folder", tmp_path)
    try:
        run(DEVCONTAINER, "up", *where)
        assert COMPUTED in run(DEVCONTAINER, "exec", *where, *COMPUTES)
    finally:
        label = f"label=devcontainer.local_folder={tmp_path}"
        left = run("docker", "ps", "--all", "--quiet", "--filter", label).split()
        if left:
            run("docker", "rm", "--force", *left)
