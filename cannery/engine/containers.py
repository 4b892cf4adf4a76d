# SPDX-License-Identifier: Apache-2.0
"""Containers in which images are checked and read. None is left behind."""

from __future__ import annotations

import re
import tarfile
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import docker
import docker.errors
import requests
from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit

from cannery.common.errors import CanneryError, EngineError, Problem, did_you_mean, file_error
from cannery.common.files import is_gone, own_mark
from cannery.common.model import DeviceKind, Target
from cannery.common.process import run
from cannery.deploy.run_spec import RunSpec
from cannery.deploy.user_options import TRUSTED
from cannery.engine.client import machine_and_runtimes, talking
from cannery.engine.images import ImageFiles
from cannery.image.plan import SIMULATED_LABEL
from cannery.image.simulator_spec import MARK, marked_paths, marker_paths

LABEL_TEST = "io.cannery.test-container"
"""The label of test containers; its value is the mark of the run that created the container."""


@cache
def remove_abandoned() -> None:
    """Remove the test containers of runs that were killed, once in a run."""
    with talking() as client:
        every = client.containers.list(all=True, filters={"label": LABEL_TEST}, ignore_removed=True)
        for one in every:
            if is_gone(str(one.labels.get(LABEL_TEST, ""))):
                _remove(client, str(one.id))


_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What root needs for files and processes of other users; the nodes of NPUs have another owner."""

_PROCESSES = 16384
"""The most processes and threads of a container; eight ranks with their threads have a third."""

MOST_WRITTEN = 20 << 30
"""The most bytes that programs of a container may write; a model of 7 billion weights has 15 GB."""

_MEMORY = 0.75
"""The part of the engine's memory that a container may use, its files in memory included."""


def _limits(memory: int) -> dict[str, Any]:
    """What bounds a container whose programs are not trusted; ``memory`` is the engine's."""
    return {
        "cap_drop": ["ALL"],
        "cap_add": [*_CAPABILITIES],
        "security_opt": ["no-new-privileges"],
        "pids_limit": _PROCESSES,
        "mem_limit": int(memory * _MEMORY),
        "memswap_limit": int(memory * _MEMORY),
        "oom_score_adj": 1000,
        "ulimits": [Ulimit(name="core", soft=0, hard=0)],
        # What the container's first program prints is nobody's to read.
        "log_config": LogConfig(type="none"),
    }


@contextmanager
def container(
    image: str, platform: str, spec: RunSpec, ca: Path | None, network: str = "bridge"
) -> Iterator[str]:
    """The id of a running, idle container of ``image``, which is always removed at the end.

    Its programs are limited, because nobody knows them. ``network`` is one of the engine's, or
    "none". ``ca`` is copied to ``TRUSTED``, and so are the files of a simulated driver: the engine
    may be on another machine, whose files those of an NPU's driver are.
    """
    remove_abandoned()
    name = _new_name()
    is_ours = spec.kind is DeviceKind.SIMULATED
    copies = {**(spec.mounts if is_ours else {}), **({str(ca): TRUSTED} if ca else {})}
    with talking() as client:
        try:
            running = client.containers.create(
                image,
                ["infinity"],
                # What the image starts by itself may need a device, or end at once.
                entrypoint=["sleep"],
                name=name,
                platform=platform,
                labels={LABEL_TEST: own_mark()},
                init=True,
                shm_size=spec.shm_size,
                network_mode=network,
                **_limits(int(client.info().get("MemTotal", 0))),
                devices=[f"{path}:{path}:rwm" for path in spec.devices],
                # As mounts, because a volume would create an empty folder for a missing path.
                mounts=[
                    Mount(target=where, source=source, type="bind", read_only=True)
                    for source, where in ({} if is_ours else spec.mounts).items()
                ],
            )
            if copies:
                with _packed(copies) as archive:
                    running.put_archive("/", archive)
            running.start()
            yield str(running.id)
        except docker.errors.APIError as error:
            what = f"the engine could not run {image}: {error.explanation or error}."
            raise EngineError(what) from error
        finally:
            _remove(client, name)


def require_room(container: str) -> None:
    """Check that the programs of a container have written at most ``MOST_WRITTEN`` bytes.

    Raises:
        EngineError: they have written more.
    """
    with talking() as client:
        [*known] = client.api.containers(filters={"id": container}, size=True)
    written = max((int(one.get("SizeRw") or 0) for one in known), default=0)
    if written > MOST_WRITTEN:
        what = f"programs of the image have written {written:,} bytes to the engine's disk, and "
        what += f"{MOST_WRITTEN:,} are allowed."
        raise EngineError(Problem(what=what, fix="They were stopped, and the files are removed."))


@contextmanager
def _packed(copies: Mapping[str, str]) -> Iterator[IO[bytes]]:
    """An archive of files and folders, source to path in a container, that everybody may read."""

    def for_all(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        member.uid = member.gid = 0
        return member

    with tempfile.TemporaryFile() as made:
        with tarfile.open(fileobj=made, mode="w") as archive:
            for source, where in copies.items():
                try:
                    archive.add(Path(source).resolve(), where, filter=for_all)
                except OSError as error:
                    raise file_error("read", Path(source), error) from error
        made.seek(0)
        yield made


@contextmanager
def unstarted(image: str, platform: str) -> Iterator[Container]:
    """A container of ``image`` that is never started, for reading files; removed at the end."""
    remove_abandoned()
    name = _new_name()
    with talking() as client:
        try:
            yield client.containers.create(
                image, ["true"], name=name, platform=platform, labels={LABEL_TEST: own_mark()}
            )
        finally:
            _remove(client, name)


def check_running(container: str) -> dict[str, Any]:
    """The engine's attributes of a container, which must run."""
    with talking() as client:
        try:
            attributes = dict(client.containers.get(container).attrs)
        except docker.errors.NotFound as error:
            names = [str(one.name) for one in client.containers.list(ignore_removed=True)]
            fix = did_you_mean(container, names) or "No container runs here."
            what = f"there is no container {container}."
            raise EngineError(Problem(what=what, fix=fix)) from error
    state = str(attributes["State"]["Status"])
    if state != "running":
        what = f"the container {container} is not running: it is {state}."
        raise EngineError(Problem(what=what, fix=f"Start it: docker start {container}"))
    return attributes


def _new_name() -> str:
    # Chosen here, because a run that is interrupted while the engine creates a container
    # would not know the id of what it has to remove.
    return f"cannery-test-{uuid.uuid4().hex[:16]}"


def _remove(client: docker.DockerClient, container: str) -> None:
    with suppress(docker.errors.APIError, requests.RequestException):
        client.api.remove_container(container, v=True, force=True)


NOT_STARTED = 70
"""pytest's exit code if the host could not start a process of a check."""

_BY_ENGINE = re.compile(r"\A(?:OCI runtime exec failed: |exec /bin/sh: )")
"""How the engine begins if it could not start the shell of a check."""

_OF_THE_IMAGE = re.compile(r"no such file or directory|permission denied", re.IGNORECASE)
"""What the engine says if the image has no shell that can be started."""

_BY_SHELL = re.compile(r"(?:: Bad address|Bad address: \S+|: Cannot allocate memory)\s*\Z")
"""How the shell ends if the kernel could not start a program, whatever the image holds."""


def shell_not_started(output: str) -> bool:
    """Whether the engine could not start the shell of a command, so that no part of it has run."""
    return bool(_BY_ENGINE.match(output))


def is_not_started(code: int, output: str) -> bool:
    """Whether a command with this exit code and output was not run, for a reason of the host's."""
    if not code:
        return False
    if shell_not_started(output):
        return not _OF_THE_IMAGE.search(output)
    return code in (126, 127) and bool(_BY_SHELL.search(output))


# As in "| 0     910B3               | OK            |", with a border between both for a 950. The
# second row of a device has no name.
_NPU = re.compile(r"^\| *[0-9]+ +(?:\| *)?(?=\S*[A-Za-z])(\S+) *\| *[A-Z]\S* *\|", re.MULTILINE)
_DRIVER = re.compile(r"npu-smi .*Version: *(\S+)")


def hardware(kind: DeviceKind, machine: str) -> str:
    """The hardware of a container for ``machine``, which is uname's name.

    As in ``qemu-aarch64 on x86_64, no NPU`` or ``aarch64, 8 x 910B3, driver 24.1.rc3``.
    """
    local, _ = machine_and_runtimes()
    device = "simulated NPU" if kind is DeviceKind.SIMULATED else "no NPU"
    if kind is DeviceKind.NPU:
        code, output = 1, ""
        with suppress(CanneryError):
            code, output = run(["npu-smi", "info"])
        device = npus("" if code else output)
    return f"{local if local == machine else f'qemu-{machine} on {local}'}, {device}"


def npus(output: str) -> str:
    """The chips and the driver in the output of ``npu-smi info``."""
    counts = Counter(_NPU.findall(output))
    names = [f"{count} x {name}" for name, count in sorted(counts.items())]
    driver = _DRIVER.search(output)
    names += [f"driver {driver[1]}"] if driver else []
    return ", ".join(names) if counts else "NPU of unknown kind"


def stand_ins(image: str, target: Target) -> tuple[str, ...]:
    """The signs that the local image ``image`` of ``target`` is simulated; empty if it is not.

    Signs are a label, files in the image, because a derived image can change the label, and what
    libraries contain, because it may have a part of CANN only.
    """
    with unstarted(image, target.platform) as container:
        return stand_ins_in(container, target)


def stand_ins_in(container: Container, target: Target) -> tuple[str, ...]:
    """The same signs, for a container that was not started."""
    config = container.attrs["Config"]
    is_labelled = (config.get("Labels") or {}).get(SIMULATED_LABEL) == "true"
    signs = [f"label {SIMULATED_LABEL}=true"] if is_labelled else []
    environment = dict(line.split("=", 1) for line in config.get("Env") or () if "=" in line)
    files = ImageFiles(container)
    signs += [path for path in marker_paths(target, environment) if files.exists(path)]
    signs += [path for path in marked_paths(environment) if files.contains(path, MARK)]
    return tuple(signs)
