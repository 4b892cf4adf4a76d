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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    MULTI_NODE_MOUNTS,
    NOT_IN_BASE_LIST,
    RANK_TABLE,
    VISIBLE_TO_CANN,
    VISIBLE_TO_RUNTIME,
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


_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]", re.ASCII)
_ELSE = {"null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}
"""Words that some YAML parsers do not read as text."""


class _Dumper(yaml.CSafeDumper):
    """Writes in double quotes what some parsers do not read as text."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Let nothing be written as a reference to what is equal."""
        return True


def _represent_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _ELSE
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def dump(documents: Iterable[Any]) -> str:
    """The ``documents``, mappings or lists, separated by ``---``."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=-1)


def comment(*lines: str) -> str:
    """The ``lines`` as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


_KUBERNETES_INDEX = "batch.kubernetes.io/job-completion-index"


def kubernetes_text(workload: Workload) -> str:
    """A Job, after the claims and the Service that it needs."""
    return _kubernetes_head(workload) + dump(
        [*claims(workload), *_services(workload), _kubernetes_job(workload)]
    )


def _kubernetes_head(workload: Workload) -> str:
    lines = [
        f"{workload.title}: kubectl apply --filename FILE",
        f"To open a shell in it: kubectl exec --stdin --tty job/{workload.name} -- bash",
    ]
    if workload.chip.resource.endswith("910") and not workload.simulate_host:
        lines += [
            f"{workload.chip.resource} counts cards of 910, 910B and A3. If a cluster has several",
            "of them, also select the nodes by a label for the kind of card.",
        ]
    return comment(*lines)


def _services(workload: Workload) -> list[dict[str, Any]]:
    ports: list[dict[str, Any]] = [{"name": f"port-{p}", "port": int(p)} for p in workload.ports]
    spec: dict[str, Any] = {"selector": labels(workload)}
    if workload.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "port": RENDEZVOUS})
        # The nodes connect to each other before they are ready.
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    if not ports:
        return []
    metadata = {"name": workload.name, "labels": labels(workload)}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return [service | {"spec": spec | {"ports": ports}}]


def _kubernetes_job(workload: Workload) -> dict[str, Any]:
    environment = rendezvous_variables(
        workload, master=f"{workload.name}-0.{workload.name}", index=_KUBERNETES_INDEX
    )
    architecture = {"kubernetes.io/arch": workload.target.docker_arch}
    pod = pod_spec(workload, environment=environment, architecture=architecture)
    spec: dict[str, Any] = {"backoffLimit": 0}
    if workload.nodes > 1:
        pod = {"subdomain": workload.name} | pod
        spec |= {
            "completionMode": "Indexed",
            "completions": workload.nodes,
            "parallelism": workload.nodes,
        }
    spec["template"] = {"metadata": {"labels": labels(workload)}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": workload.name, "labels": labels(workload)},
        "spec": spec,
    }


_VOLCANO_INDEX = "volcano.sh/task-index"
_TASK = "worker"
_HOST_ARCH = {"arm64": "huawei-arm", "amd64": "huawei-x86"}
_RING = "ring-controller.atlas"


def volcano_text(workload: Workload) -> str:
    """A Job of Volcano, after the claims and the ConfigMap that it needs."""
    head = [
        f"{workload.title}: kubectl apply --filename FILE",
        "For a cluster with Volcano and Ascend's scheduler plugin, whose installation adds the",
        "labels in nodeSelector to the nodes. Compare them with 'kubectl get nodes --show-labels'.",
    ]
    return comment(*head) + dump(
        [*claims(workload), *_rank_table(workload), _volcano_job(workload)]
    )


def _volcano_labels(workload: Workload) -> dict[str, str]:
    ring = {} if workload.simulate_host else {_RING: workload.chip.ring}
    return labels(workload) | ring


def _rank_table(workload: Workload) -> list[dict[str, Any]]:
    if workload.simulate_host:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"rings-config-{workload.name}",
                "labels": _volcano_labels(workload),
            },
            "data": {"hccl.json": '{"status":"initializing"}'},
        }
    ]


def _volcano_job(workload: Workload) -> dict[str, Any]:
    plugins: dict[str, list[str]] = {"env": [], "svc": ["--publish-not-ready-addresses=true"]}
    if workload.nodes > 1:
        plugins["ssh"] = []
    task = {
        "name": _TASK,
        "replicas": workload.nodes,
        "template": {
            "metadata": {"labels": _volcano_labels(workload)},
            "spec": _volcano_pod(workload),
        },
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": workload.name, "labels": _volcano_labels(workload)},
        "spec": {
            "minAvailable": workload.nodes,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": plugins,
            # If one node is lost, the others would wait for it.
            "policies": [
                {"event": "PodFailed", "action": "AbortJob"},
                {"event": "PodEvicted", "action": "RestartJob"},
            ],
            "tasks": [task],
        },
    }


def _volcano_pod(workload: Workload) -> dict[str, Any]:
    environment = rendezvous_variables(
        workload, master=f"{workload.name}-{_TASK}-0.{workload.name}", index=_VOLCANO_INDEX
    )
    if workload.ascend:
        chosen = {"fieldPath": f"metadata.annotations['{workload.chip.resource}']"}
        environment.append({"name": VISIBLE_TO_RUNTIME, "valueFrom": {"fieldRef": chosen}})
    selector = {"kubernetes.io/arch": workload.target.docker_arch}
    if not workload.simulate_host:
        selector = {"host-arch": _HOST_ARCH[workload.target.docker_arch]}
        if accelerator := workload.chip.accelerator(len(workload.cards)):
            selector["accelerator-type"] = accelerator
    pod = pod_spec(workload, environment=environment, architecture=selector)
    if not workload.simulate_host:
        table = {"name": f"rings-config-{workload.name}"}
        pod["volumes"].append({"name": "rank-table", "configMap": table})
        mount = {"name": "rank-table", "mountPath": RANK_TABLE, "readOnly": True}
        pod["containers"][0]["volumeMounts"].append(mount)
    return pod
