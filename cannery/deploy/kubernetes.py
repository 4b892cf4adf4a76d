# SPDX-License-Identifier: Apache-2.0
"""What is needed, for Kubernetes with the Ascend device plugin: a Job, and how it is reached.

Source: kubernetes.io, Jobs: an Indexed Job calls its pods JOB-0, JOB-1, … and numbers them in the
annotation batch.kubernetes.io/job-completion-index; with ``subdomain`` and a headless Service of
that name each is found as JOB-0.SERVICE.
"""

from __future__ import annotations

from typing import Any

from cannery.deploy.pods import RENDEZVOUS, claims, labels, pod_spec, several
from cannery.deploy.workload import Workload
from cannery.deploy.yaml_text import comment, dump

_INDEX = "batch.kubernetes.io/job-completion-index"


def kubernetes_text(workload: Workload) -> str:
    """A Job; before it the Service and the claims that it needs, if it needs any."""
    return _head(workload) + dump([*claims(workload), *_services(workload), _job(workload)])


def _head(workload: Workload) -> str:
    lines = [
        f"{workload.title}: kubectl apply --filename FILE",
        f"Go in with: kubectl exec --stdin --tty job/{workload.name} -- bash",
    ]
    if workload.chip.resource.endswith("910") and not workload.simulate_host:
        lines += [
            f"{workload.chip.resource} counts cards of 910, 910B and A3 alike. Where a cluster has",
            "several of them, select nodes by a label that tells them apart, too.",
        ]
    return comment(*lines)


def _services(workload: Workload) -> list[dict[str, Any]]:
    ports: list[dict[str, Any]] = [{"name": f"port-{p}", "port": int(p)} for p in workload.ports]
    spec: dict[str, Any] = {"selector": labels(workload)}
    if workload.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "port": RENDEZVOUS})
        # The nodes look for each other before they are ready.
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    if not ports:
        return []
    metadata = {"name": workload.name, "labels": labels(workload)}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return [service | {"spec": spec | {"ports": ports}}]


def _job(workload: Workload) -> dict[str, Any]:
    environment = several(workload, master=f"{workload.name}-0.{workload.name}", index=_INDEX)
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
