# SPDX-License-Identifier: Apache-2.0
"""What is needed, for Kubernetes with the Ascend device plugin: a Job, and how it is reached.

Source: kubernetes.io, Jobs: an Indexed Job calls its pods JOB-0, JOB-1, … and numbers them in the
annotation batch.kubernetes.io/job-completion-index; with ``subdomain`` and a headless Service of
that name each is found as JOB-0.SERVICE.
"""

from __future__ import annotations

from typing import Any

from cannery.deploy.pods import RENDEZVOUS, claims, labels, pod_spec, several
from cannery.deploy.run_options import RunOptions
from cannery.deploy.yaml_text import comment, dump

_INDEX = "batch.kubernetes.io/job-completion-index"


def kubernetes_text(options: RunOptions) -> str:
    """A Job; before it the Service and the claims that it needs, if it needs any."""
    return _head(options) + dump([*claims(options), *_services(options), _job(options)])


def _head(options: RunOptions) -> str:
    lines = [
        f"{options.title}: kubectl apply --filename FILE",
        f"Go in with: kubectl exec --stdin --tty job/{options.name} -- bash",
    ]
    if options.chip.resource.endswith("910") and not options.simulate_host:
        lines += [
            f"{options.chip.resource} counts cards of 910, 910B and A3 alike. Where a cluster has",
            "several of them, select nodes by a label that tells them apart, too.",
        ]
    return comment(*lines)


def _services(options: RunOptions) -> list[dict[str, Any]]:
    ports: list[dict[str, Any]] = [{"name": f"port-{p}", "port": int(p)} for p in options.ports]
    spec: dict[str, Any] = {"selector": labels(options)}
    if options.nodes > 1:
        ports.insert(0, {"name": "rendezvous", "port": RENDEZVOUS})
        # The nodes look for each other before they are ready.
        spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    if not ports:
        return []
    metadata = {"name": options.name, "labels": labels(options)}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return [service | {"spec": spec | {"ports": ports}}]


def _job(options: RunOptions) -> dict[str, Any]:
    environment = several(options, master=f"{options.name}-0.{options.name}", index=_INDEX)
    architecture = {"kubernetes.io/arch": options.target.docker_arch}
    pod = pod_spec(options, environment=environment, architecture=architecture)
    spec: dict[str, Any] = {"backoffLimit": 0}
    if options.nodes > 1:
        pod = {"subdomain": options.name} | pod
        spec |= {
            "completionMode": "Indexed",
            "completions": options.nodes,
            "parallelism": options.nodes,
        }
    spec["template"] = {"metadata": {"labels": labels(options)}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": options.name, "labels": labels(options)},
        "spec": spec,
    }
