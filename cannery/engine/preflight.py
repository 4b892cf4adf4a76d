# SPDX-License-Identifier: Apache-2.0
"""Checks whether this host can run an image, and reports all problems at once."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any
from zipimport import zipimporter

from cannery.common.cann_version import CannVersion
from cannery.common.errors import EngineError, Problem
from cannery.common.model import Target
from cannery.common.process import run
from cannery.compat.facts import Compat
from cannery.deploy.run_spec import DRIVER, DRIVER_MOUNTS, RunSpec, ascend_runtime, npus
from cannery.deploy.workload import Workload
from cannery.engine import builder as buildx
from cannery.engine import client as engine
from cannery.engine.containers import stand_ins
from cannery.image.plan import SIMULATED_LABEL
from cannery.image.simulator_spec import DRIVER_MARKER

_DOCTOR = Path(__file__).parents[1] / "image" / "context" / "ascend-doctor"
_CHECK_DRIVER = "Containers need a device there: check the driver of this host."


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The problems that prevent a run, and notes about the host."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def check_host(
    workload: Workload,
    compat: Compat | None,
    *,
    build: str = "",
    program: str = "docker",
    root: Path = Path("/"),
) -> Findings:
    """Check this host, whose files are below ``root``, and its engine, docker or podman.

    ``build`` is the command that builds the image; empty if the image is in a registry.
    """
    findings: list[Problem | str] = []
    if not workload.simulate_host:
        findings += [*_devices(workload, root), *_driver(workload.target, compat, root)]
    of_engine = _podman(workload, build, root) if program == "podman" else _engine(workload, build)
    findings += [*_memory(workload, root), *of_engine]
    return Findings(
        problems=tuple(finding for finding in findings if isinstance(finding, Problem)),
        notes=tuple(finding for finding in findings if isinstance(finding, str)),
    )


def without_runtime(runtimes: frozenset[str]) -> Problem | None:
    """The problem of an engine without ascend-docker-runtime; None if it has this runtime."""
    if "ascend" in runtimes:
        return None
    known = ", ".join(sorted(runtimes))
    return Problem(
        what=f"the engine has no runtime 'ascend'; it has {known}.",
        fix="Install ascend-docker-runtime, or leave out --runtime ascend.",
    )


def _devices(workload: Workload, root: Path) -> Iterator[Problem]:
    # ascend-docker-runtime adds the same devices.
    for path in npus(workload.cards).devices:
        try:
            mode = (root / path.lstrip("/")).stat().st_mode
        except FileNotFoundError:
            fix = "Check that the NPU driver of this host is loaded."
            yield Problem(what=f"{path} is missing.", fix=fix)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            yield Problem(what=f"{path} cannot be accessed: {reason}.", fix=_CHECK_DRIVER)
        else:
            if not stat.S_ISCHR(mode):
                yield Problem(what=f"{path} is not a device.", fix=_CHECK_DRIVER)
            elif mode & 0o600 != 0o600:
                what = f"{path} has no permission for its owner to read and write."
                yield Problem(what=what, fix=_CHECK_DRIVER)


def _driver(target: Target, compat: Compat | None, root: Path) -> Iterator[Problem | str]:
    libraries = root / DRIVER.lstrip("/") / "lib64"
    if not libraries.is_dir():
        what = f"{DRIVER}/lib64 is missing: images contain no driver and use that of the host."
        yield Problem(what=what, fix="Install the NPU driver on this host.")
        return
    if (root / DRIVER_MARKER.lstrip("/")).exists():
        what = f"the driver of this host is simulated ({DRIVER_MARKER}) and cannot use an NPU."
        yield Problem(what=what, fix="Install Huawei's driver, or add --simulate.")
        return
    for path in DRIVER_MOUNTS:
        if not (root / path.lstrip("/")).exists():
            yield f"this host has no {path}, so the container does not get it."
    try:
        text = (root / DRIVER.lstrip("/") / "version.info").read_text("utf-8", "replace")
    except OSError:
        text = ""
    if not (version := _doctor().version_in(text)):
        yield f"{DRIVER}/version.info does not contain the version of the driver."
    elif compat and (judged := judge_driver(version, target, compat)):
        yield judged


def _memory(workload: Workload, root: Path) -> Iterator[Problem | str]:
    try:
        text = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace")
        kilobytes = next(line.split()[1] for line in text.splitlines() if "MemTotal:" in line)
        total = int(kilobytes) * 1024
    except (OSError, StopIteration, IndexError, ValueError):
        return
    if workload.shm.bytes <= total:
        return
    have = f"this host has {total / 2**30:.1f} GiB of memory"
    if workload.simulate_host:
        yield f"{have}, but shared memory may grow to {workload.shm_size}."
        return
    what = f"{have}, but {workload.shm_size} of shared memory were requested."
    yield Problem(what=what, fix="Request less with --shm-size.")


def _engine(workload: Workload, build: str) -> Iterator[Problem]:
    target = workload.target
    try:
        machine, runtimes = engine.machine_and_runtimes()
        if machine != target.machine and not _emulates(target.platform):
            yield _other_machine(machine, target)
        if workload.ascend and (problem := without_runtime(runtimes)):
            yield problem
        if problem := _image(workload, build):
            yield problem
    except EngineError as error:
        yield from error.problems


def _other_machine(machine: str, target: Target) -> Problem:
    what = f"the engine's machine is {machine} and does not emulate {target.machine}, which"
    fix = "Install qemu-user-static, for example with 'bash setup.sh'."
    return Problem(what=f"{what} {target.id} is for.", fix=fix)


def _podman(workload: Workload, build: str, root: Path) -> Iterator[Problem]:
    """As _engine, by podman's program: no service of podman needs to run."""
    target, image = workload.target, workload.image
    machine = os.uname().machine
    emulator = root / f"proc/sys/fs/binfmt_misc/qemu-{target.machine}"
    if machine != target.machine and not emulator.exists():
        yield _other_machine(machine, target)
    code, output = run(["podman", "image", "inspect", "--format", "{{json .}}", image])
    if "{" not in output:
        local, _, reason = output.strip().rpartition("Error: ")
        missing = code and "image not known" in reason
        if not missing:
            what = f"podman reports: {(reason or local).rstrip('.')}."
            yield Problem(what=what, fix="See what 'podman info' says.")
        elif build:
            fix = f"Run: {build}; then: docker save {image} | podman load"
            yield Problem(what=f"podman has no {image}.", fix=fix)
        else:
            fix = f"Run: podman pull --platform {target.platform} {image}"
            yield Problem(what=f"podman has no {image}.", fix=fix)
        return
    # Its warnings, on the other stream, are before or after.
    details, _ = json.JSONDecoder().raw_decode(output, output.index("{"))
    signs = (details.get("Labels") or {}).get(SIMULATED_LABEL) == "true"
    labels = [f"label {SIMULATED_LABEL}=true"] if signs else []
    if problem := _fits(workload, details["Architecture"], lambda: labels):
        yield problem


def _emulates(platform: str) -> bool:
    """Whether the builder of the engine runs programs of ``platform``, or is not known to."""
    nodes = buildx.node_platforms()
    return not nodes or any(platform in node for node in nodes)


def _image(workload: Workload, build: str) -> Problem | None:
    target, image = workload.target, workload.image
    details = engine.image_details(image)
    if not details and build:
        return Problem(what=f"this machine has no {image}.", fix=f"Run: {build}")
    if not details:
        return engine.why_not_pulled(image, target.platform)
    return _fits(workload, details["Architecture"], partial(stand_ins, image, target))


def _fits(
    workload: Workload, architecture: str, signs_of: Callable[[], Sequence[str]]
) -> Problem | None:
    """Why an image of ``architecture`` is not for the workload.

    ``signs_of`` looks for signs of a simulated image.
    """
    target, image = workload.target, workload.image
    if architecture != target.docker_arch:
        what = f"{image} is for {architecture}, but {target.id} is for {target.docker_arch}."
        return Problem(what=what, fix="Name another image.")
    signs = signs_of()
    if signs and not workload.simulate_host:
        what = f"{image} is a simulated image ({', '.join(signs)}) and cannot use an NPU."
        fix = "Add --simulate to run it on the simulated device, or name another image."
        return Problem(what=what, fix=fix)
    if workload.simulate_host and not signs:
        what = f"{image} is not a simulated image, and Huawei's CANN cannot use the simulated"
        return Problem(what=f"{what} driver.", fix="Leave out --simulate.")
    return None


def devices_here(workload: Workload, root: Path = Path("/")) -> RunSpec | None:
    """The cards of ``workload`` and the existing driver files of this host; None if simulated."""
    if workload.simulate_host:
        return None
    whole = ascend_runtime(workload.cards) if workload.ascend else npus(workload.cards)
    return whole.found_below(root)


@cache
def _doctor() -> Any:
    """The module with the order of driver versions, of the ascend-doctor that images get."""
    spec = zipimporter(str(_DOCTOR / "ascend_doctor")).find_spec("driver_version")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_older(version: str, than: str) -> bool | None:
    """Whether ``version`` is older than ``than``; None if the format of one is unknown."""
    answer: bool | None = _doctor().is_older(version, than)
    return answer


def judge_driver(version: str, target: Target, compat: Compat) -> Problem | str:
    """A problem with a host's driver, if every source requires a newer one; or a note about it."""
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    rows = [row for row in compat.drivers if row.cann == CannVersion.parse(cann)]
    if not rows:
        return f"no source names the oldest driver for CANN {cann}; this host has {version}."
    answers = {row: is_older(version, row.minimum) for row in rows}
    if None in answers.values():
        return f"the driver version of this host, {version!r}, has an unknown format."
    refusing = sorted((row for row in rows if answers[row]), key=lambda row: (row.rank, row.line))
    if not refusing:
        if not all(row.maximum and is_older(row.maximum, version) for row in rows):
            return ""
        newest = next(
            row for row in rows if not any(is_older(row.maximum, other.maximum) for other in rows)
        )
        return (
            f"the driver of this host is {version}, and the newest that is known to work with "
            f"CANN {newest.cann} is {newest.maximum} ({newest.cited})."
        )
    needed = refusing[0]
    what = (
        f"the driver of this host is {version}, but CANN {cann} needs {needed.minimum} or newer"
        f" ({needed.cited})"
    )
    if len(refusing) < len(rows):
        return f"{what}; other sources accept this driver."
    fix = "Update the driver of the host, or choose a target with an older CANN."
    return Problem(what=f"{what}.", fix=fix)
