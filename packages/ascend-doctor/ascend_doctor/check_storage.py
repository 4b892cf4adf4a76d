# SPDX-License-Identifier: Apache-2.0
"""Network drives and proxies."""

from __future__ import annotations

from typing import Iterator

from .machine import Machine
from .table import Found, found

_REMOTE = ("nfs", "nfs4", "cifs", "ceph", "lustre", "beegfs", "glusterfs", "dpc")
_LOCAL = ("localhost", "127.0.0.1")
_ADDRESSES = ("MASTER_ADDR", "HCCL_IF_IP")


def check_drives(machine: Machine) -> Iterator[Found]:
    """Drives that are mounted over the network."""
    for mount in machine.mounts:
        version = mount.options.get("vers") or mount.options.get("nfsvers") or ""
        if mount.kind == "nfs" and not version.startswith("4"):
            yield found("nfs-v3", point=mount.point, version=version or "3")
        elif mount.kind in _REMOTE or (mount.kind.startswith("fuse.") and _is_remote(mount.kind)):
            yield found("nfs-data", point=mount.point, kind=mount.kind)


def _is_remote(kind: str) -> bool:
    return not kind.startswith(("fuse.lxcfs", "fuse.snapfuse", "fuse.gvfsd", "fuse.overlayfs"))


def check_proxies(machine: Machine) -> Iterator[Found]:
    """Proxies that would get the requests between ranks."""
    environment = machine.host.environment
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    used = [name for name in names if environment.get(name)]
    if not used:
        return
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    entries = {entry.strip().lower() for entry in excepted.split(",")}
    needed = [*_LOCAL, *(environment[name] for name in _ADDRESSES if environment.get(name))]
    missing = [host for host in needed if not _covered(host.lower(), entries)]
    if missing:
        yield found("proxy", variable=used[0], missing=", ".join(missing))


def _covered(host: str, entries: set[str]) -> bool:
    if "*" in entries or host in entries:
        return True
    parents = {host[n:] for n, letter in enumerate(host) if letter == "."}
    return bool(entries & (parents | {parent[1:] for parent in parents})) or (
        host == "127.0.0.1" and bool(entries & {"127.0.0.0/8", "127.0.0.1/8"})
    )
