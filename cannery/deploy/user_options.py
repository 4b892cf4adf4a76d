# SPDX-License-Identifier: Apache-2.0
"""What a user asks of a container besides what its image needs, in the notation of ``docker run``.

Source of the notation: docker's reference of ``docker container run``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import Problem

TRUSTED = "/run/cannery-ca.crt"
"""The path in containers of certificates that the host names."""

TRUSTING = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""The variables with which pip and uv, OpenSSL and requests trust the certificates in a file."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", re.DOTALL)
_PORTS = re.compile(
    r"((?P<address>[0-9.]+|\[[0-9a-fA-F:]+\]):)?(?P<host>[0-9]{1,5}):(?P<port>[0-9]{1,5})(/(tcp|udp))?"
)
_MOST = 65535


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


@dataclass(frozen=True, kw_only=True)
class UserOptions:
    """Options of a user.

    Attributes:
        variables: NAME=VALUE, or NAME for the value that it has where docker is called.
        ports: as in 8888:8888.
        detach: it runs in the background.
        ca: a file of certificates of this host, to trust.
        more: options that docker gets as they are.
    """

    variables: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    name: str = ""
    network: str = ""
    detach: bool = False
    ca: Path | None = None
    more: tuple[str, ...] = ()

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
        in_cluster = format in ("k8s", "volcano")
        alone = [name for name, value in self.environment.items() if value is None]
        needs: Mapping[str, tuple[object, str]] = {
            "--detach": (self.detach, "It is for a container that starts here."),
            "--network": (self.network, "Write the network into the printed text."),
            "options after '--'": (self.more, "Write them into the printed text."),
        }
        if in_cluster:
            needs = {
                **needs,
                "--name": (self.name, "The names of a Job and its pods are the cluster's."),
                "--publish": (self.ports, "Add a Service for the port."),
                "--ca": (self.ca, "Mount a ConfigMap with the certificates."),
                "--env NAME without a value": (alone, "Write NAME=VALUE, or use a Secret."),
            }
        if format != "shell":
            for option, (given, fix) in needs.items():
                if given:
                    yield Problem(what=f"the format {format} has no {option}.", fix=fix)
