# SPDX-License-Identifier: Apache-2.0
"""Writes a Job of Volcano, which starts all nodes or none, for Ascend's scheduler plugin.

Sources: volcano-sh/volcano@HEAD, docs/user-guide (the plugins env, svc and ssh; svc makes a Service
of the job's name, in which a pod is found as JOB-TASK-0.JOB) and pkg/controllers/job (the
annotation volcano.sh/task-index, since 1.9); Ascend/mind-cluster@HEAD, docs/en/scheduling/usage/
basic_scheduling/03_full_npu_scheduling_and_static_vnpu_scheduling_training.md, the samples of
a800_pytorch_vcjob.yaml: the ConfigMap rings-config-JOB, the label ring-controller.atlas, the labels
of nodes, and from where ascend-docker-runtime learns which cards the scheduler has chosen.
"""

from __future__ import annotations

from typing import Any

from cannery.deploy.kubernetes import comment, dump
from cannery.deploy.pods import claims, labels, pod_spec, rendezvous_variables
from cannery.deploy.run_spec import RANK_TABLE, VISIBLE_TO_RUNTIME
from cannery.deploy.workload import Workload

_INDEX = "volcano.sh/task-index"
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
    return comment(*head) + dump([*claims(workload), *_rank_table(workload), _job(workload)])


def _labels(workload: Workload) -> dict[str, str]:
    ring = {} if workload.simulate_host else {_RING: workload.chip.ring}
    return labels(workload) | ring


def _rank_table(workload: Workload) -> list[dict[str, Any]]:
    if workload.simulate_host:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"rings-config-{workload.name}", "labels": _labels(workload)},
            "data": {"hccl.json": '{"status":"initializing"}'},
        }
    ]


def _job(workload: Workload) -> dict[str, Any]:
    plugins: dict[str, list[str]] = {"env": [], "svc": ["--publish-not-ready-addresses=true"]}
    if workload.nodes > 1:
        plugins["ssh"] = []
    task = {
        "name": _TASK,
        "replicas": workload.nodes,
        "template": {"metadata": {"labels": _labels(workload)}, "spec": _pod(workload)},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": workload.name, "labels": _labels(workload)},
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


def _pod(workload: Workload) -> dict[str, Any]:
    environment = rendezvous_variables(
        workload, master=f"{workload.name}-{_TASK}-0.{workload.name}", index=_INDEX
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
