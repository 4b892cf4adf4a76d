# SPDX-License-Identifier: Apache-2.0
"""What is needed, for Kubernetes with the Ascend device plugin: a Job, and how it is reached.

Source: kubernetes.io, Jobs: an Indexed Job calls its pods JOB-0, JOB-1, … and numbers them in the
annotation batch.kubernetes.io/job-completion-index; with ``subdomain`` and a headless Service of
that name each is found as JOB-0.SERVICE.
"""

from __future__ import annotations

from typing import Any

from cannery.hosting.needs import Needs
from cannery.hosting.pods import RENDEZVOUS, claims, labels, pod_spec, several
from cannery.hosting.yaml_text import comment, dump

_INDEX = "batch.kubernetes.io/job-completion-index"


def kubernetes_text(needs: Needs) -> str:
    """A Job; before it the Service and the claims that it needs, if it needs any."""
    return _head(needs) + dump([*claims(needs), *_services(needs), _job(needs)])


def _head(needs: Needs) -> str:
    lines = [
        f"{needs.title}: kubectl apply --filename FILE",
        f"Go in with: kubectl exec --stdin --tty job/{needs.name} -- bash",
    ]
    if needs.chip.resource.endswith("910") and not needs.simulate_host:
        lines += [
            f"{needs.chip.resource} counts cards of 910, 910B and A3 alike. Where a cluster has",
            "several of them, select nodes by a label that tells them apart, too.",
        ]
    return comment(*lines)


def _services(needs: Needs) -> list[dict[str, Any]]:
    ports: list[dict[str, Any]] = [{"name": f"port-{p}", "port": int(p)} for p in needs.ports]
    spec: dict[str, Any] = {"selector": labels(needs)}
    if needs.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "port": RENDEZVOUS})
        # The nodes look for each other before they are ready.
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    if not ports:
        return []
    metadata = {"name": needs.name, "labels": labels(needs)}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return [service | {"spec": spec | {"ports": ports}}]


def _job(needs: Needs) -> dict[str, Any]:
    environment = several(needs, master=f"{needs.name}-0.{needs.name}", index=_INDEX)
    architecture = {"kubernetes.io/arch": needs.target.docker_arch}
    pod = pod_spec(needs, environment=environment, architecture=architecture)
    spec: dict[str, Any] = {"backoffLimit": 0}
    if needs.nodes > 1:
        pod = {"subdomain": needs.name} | pod
        spec |= {
            "completionMode": "Indexed",
            "completions": needs.nodes,
            "parallelism": needs.nodes,
        }
    spec["template"] = {"metadata": {"labels": labels(needs)}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": needs.name, "labels": labels(needs)},
        "spec": spec,
    }
