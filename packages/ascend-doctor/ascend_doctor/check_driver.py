# SPDX-License-Identifier: Apache-2.0
"""The driver, the firmware and CANN: versions, mounts and paths."""

from __future__ import annotations

from typing import Any, Iterator

from .driver_version import is_older
from .machine import DRIVER, FIRMWARE, Machine
from .table import Found, found

_LIBRARIES = ("lib64/driver", "lib64", "lib64/common")
_STUBS = ("devlib", "stub")


def check_driver(machine: Machine) -> Iterator[Found]:
    """The files of the driver, and its version."""
    if not machine.cards and not machine.driver_version:
        return
    host = machine.host
    folders = [f"{DRIVER}/{name}" for name in _LIBRARIES]
    has_library = any(host.exists(folder + "/libascend_hal.so") for folder in folders)
    if not has_library:
        yield found("driver-missing", path=DRIVER)
    version = machine.driver_version
    if not version:
        yield found("driver-version-missing", path=DRIVER + "/version.info")
    elif version.endswith("-sim"):
        yield found("driver-simulated", version=version)
    else:
        yield from _judged(machine, version)
        shown = machine.smi.version
        if shown and shown.lower() != version.lower() and not shown.endswith("-sim"):
            yield found("driver-differs", shown=shown, version=version)
    if not machine.firmware_version and not machine.in_container and machine.cards:
        yield found("firmware-missing", path=FIRMWARE + "/version.info")
    yield from _install_info(machine)
    if machine.cards and not host.names("/usr/local/dcmi"):
        yield found("dcmi-missing")


def _judged(machine: Machine, version: str) -> Iterator[Found]:
    """The driver compared with what the sources say about this CANN."""
    cann = machine.cann
    if not cann:
        return
    rows = driver_rows(machine.facts, cann)
    if not rows:
        yield from _inferred(machine, cann, version)
        return
    older = [(row, is_older(version, row["minimum"])) for row in rows]
    if any(answer is None for _, answer in older):
        yield found("driver-form", version=version)
        return
    refusing = [row for row, answer in older if answer]
    values = {"version": version, "cann": cann}
    if refusing:
        first = refusing[0]
        name = "driver-old" if len(refusing) == len(rows) else "driver-disputed"
        yield found(name, needed=first["minimum"], cited=first["source"], **values)
    elif all(row["maximum"] and is_older(row["maximum"], version) for row in rows):
        first = rows[0]
        yield found("driver-new", needed=first["maximum"], cited=first["source"], **values)


def _inferred(machine: Machine, cann: str, version: str) -> Iterator[Found]:
    """What the releases next to a CANN without a source say."""
    releases = {row["cann"] for row in machine.facts.get("drivers", ())}
    older, newer = _nearest(releases, cann, before=True), _nearest(releases, cann, before=False)
    rows = driver_rows(machine.facts, older) if older else []
    if rows and all(is_older(version, row["minimum"]) for row in rows):
        values = {"cann": cann, "version": version, "older": older}
        needed = {"needed": rows[0]["minimum"], "cited": rows[0]["source"]}
        yield found("driver-old-inferred", **values, **needed)
        return
    rows = driver_rows(machine.facts, newer) if newer else []
    if not rows or any(is_older(version, row["minimum"]) is not False for row in rows):
        yield found("driver-unsourced", cann=cann, version=version)


def _nearest(releases: set[str], cann: str, *, before: bool) -> str:
    """The release that is next to ``cann``; empty if there is none."""
    best = ""
    for each in releases:
        if is_older(each, cann) is not before or is_older(cann, each) is before:
            continue
        if not best or is_older(best, each) is before:
            best = each
    return best


def driver_rows(facts: Any, cann: str) -> list[dict[str, str]]:
    """The rows about the drivers of ``cann``, or of the public release that is nearest to it."""
    nearest = facts.get("nearest_public", {}).get(cann, cann)
    names = {cann.lower(), nearest.lower()}
    return [row for row in facts.get("drivers", ()) if row["cann"].lower() in names]


def _install_info(machine: Machine) -> Iterator[Found]:
    text = machine.host.text("/etc/ascend_install.info")
    for line in (text or "").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "Driver_Install_Path_Param":
            path = value.strip() + "/driver"
            if not machine.host.exists(path + "/version.info"):
                yield found("install-info-stale", path=path)


def check_library_path(machine: Machine) -> Iterator[Found]:
    """LD_LIBRARY_PATH: the real driver has to come before a stub."""
    if not machine.cards:
        return
    path = machine.host.environment.get("LD_LIBRARY_PATH", "")
    folders = [folder.rstrip("/") for folder in path.split(":") if folder]
    driver = [n for n, folder in enumerate(folders) if folder.startswith(DRIVER + "/lib64")]
    for number, folder in enumerate(folders):
        parts = folder.split("/")
        if any(stub in parts for stub in _STUBS) and (not driver or number < driver[0]):
            yield found("stub-first", stub=folder)
            return
    if machine.cann_folder and machine.in_container and not driver:
        yield found("driver-not-on-path", path=DRIVER + "/lib64/driver")


def check_cann(machine: Machine) -> Iterator[Found]:
    """The variables that say where CANN is."""
    environment = machine.host.environment
    for variable in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH"):
        path = environment.get(variable)
        if path and not machine.host.is_folder(path):
            yield found("cann-missing", variable=variable, path=path)
    if "ASCEND_HOME_PATH" not in environment and machine.cann_folder and machine.in_container:
        yield found("cann-unset", path=machine.cann_folder)
    if environment.get("ASCEND_LAUNCH_BLOCKING") == "1":
        yield found("launch-blocking")
