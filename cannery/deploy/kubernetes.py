# SPDX-License-Identifier: Apache-2.0
"""Writes a Job and its Service, for Kubernetes with the Ascend device plugin.

Source: kubernetes.io, Jobs: the pods of an Indexed Job are called JOB-0, JOB-1, … and numbered in
the annotation batch.kubernetes.io/job-completion-index; with ``subdomain`` and a headless Service
of that name, the address of a pod is JOB-0.SERVICE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from cannery.deploy.pods import RENDEZVOUS, claims, labels, pod_spec, rendezvous_variables
from cannery.deploy.workload import Workload

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]", re.ASCII)
_ELSE = {"null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}
"""Words that some YAML parsers do not read as text."""


class _Dumper(yaml.CSafeDumper):
    """Writes in double quotes what some parsers do not read as text."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Let nothing be written as a reference to what is equal."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _ELSE
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def dump(documents: Iterable[Any]) -> str:
    """The ``documents``, mappings or lists, separated by ``---``."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=-1)


def comment(*lines: str) -> str:
    """The ``lines`` as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


_INDEX = "batch.kubernetes.io/job-completion-index"


def kubernetes_text(workload: Workload) -> str:
    """A Job, after the claims and the Service that it needs."""
    return _head(workload) + dump([*claims(workload), *_services(workload), _job(workload)])


def _head(workload: Workload) -> str:
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


def _job(workload: Workload) -> dict[str, Any]:
    environment = rendezvous_variables(
        workload, master=f"{workload.name}-0.{workload.name}", index=_INDEX
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
