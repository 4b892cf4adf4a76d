# SPDX-License-Identifier: Apache-2.0
"""A pod with what is needed, for Kubernetes and for Volcano.

Sources: kubernetes.io for the API; for what Ascend adds Ascend/mind-cluster@HEAD,
docs/en/scheduling: api/ascend_job.md (shared memory, driver), usage/basic_scheduling/
07_rescheduling_upon_inference_card_faults.md (the device plugin hands over what is in /dev, and the
driver is mounted where ascend-docker-runtime is not), api/environment_variable_description.md
(MASTER_ADDR, MASTER_PORT, and RANK as the rank of the node).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cannery.deploy.run_options import IDLE, RunOptions
from cannery.deploy.run_spec import DRIVER_MOUNTS, NOT_IN_BASE_LIST, VISIBLE_TO_CANN

CONTAINER = "ascend"
RENDEZVOUS = 29500
"""Where the processes of several nodes find each other: torch's own default port."""

MULTI_NODE_MOUNTS = ("/etc/hccn.conf", "/usr/bin/hccn_tool")
"""The addresses of the cards' own network, and the tool for it. Source: vllm-ascend's guides."""

_FOLDERS = ("/usr/local/Ascend/driver", "/usr/local/dcmi")
_SHM = "/dev/shm"  # noqa: S108 - where every Linux has it
_STORAGE = "100Gi"
"""A size to begin with: every cluster has its own storage."""

_UNITS = {"": "", "b": "", "k": "Ki", "m": "Mi", "g": "Gi"}
"""docker's units, which are powers of two, as Kubernetes calls them."""

Json = dict[str, Any]


def labels(options: RunOptions) -> dict[str, str]:
    """By which the objects of one text find each other."""
    return {"app.kubernetes.io/name": options.name}


def pod_spec(
    options: RunOptions, *, environment: Sequence[Json], architecture: Mapping[str, str]
) -> Json:
    """The ``spec`` of a pod.

    ``environment`` is put before what every format has; ``architecture`` selects nodes.
    """
    found = [*_volumes(options)]
    container: Json = {
        "name": CONTAINER,
        "image": options.image,
        "args": [literal(word) for word in options.command or IDLE],
        "env": [*environment, *_environment(options)],
        "ports": [*_ports(options)],
        "resources": _resources(options),
        "volumeMounts": [mount for _, mount in found],
    }
    spec: Json = {"restartPolicy": "Never", "nodeSelector": dict(architecture)}
    if options.nodes > 1:
        spec["affinity"] = _apart(options)
    spec["containers"] = [{key: value for key, value in container.items() if value}]
    return spec | {"volumes": [volume for volume, _ in found]}


def several(options: RunOptions, *, master: str, index: str) -> list[Json]:
    """Variables with which the nodes find each other.

    ``master`` is the first node's name, ``index`` the annotation that numbers the pods.
    """
    if options.nodes == 1:
        return []
    rank = {"fieldRef": {"fieldPath": f"metadata.annotations['{index}']"}}
    return [
        variable("MASTER_ADDR", master),
        variable("MASTER_PORT", str(RENDEZVOUS)),
        variable("NNODES", str(options.nodes)),
        variable("NPROC_PER_NODE", str(len(options.cards))),
        {"name": "NODE_RANK", "valueFrom": rank},
        {"name": "RANK", "valueFrom": rank},
        # Right with hostNetwork too, where it is the host's.
        {"name": "HCCL_IF_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]


def claims(options: RunOptions) -> list[Json]:
    """A claim for each folder of the application that is nowhere in particular."""
    mode = "ReadWriteMany" if options.nodes > 1 else "ReadWriteOnce"
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": _claim(options, source), "labels": labels(options)},
            "spec": {"accessModes": [mode], "resources": {"requests": {"storage": _STORAGE}}},
        }
        for source in options.volumes
        if not source.startswith("/")
    ]


def variable(name: str, value: str) -> Json:
    """A variable of a container."""
    return {"name": name, "value": literal(value)}


def literal(value: str) -> str:
    """``value`` as it must be written to arrive as it is: Kubernetes replaces ``$(NAME)``."""
    return value.replace("$", "$$")


def _environment(options: RunOptions) -> list[Json]:
    found = dict(options.environment)
    if options.simulate_host:
        found[VISIBLE_TO_CANN] = ",".join(map(str, options.cards))
    return [variable(name, value) for name, value in found.items()]


def _ports(options: RunOptions) -> Iterator[Json]:
    if options.nodes > 1:
        yield {"name": "rendezvous", "containerPort": RENDEZVOUS}
    for port in options.ports:
        yield {"name": f"port-{port}", "containerPort": int(port)}


def _resources(options: RunOptions) -> Json:
    if options.simulate_host:
        return {}
    amount = {options.chip.resource: len(options.cards)}
    return {"requests": dict(amount), "limits": dict(amount)}


def _apart(options: RunOptions) -> Json:
    """A node for each pod."""
    term = {
        "labelSelector": {"matchLabels": labels(options)},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _volumes(options: RunOptions) -> Iterator[tuple[Json, Json]]:
    """Each volume, and where it is mounted."""
    number, unit = options.shm
    size = {"medium": "Memory", "sizeLimit": f"{number}{_UNITS[unit]}"}
    yield {"name": "shm", "emptyDir": size}, {"name": "shm", "mountPath": _SHM}
    driver: tuple[str, ...] = NOT_IN_BASE_LIST if options.ascend else DRIVER_MOUNTS
    if options.nodes > 1 and not options.simulate_host:
        driver += MULTI_NODE_MOUNTS
    for path in driver:
        name, source = _word(path.rpartition("/")[2]), f"{options.simulate_host or ''}{path}"
        kind = "Directory" if path in _FOLDERS else "File"
        yield (
            {"name": name, "hostPath": {"path": source, "type": kind}},
            {"name": name, "mountPath": path, "readOnly": True},
        )
    folders = [*options.volumes.items(), *options.mounts.items()]
    for position, (source, where) in enumerate(folders):
        name = f"folder-{position}"
        volume: Json = {"hostPath": {"path": source}}
        if not source.startswith("/"):
            volume = {"persistentVolumeClaim": {"claimName": _claim(options, source)}}
        yield {"name": name, **volume}, {"name": name, "mountPath": where}


def _claim(options: RunOptions, source: str) -> str:
    return f"{options.name}-{_word(source)}"


def _word(text: str) -> str:
    """``text`` in the characters that names of objects may have."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
