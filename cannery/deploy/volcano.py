# SPDX-License-Identifier: Apache-2.0
"""What is needed, as a Job of Volcano, which starts all nodes or none, for Ascend's plugin of it.

Sources: volcano-sh/volcano@HEAD, docs/user-guide (the plugins env, svc and ssh; svc makes a Service
of the job's name, in which a pod is found as JOB-TASK-0.JOB) and pkg/controllers/job (the
annotation volcano.sh/task-index, since 1.9); Ascend/mind-cluster@HEAD, docs/en/scheduling/usage/
basic_scheduling/03_full_npu_scheduling_and_static_vnpu_scheduling_training.md, the samples of
a800_pytorch_vcjob.yaml: the ConfigMap rings-config-JOB, the label ring-controller.atlas, the labels
of nodes, and from where ascend-docker-runtime learns which cards the scheduler has chosen.
"""

from __future__ import annotations

from typing import Any

from cannery.deploy.pods import claims, labels, pod_spec, several
from cannery.deploy.run_options import RunOptions
from cannery.deploy.run_spec import VISIBLE_TO_RUNTIME
from cannery.deploy.yaml_text import comment, dump

_INDEX = "volcano.sh/task-index"
_TASK = "worker"
_HOST_ARCH = {"arm64": "huawei-arm", "amd64": "huawei-x86"}
_RING = "ring-controller.atlas"
_RANK_TABLE = "/user/serverid/devindex/config"
"""Where the rank table is that Ascend's operator fills in, for frameworks that ask for one."""


def volcano_text(options: RunOptions) -> str:
    """A Job of Volcano with the ConfigMap and the claims that it needs."""
    head = [
        f"{options.title}: kubectl apply --filename FILE",
        "For a cluster with Volcano and Ascend's scheduler plugin. The labels in nodeSelector are",
        "those that its installation gives to nodes; compare them with 'kubectl get nodes",
        "--show-labels'.",
    ]
    return comment(*head) + dump([*claims(options), *_rank_table(options), _job(options)])


def _labels(options: RunOptions) -> dict[str, str]:
    ring = {} if options.simulate_host else {_RING: options.chip.ring}
    return labels(options) | ring


def _rank_table(options: RunOptions) -> list[dict[str, Any]]:
    if options.simulate_host:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"rings-config-{options.name}", "labels": _labels(options)},
            "data": {"hccl.json": '{"status":"initializing"}'},
        }
    ]


def _job(options: RunOptions) -> dict[str, Any]:
    plugins: dict[str, list[str]] = {"env": [], "svc": ["--publish-not-ready-addresses=true"]}
    if options.nodes > 1:
        plugins["ssh"] = []
    task = {
        "name": _TASK,
        "replicas": options.nodes,
        "template": {"metadata": {"labels": _labels(options)}, "spec": _pod(options)},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": options.name, "labels": _labels(options)},
        "spec": {
            "minAvailable": options.nodes,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": plugins,
            # One node that is lost leaves the others waiting for it.
            "policies": [
                {"event": "PodFailed", "action": "AbortJob"},
                {"event": "PodEvicted", "action": "RestartJob"},
            ],
            "tasks": [task],
        },
    }


def _pod(options: RunOptions) -> dict[str, Any]:
    environment = several(options, master=f"{options.name}-{_TASK}-0.{options.name}", index=_INDEX)
    if options.ascend:
        chosen = {"fieldPath": f"metadata.annotations['{options.chip.resource}']"}
        environment.append({"name": VISIBLE_TO_RUNTIME, "valueFrom": {"fieldRef": chosen}})
    selector = {"kubernetes.io/arch": options.target.docker_arch}
    if not options.simulate_host:
        selector = {"host-arch": _HOST_ARCH[options.target.docker_arch]}
        if accelerator := options.chip.accelerator(len(options.cards)):
            selector["accelerator-type"] = accelerator
    pod = pod_spec(options, environment=environment, architecture=selector)
    if not options.simulate_host:
        table = {"name": f"rings-config-{options.name}"}
        pod["volumes"].append({"name": "rank-table", "configMap": table})
        mount = {"name": "rank-table", "mountPath": _RANK_TABLE, "readOnly": True}
        pod["containers"][0]["volumeMounts"].append(mount)
    return pod
