# SPDX-License-Identifier: Apache-2.0
"""Kubernetes with the Ascend device plugin (a Job, a Deployment), and Volcano with Ascend's plugin.

Sources: kubernetes.io, Jobs: the pods of an Indexed Job are called JOB-0, JOB-1, … and numbered in
the annotation batch.kubernetes.io/job-completion-index; with ``subdomain`` and a headless Service
of that name, the address of a pod is JOB-0.SERVICE. volcano-sh/volcano@HEAD, docs/user-guide (the
plugins env, svc and ssh; svc makes a Service of the job's name, in which a pod is found as
JOB-TASK-0.JOB) and pkg/controllers/job (the annotation volcano.sh/task-index, since 1.9).
Ascend/mind-cluster@HEAD, docs/en/scheduling: api/ascend_job.md (shared memory, driver),
usage/basic_scheduling/07_rescheduling_upon_inference_card_faults.md (the device plugin adds the
devices in /dev, and the driver is mounted if there is no ascend-docker-runtime),
api/environment_variable_description.md (MASTER_ADDR, MASTER_PORT, and RANK as the rank of the
node), usage/basic_scheduling/03_full_npu_scheduling_and_static_vnpu_scheduling_training.md, the
samples of a800_pytorch_vcjob.yaml: the ConfigMap rings-config-JOB, the label ring-controller.atlas,
the labels of nodes, and the annotation with the cards for ascend-docker-runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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

RENDEZVOUS = 29500
"""The port at which the processes of several nodes meet: torch's default."""

_FOLDERS = ("/usr/local/Ascend/driver", "/usr/local/dcmi")
_STORAGE = "100Gi"
"""A size that users adapt to their cluster."""

_UNITS = {"": "", "b": "", "k": "Ki", "m": "Mi", "g": "Gi"}
"""docker's units, which are powers of two, in Kubernetes."""

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]", re.ASCII)
_NO_TEXT = {"null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}
"""Words that some YAML parsers do not read as text."""

Json = dict[str, Any]


class _Dumper(yaml.CSafeDumper):
    """Writes in double quotes what some parsers do not read as text, and no references."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXT
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def yaml_text(comment: Iterable[str], documents: Iterable[Any]) -> str:
    """The lines of ``comment``, and ``documents`` separated by ``---``."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment)
    return head + yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=-1
    )


def kubernetes_text(workload: Workload) -> str:
    """A Job, after the claims and the Service that it needs."""
    head = _head(workload, "job")
    labels = _labels(workload)
    environment = _rendezvous(
        workload, f"{workload.name}-0", "batch.kubernetes.io/job-completion-index"
    )
    pod = _pod(workload, environment, {"kubernetes.io/arch": workload.target.docker_arch})
    job: Json = {"backoffLimit": 0}
    ports: list[Json] = [{"name": f"port-{p}", "port": int(p)} for p in workload.ports]
    service: Json = {"selector": labels}
    if workload.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "port": RENDEZVOUS})
        # The nodes connect to each other before they are ready.
        service |= {"clusterIP": "None", "publishNotReadyAddresses": True}
        pod = {"subdomain": workload.name} | pod
        nodes = workload.nodes
        job |= {"completionMode": "Indexed", "completions": nodes, "parallelism": nodes}
    job["template"] = {"metadata": {"labels": labels}, "spec": pod}
    documents = [*_claims(workload)]
    if ports:
        documents.append(_object(workload, "v1", "Service") | {"spec": service | {"ports": ports}})
    documents.append(_object(workload, "batch/v1", "Job") | {"spec": job})
    return yaml_text(head, documents)


def deployment_text(workload: Workload) -> str:
    """A Deployment of one pod, after the claims and the Service that it needs.

    Source: kubernetes.io, Deployments. With Recreate, a new pod waits for the cards of the old one.
    """
    labels = _labels(workload)
    pod = _pod(workload, [], {"kubernetes.io/arch": workload.target.docker_arch})
    served = _served(workload)
    [container] = pod["containers"]
    container["ports"] = [{"name": f"port-{inner}", "containerPort": inner} for _, inner in served]
    # A server may load a model for minutes: until its port answers, no request is sent to it.
    container["readinessProbe"] = {"tcpSocket": {"port": served[0][1]}, "periodSeconds": 10}
    deployment = {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod | {"restartPolicy": "Always"}},
    }
    ports = [
        {"name": f"port-{outer}", "port": outer, "targetPort": inner} for outer, inner in served
    ]
    service = {"spec": {"selector": labels, "ports": ports}}
    documents = [*_claims(workload), _object(workload, "v1", "Service") | service]
    documents.append(_object(workload, "apps/v1", "Deployment") | {"spec": deployment})
    return yaml_text(_head(workload, "deployment"), documents)


def _served(workload: Workload) -> list[tuple[int, int]]:
    """The ports of the Service, each with that of the container; the first tells readiness."""
    named = [text.partition("/")[0].split(":") for text in workload.asked.ports]
    pairs = named or [[port, port] for port in workload.ports]
    return [(int(outer), int(inner)) for outer, inner in pairs]


def _head(workload: Workload, kind: str) -> list[str]:
    head = [
        f"{workload.title}: kubectl apply --filename FILE",
        f"To open a shell in it: kubectl exec --stdin --tty {kind}/{workload.name} -- bash",
    ]
    if workload.chip.resource.endswith("910") and not workload.simulate_host:
        head += [
            f"{workload.chip.resource} counts cards of 910, 910B and A3. If a cluster has several",
            "of them, also select the nodes by a label for the kind of card.",
        ]
    return head


def volcano_text(workload: Workload) -> str:
    """A Job of Volcano, after the claims and the ConfigMap that it needs."""
    head = [
        f"{workload.title}: kubectl apply --filename FILE",
        "For a cluster with Volcano and Ascend's scheduler plugin, whose installation adds the",
        "labels in nodeSelector to the nodes. Compare them with 'kubectl get nodes --show-labels'.",
    ]
    ring = {} if workload.simulate_host else {"ring-controller.atlas": workload.chip.ring}
    labels = _labels(workload) | ring
    plugins: dict[str, list[str]] = {"env": [], "svc": ["--publish-not-ready-addresses=true"]}
    if workload.nodes > 1:
        plugins["ssh"] = []
    job = {
        "minAvailable": workload.nodes,
        "schedulerName": "volcano",
        "queue": "default",
        "plugins": plugins,
        # If one node is lost, the others would wait for it.
        "policies": [
            {"event": "PodFailed", "action": "AbortJob"},
            {"event": "PodEvicted", "action": "RestartJob"},
        ],
        "tasks": [
            {
                "name": "worker",
                "replicas": workload.nodes,
                "template": {"metadata": {"labels": labels}, "spec": _volcano_pod(workload)},
            }
        ],
    }
    documents = [*_claims(workload)]
    if not workload.simulate_host:
        table = _object(workload, "v1", "ConfigMap")
        table["metadata"] |= {"name": f"rings-config-{workload.name}", "labels": labels}
        documents.append(table | {"data": {"hccl.json": '{"status":"initializing"}'}})
    documents.append(_object(workload, "batch.volcano.sh/v1alpha1", "Job") | {"spec": job})
    documents[-1]["metadata"]["labels"] = labels
    return yaml_text(head, documents)


def _volcano_pod(workload: Workload) -> Json:
    environment = _rendezvous(workload, f"{workload.name}-worker-0", "volcano.sh/task-index")
    if workload.ascend:
        chosen = {"fieldPath": f"metadata.annotations['{workload.chip.resource}']"}
        environment.append({"name": VISIBLE_TO_RUNTIME, "valueFrom": {"fieldRef": chosen}})
    if workload.simulate_host:
        return _pod(workload, environment, {"kubernetes.io/arch": workload.target.docker_arch})
    arch = {"arm64": "huawei-arm", "amd64": "huawei-x86"}[workload.target.docker_arch]
    selector = {"host-arch": arch}
    if accelerator := workload.chip.accelerator(len(workload.cards)):
        selector["accelerator-type"] = accelerator
    pod = _pod(workload, environment, selector)
    table = {"name": f"rings-config-{workload.name}"}
    pod["volumes"].append({"name": "rank-table", "configMap": table})
    mount = {"name": "rank-table", "mountPath": RANK_TABLE, "readOnly": True}
    pod["containers"][0]["volumeMounts"].append(mount)
    return pod


def _labels(workload: Workload) -> dict[str, str]:
    """The labels that connect the objects of one text."""
    return {"app.kubernetes.io/name": workload.name}


def _object(workload: Workload, version: str, kind: str) -> Json:
    metadata: Json = {"name": workload.name, "labels": _labels(workload)}
    if namespace := workload.asked.cluster.namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _claims(workload: Workload) -> Iterator[Json]:
    """A claim for each folder of the application with a relative path."""
    mode = "ReadWriteMany" if workload.nodes > 1 else "ReadWriteOnce"
    for source in workload.volumes:
        if not source.startswith("/"):
            claim = _object(workload, "v1", "PersistentVolumeClaim")
            claim["metadata"]["name"] = f"{workload.name}-{_word(source)}"
            resources = {"requests": {"storage": _STORAGE}}
            yield claim | {"spec": {"accessModes": [mode], "resources": resources}}


def _rendezvous(workload: Workload, first: str, index: str) -> list[Json]:
    """Variables with which the nodes find each other.

    ``first`` is the first pod's name, ``index`` the annotation that numbers the pods.
    """
    if workload.nodes == 1:
        return []
    rank = {"fieldRef": {"fieldPath": f"metadata.annotations['{index}']"}}
    return [
        _variable("MASTER_ADDR", f"{first}.{workload.name}"),
        _variable("MASTER_PORT", str(RENDEZVOUS)),
        _variable("NNODES", str(workload.nodes)),
        _variable("NPROC_PER_NODE", str(len(workload.cards))),
        {"name": "NODE_RANK", "valueFrom": rank},
        {"name": "RANK", "valueFrom": rank},
        # With hostNetwork this is the host's address, which is correct as well.
        {"name": "HCCL_IF_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]


def _variable(name: str, value: str) -> Json:
    return {"name": name, "value": literal(value)}


def literal(value: str) -> str:
    """``value`` with escapes for the ``$(NAME)`` of Kubernetes and the ``$NAME`` of Compose."""
    return value.replace("$", "$$")


def _pod(workload: Workload, environment: list[Json], selector: dict[str, str]) -> Json:
    """The ``spec`` of a pod; ``environment`` comes before the variables of every format."""
    variables = {**workload.environment, **workload.asked.environment}
    amount = {workload.chip.resource: len(workload.cards)}
    resources = {"requests": dict(amount), "limits": dict(amount)}
    if workload.simulate_host:
        variables[VISIBLE_TO_CANN] = ",".join(map(str, workload.cards))
        resources = {}
    ports = [{"name": f"port-{port}", "containerPort": int(port)} for port in workload.ports]
    if workload.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "containerPort": RENDEZVOUS})
    volumes = [*_volumes(workload)]
    container: Json = {
        "name": "ascend",
        "image": workload.image,
        "workingDir": workload.folder,
        "args": [literal(word) for word in workload.command or IDLE],
        "env": [*environment, *(_variable(name, value or "") for name, value in variables.items())],
        "ports": ports,
        "resources": resources,
        "securityContext": _security(workload),
        "volumeMounts": [mount for _, mount in volumes],
    }
    spec: Json = {"restartPolicy": "Never", "nodeSelector": selector}
    spec |= workload.asked.cluster.of_pod
    if workload.nodes > 1:  # on different nodes
        labels = {"matchLabels": _labels(workload)}
        term = {"labelSelector": labels, "topologyKey": "kubernetes.io/hostname"}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": required}
    spec["containers"] = [{key: value for key, value in container.items() if value}]
    return spec | {"volumes": [volume for volume, _ in volumes]}


def _security(workload: Workload) -> Json:
    user, _, group = workload.user.partition(":")
    context: Json = {"runAsUser": int(user)} if user else {}
    if group:
        context["runAsGroup"] = int(group)
    if workload.unprivileged:
        context |= {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
        context["capabilities"] = {"drop": ["ALL"]}
    return context | ({"readOnlyRootFilesystem": True} if workload.read_only else {})


def _volumes(workload: Workload) -> Iterator[tuple[Json, Json]]:
    """Each volume and its mount."""
    size = {"medium": "Memory", "sizeLimit": f"{workload.shm.number}{_UNITS[workload.shm.unit]}"}
    yield {"name": "shm", "emptyDir": size}, {"name": "shm", "mountPath": "/dev/shm"}  # noqa: S108
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
            claim = f"{workload.name}-{_word(source)}"
            volume = {"persistentVolumeClaim": {"claimName": claim}}
        yield {"name": name, **volume}, {"name": name, "mountPath": where}


def _word(text: str) -> str:
    """``text`` with the characters that are allowed in names of objects."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
