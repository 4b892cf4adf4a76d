# SPDX-License-Identifier: Apache-2.0
"""What a user asks of a container besides what its image needs, in the notation of ``docker run``.

Source of the notation: docker's reference of ``docker container run``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cannery.common.errors import Problem, enumerated

TRUSTED = "/run/cannery-ca.crt"
"""The path in containers of certificates that the host names."""

TRUSTING = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""The variables with which pip and uv, OpenSSL and requests trust the certificates in a file."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", re.DOTALL)
_PORTS = re.compile(
    r"((?P<address>[0-9.]+|\[[0-9a-fA-F:]+\]):)?(?P<host>[0-9]{1,5}):(?P<port>[0-9]{1,5})(/(tcp|udp))?"
)
_MOST = 65535
_TAINT = re.compile(
    r"(?P<key>[A-Za-z0-9]([A-Za-z0-9./_-]*[A-Za-z0-9])?)(=(?P<value>[A-Za-z0-9._-]*))?"
    r"(:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute))?"
)

CLUSTERS = ("k8s", "deployment", "volcano")
"""Formats of Kubernetes."""

HPC = ("apptainer", "slurm")
"""Formats in which a program runs as the user who starts it, on the network of its host."""

_HERE = ("shell", "podman")
_FILES = ("quadlet", "devcontainer")

_PLACES: Mapping[str, tuple[str, ...]] = {
    "--detach": _HERE,
    "--network": (*_HERE, *_FILES),
    "options after '--'": (*_HERE, "devcontainer"),
    "--name": (*_HERE, "compose", *_FILES),
    "--publish": (*_HERE, "compose", *_FILES, "deployment"),
    "--ca": (*_HERE, "compose", *_FILES, *HPC),
    "--env NAME without a value": (*_HERE, "compose", "devcontainer"),
    "--namespace": CLUSTERS,
    "--pull-secret": CLUSTERS,
    "--toleration": CLUSTERS,
}
"""Option to the formats that have a place for it."""

_FIXES: Mapping[str, str] = {
    "--detach": "It is for a container that starts here.",
    "--network": "Write the network into the printed text.",
    "options after '--'": "Write them into the printed text.",
    "--name": "The names of pods, jobs and processes are given there.",
    "--publish": "Add a Service for the port.",
    "--ca": "Mount a ConfigMap with the certificates.",
    "--env NAME without a value": "Write NAME=VALUE, or use a Secret.",
    "--namespace": "It is Kubernetes'.",
    "--pull-secret": "It is Kubernetes'.",
    "--toleration": "It is Kubernetes'.",
}

_INSTEAD: Mapping[tuple[str, str], str] = {
    **{("--network", name): "The program has the network of its host." for name in HPC},
    **{("--publish", name): "A port of the program is one of its host." for name in HPC},
    **{
        ("--env NAME without a value", name): "Export APPTAINERENV_NAME where you start it."
        for name in HPC
    },
    ("--env NAME without a value", "quadlet"): "Write NAME=VALUE, or Secret= into the unit.",
}
"""Option and format to what to do there."""


def variable(text: str) -> str:
    """A variable, NAME=VALUE or NAME alone."""
    if not _VARIABLE.fullmatch(text) or "\0" in text:
        raise ValueError(f"invalid variable {text!r}. Write it as NAME=VALUE, or as NAME.")
    return text


def published(text: str) -> str:
    """A port of the host for one of the container."""
    match = _PORTS.fullmatch(text)
    if not match or not all(1 <= int(match[name]) <= _MOST for name in ("host", "port")):
        example = "HOST:CONTAINER, as in 8888:8888 or 127.0.0.1:8888:8888"
        raise ValueError(f"invalid ports {text!r}. Write them as {example}.")
    return text


def toleration(text: str) -> str:
    """A taint of nodes, as kubectl writes it: KEY[=VALUE][:EFFECT]."""
    if not _TAINT.fullmatch(text):
        example = "npu=true:NoSchedule or dedicated"
        raise ValueError(f"invalid taint {text!r}. Write KEY[=VALUE][:EFFECT], as in {example}.")
    return text


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Where a cluster runs pods: ``pull_secrets`` are names, ``tolerations`` are taints."""

    namespace: str = ""
    pull_secrets: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()

    @property
    def of_pod(self) -> dict[str, list[dict[str, str]]]:
        """The fields of a pod's ``spec``."""
        fields: dict[str, list[dict[str, str]]] = {}
        if self.pull_secrets:
            fields["imagePullSecrets"] = [{"name": name} for name in self.pull_secrets]
        for text in self.tolerations:
            match = _TAINT.fullmatch(text)
            assert match
            found = {"key": match["key"], "operator": "Exists"}
            if match["value"] is not None:
                found |= {"operator": "Equal", "value": match["value"]}
            found |= {"effect": match["effect"]} if match["effect"] else {}
            fields.setdefault("tolerations", []).append(found)
        return fields


@dataclass(frozen=True, kw_only=True)
class UserOptions:
    """Options of a user.

    Attributes:
        variables: NAME=VALUE, or NAME for the value that it has where docker is called.
        ports: as in 8888:8888.
        detach: it runs in the background.
        ca: a file of certificates of this host, to trust.
        more: options that docker gets as they are.
        cluster: for formats of Kubernetes.
    """

    variables: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    name: str = ""
    network: str = ""
    detach: bool = False
    ca: Path | None = None
    more: tuple[str, ...] = ()
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    @property
    def environment(self) -> dict[str, str | None]:
        """Name to value; None for that where docker is called."""
        pairs = (text.partition("=") for text in self.variables)
        named = {name: value if equals else None for name, equals, value in pairs}
        return {**dict.fromkeys(TRUSTING if self.ca else (), TRUSTED), **named}

    @property
    def mounts(self) -> dict[str, str]:
        return {str(self.ca): TRUSTED} if self.ca else {}

    def problems(self, format: str) -> Iterator[Problem]:  # noqa: A002 - as the command line calls it
        """What the text of ``format`` has no place for."""
        alone = [name for name, value in self.environment.items() if value is None]
        given: Mapping[str, object] = {
            "--detach": self.detach,
            "--network": self.network,
            "options after '--'": self.more,
            "--name": self.name,
            "--publish": self.ports,
            "--ca": self.ca,
            "--env NAME without a value": alone,
            "--namespace": self.cluster.namespace,
            "--pull-secret": self.cluster.pull_secrets,
            "--toleration": self.cluster.tolerations,
        }
        for option, value in given.items():
            if value and format not in (formats := _PLACES[option]):
                fix = _INSTEAD.get((option, format)) or _FIXES[option]
                known = f"These formats have it: {enumerated(formats)}."
                yield Problem(what=f"the format {format} has no {option}.", fix=f"{fix} {known}")
