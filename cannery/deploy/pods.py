# SPDX-License-Identifier: Apache-2.0
"""Writes a pod, for Kubernetes and for Volcano.

Sources: kubernetes.io for the API; for Ascend's additions Ascend/mind-cluster@HEAD,
docs/en/scheduling: api/ascend_job.md (shared memory, driver), usage/basic_scheduling/
07_rescheduling_upon_inference_card_faults.md (the device plugin adds the devices in /dev, and the
driver is mounted if there is no ascend-docker-runtime), api/environment_variable_description.md
(MASTER_ADDR, MASTER_PORT, and RANK as the rank of the node).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    MULTI_NODE_MOUNTS,
    NOT_IN_BASE_LIST,
    VISIBLE_TO_CANN,
)
from cannery.deploy.workload import IDLE, Workload

CONTAINER = "ascend"
RENDEZVOUS = 29500
"""The port at which the processes of several nodes meet: torch's default."""

_FOLDERS = ("/usr/local/Ascend/driver", "/usr/local/dcmi")
_SHM = "/dev/shm"  # noqa: S108 - where every Linux has it
_STORAGE = "100Gi"
"""A size that users adapt to their cluster."""

_UNITS = {"": "", "b": "", "k": "Ki", "m": "Mi", "g": "Gi"}
"""docker's units, which are powers of two, as Kubernetes calls them."""

Json = dict[str, Any]


def labels(workload: Workload) -> dict[str, str]:
    """The labels that connect the objects of one text."""
    return {"app.kubernetes.io/name": workload.name}


def pod_spec(
    workload: Workload, *, environment: Sequence[Json], architecture: Mapping[str, str]
) -> Json:
    """The ``spec`` of a pod.

    ``environment`` comes before the variables of every format; ``architecture`` selects nodes.
    """
    found = [*_volumes(workload)]
    container: Json = {
        "name": CONTAINER,
        "image": workload.image,
        "workingDir": workload.folder,
        "args": [literal(word) for word in workload.command or IDLE],
        "env": [*environment, *_environment(workload)],
        "ports": [*_ports(workload)],
        "resources": _resources(workload),
        "securityContext": _security(workload),
        "volumeMounts": [mount for _, mount in found],
    }
    spec: Json = {"restartPolicy": "Never", "nodeSelector": dict(architecture)}
    if workload.nodes > 1:
        spec["affinity"] = _apart(workload)
    spec["containers"] = [{key: value for key, value in container.items() if value}]
    return spec | {"volumes": [volume for volume, _ in found]}


def rendezvous_variables(workload: Workload, *, master: str, index: str) -> list[Json]:
    """Variables with which the nodes find each other.

    ``master`` is the first node's name, ``index`` the annotation that numbers the pods.
    """
    if workload.nodes == 1:
        return []
    rank = {"fieldRef": {"fieldPath": f"metadata.annotations['{index}']"}}
    return [
        variable("MASTER_ADDR", master),
        variable("MASTER_PORT", str(RENDEZVOUS)),
        variable("NNODES", str(workload.nodes)),
        variable("NPROC_PER_NODE", str(len(workload.cards))),
        {"name": "NODE_RANK", "valueFrom": rank},
        {"name": "RANK", "valueFrom": rank},
        # With hostNetwork this is the host's address, which is correct as well.
        {"name": "HCCL_IF_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]


def claims(workload: Workload) -> list[Json]:
    """A claim for each folder of the application with a relative path."""
    mode = "ReadWriteMany" if workload.nodes > 1 else "ReadWriteOnce"
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": _claim(workload, source), "labels": labels(workload)},
            "spec": {"accessModes": [mode], "resources": {"requests": {"storage": _STORAGE}}},
        }
        for source in workload.volumes
        if not source.startswith("/")
    ]


def variable(name: str, value: str) -> Json:
    """A variable of a container."""
    return {"name": name, "value": literal(value)}


def literal(value: str) -> str:
    """``value`` escaped, because Kubernetes replaces ``$(NAME)``."""
    return value.replace("$", "$$")


def _environment(workload: Workload) -> list[Json]:
    found = dict(workload.environment)
    if workload.simulate_host:
        found[VISIBLE_TO_CANN] = ",".join(map(str, workload.cards))
    return [variable(name, value) for name, value in found.items()]


def _ports(workload: Workload) -> Iterator[Json]:
    if workload.nodes > 1:
        yield {"name": "rendezvous", "containerPort": RENDEZVOUS}
    for port in workload.ports:
        yield {"name": f"port-{port}", "containerPort": int(port)}


def _resources(workload: Workload) -> Json:
    if workload.simulate_host:
        return {}
    amount = {workload.chip.resource: len(workload.cards)}
    return {"requests": dict(amount), "limits": dict(amount)}


def _security(workload: Workload) -> Json:
    user, _, group = workload.user.partition(":")
    found: Json = {"runAsUser": int(user)} if user else {}
    if group:
        found["runAsGroup"] = int(group)
    if workload.unprivileged:
        found |= {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
        found["capabilities"] = {"drop": ["ALL"]}
    return found | ({"readOnlyRootFilesystem": True} if workload.read_only else {})


def _apart(workload: Workload) -> Json:
    """The affinity that puts each pod on a different node."""
    term = {
        "labelSelector": {"matchLabels": labels(workload)},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _volumes(workload: Workload) -> Iterator[tuple[Json, Json]]:
    """Each volume and its mount."""
    number, unit = workload.shm.number, workload.shm.unit
    size = {"medium": "Memory", "sizeLimit": f"{number}{_UNITS[unit]}"}
    yield {"name": "shm", "emptyDir": size}, {"name": "shm", "mountPath": _SHM}
    for path in workload.tmpfs:
        name = _word(path)
        yield {"name": name, "emptyDir": {}}, {"name": name, "mountPath": path}
    driver: tuple[str, ...] = NOT_IN_BASE_LIST if workload.ascend else DRIVER_MOUNTS
    if workload.nodes > 1 and not workload.simulate_host:
        driver += MULTI_NODE_MOUNTS
    for path in driver:
        name, source = _word(path.rpartition("/")[2]), f"{workload.simulate_host or ''}{path}"
        kind = "Directory" if path in _FOLDERS else "File"
        yield (
            {"name": name, "hostPath": {"path": source, "type": kind}},
            {"name": name, "mountPath": path, "readOnly": True},
        )
    folders = [*workload.volumes.items(), *workload.mounts.items()]
    for position, (source, where) in enumerate(folders):
        name = f"folder-{position}"
        volume: Json = {"hostPath": {"path": source}}
        if not source.startswith("/"):
            volume = {"persistentVolumeClaim": {"claimName": _claim(workload, source)}}
        yield {"name": name, **volume}, {"name": name, "mountPath": where}


def _claim(workload: Workload, source: str) -> str:
    return f"{workload.name}-{_word(source)}"


def _word(text: str) -> str:
    """``text`` with the characters that are allowed in names of objects."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
