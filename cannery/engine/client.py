# SPDX-License-Identifier: Apache-2.0
"""The container engine through its SDK: its images, and the errors of one that is not reached."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import docker.errors
import requests

from cannery.common.errors import EngineError, Problem

_DEFAULT = "unix:///var/run/docker.sock"
_ADDRESS = re.compile(r"\b(?:unix|tcp|https?)://[^\s\"']+")
_DENIED = re.compile(r"permission denied while trying to connect|PermissionError\(13")
_SILENT = re.compile(
    r"Cannot connect to the Docker daemon|failed to connect to the docker API"
    r"|FileNotFoundError\(2|Connection refused|no such host|Failed to resolve"
)
_LOST = re.compile(
    r"timed out|timeout|deadline exceeded|Connection aborted|reset by peer|Remote end closed",
    re.IGNORECASE,
)
_LOOPBACK = ("", "localhost", "127.0.0.1", "::1")
_MALFORMED = re.compile(r"[Ii]nvalid bind address|unable to parse docker host")


def unreachable(output: str, environ: Mapping[str, str] = os.environ) -> EngineError:
    """The error for an engine that cannot be used; ``output`` is of docker or its SDK."""
    host = environ.get("DOCKER_HOST", "")
    # The SDK names the address of no socket, and its URLs are not those that users write.
    match = _ADDRESS.search(output)
    address = host or (match[0].rstrip(".:;,") if match else "") or _DEFAULT
    path = address.removeprefix("unix://") or _DEFAULT.removeprefix("unix://")
    fix = "Start it, for example with 'bash setup.sh', or set DOCKER_HOST."
    if host and (_MALFORMED.search(output) or not _is_address(host)):
        what = f"invalid DOCKER_HOST {host!r}."
        fix = f"Write it as in {_DEFAULT} or tcp://HOST:2375, or unset it."
    elif "paramiko" in output:
        what = f"DOCKER_HOST {host!r} needs Python's package paramiko, which is not installed."
        fix = (
            f"Install it: {sys.executable} -m pip install paramiko; or forward the socket with "
            "'ssh -nNT -L /tmp/far.sock:/var/run/docker.sock HOST' and set DOCKER_HOST to "
            "unix:///tmp/far.sock."
        )
    elif _DENIED.search(output):
        what = f"no permission to use the container engine's socket {path}."
        fix = (
            "Add this user to the group docker ('sudo usermod -aG docker USER', then log in "
            "again), use sudo, or set DOCKER_HOST to a rootless engine."
        )
    elif _SILENT.search(output):
        missing = path.startswith("/") and not Path(path).exists()
        reason = f"there is no socket {path}" if missing else f"nothing answers at {path}"
        what = f"the container engine is not running: {reason}."
    elif _LOST.search(output):
        what = f"the container engine at {address} has stopped answering."
        fix = "It may be busy: try again, and see what 'docker info' says."
    else:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if not line.startswith("WARNING")]
        reason = (errors or lines or ["no reason is given"])[0].rstrip(".")
        what = f"the container engine reports: {reason}."
        fix = "See what 'docker info' says."
    return EngineError(Problem(what=what, fix=fix))


def _is_address(host: str) -> bool:
    try:
        url = urlsplit(host)
        return url.scheme == "unix" or bool(url.scheme and url.hostname and url.port != 0)
    except ValueError:
        # The port is no number, or too large.
        return False


def other_host(environ: Mapping[str, str] = os.environ) -> str:
    """The DOCKER_HOST whose engine is on another host; empty for an engine of this one."""
    host = environ.get("DOCKER_HOST", "")
    try:
        name = urlsplit(host).hostname or ""
    except ValueError:
        return ""
    return "" if name in _LOOPBACK else host


@cache
def connect() -> docker.DockerClient:
    """A client of the local engine."""
    try:
        # This asks the engine for its version. For ssh:// it starts ssh, as docker itself does.
        return docker.from_env(use_ssh_client=True)
    except (docker.errors.DockerException, ValueError) as error:
        # ValueError for a DOCKER_HOST that is no URL.
        raise unreachable(str(error)) from error


@contextmanager
def talking() -> Iterator[docker.DockerClient]:
    """A client of the engine, whose errors become problems."""
    try:
        yield connect()
    except docker.errors.APIError as error:
        raise EngineError(f"the engine reports: {error.explanation or error}.") from error
    except requests.RequestException as error:
        raise unreachable(str(error)) from error


def image_id(reference: str) -> str:
    """The id of a local image; empty if there is none."""
    return str(image_details(reference).get("Id", ""))


def image_details(reference: str) -> dict[str, Any]:
    """The engine's attributes of a local image; empty if there is none."""
    with talking() as client:
        try:
            return dict(client.images.get(reference).attrs)
        except docker.errors.ImageNotFound:
            return {}


def image_history(reference: str) -> list[str]:
    """The commands that made a local image, the newest first."""
    with talking() as client:
        return [str(step.get("CreatedBy", "")) for step in client.images.get(reference).history()]


def image_layers(reference: str) -> list[tuple[str, int | None]]:
    """The layers of a local image, the base's first: digest of the content, and size in bytes.

    The size is unpacked, and None if the engine does not tell it for every layer.
    """
    with talking() as client:
        image = client.images.get(reference)
        digests = image.attrs["RootFS"].get("Layers") or []
        # Entries without a size are settings, such as ENV.
        sizes = [step["Size"] for step in reversed(image.history()) if step["Size"]]
    known = sizes if len(sizes) == len(digests) else [None] * len(digests)
    return [*zip(digests, known, strict=True)]


def uses_containerd() -> bool:
    """Whether the engine has the containerd image store."""
    with talking() as client:
        status = client.info().get("DriverStatus") or []
    return any("io.containerd.snapshotter" in str(value) for _, value in status)


def machine_and_runtimes() -> tuple[str, frozenset[str]]:
    """The machine of the engine, as uname names it, and the names of its OCI runtimes."""
    with talking() as client:
        info = client.info()
    return str(info.get("Architecture", "")), frozenset(info.get("Runtimes") or {})


def why_not_pulled(reference: str, platform: str) -> Problem | None:
    """Why the engine cannot pull ``reference`` for ``platform``; None if it can."""
    with talking() as client:
        try:
            data = client.images.get_registry_data(reference)
        except docker.errors.APIError as error:
            reason = str(error.explanation or error).rstrip(".")
            login = f"docker login {reference.partition('/')[0]}"
            if error.status_code == 404:
                return Problem(what=f"{reference} does not exist.", fix="Check the name.")
            if error.status_code in (401, 403):
                what = f"the registry refuses {reference}: {reason}."
                return Problem(what=what, fix=f"Log in with an account that has access: {login}")
            # The engine answers 500 for everything else, a login that it lacks included.
            fix = "Check that the engine can reach the registry and that you are logged in: "
            return Problem(what=f"{reference} cannot be pulled: {reason}.", fix=fix + login)
        platforms = {f"{one['os']}/{one['architecture']}" for one in data.attrs["Platforms"]}
    if platform in platforms:
        return None
    what = f"{reference} has no image for {platform}; it has {', '.join(sorted(platforms))}."
    return Problem(what=what, fix="Name another image.")


def tag_image(image: str, reference: str) -> None:
    """Give the image with the id ``image`` the name ``reference``."""
    repository, tag = reference.rsplit(":", 1)
    with talking() as client:
        client.images.get(image).tag(repository, tag)


def saved(image: str) -> Iterator[bytes]:
    """The archive of the image with the id ``image``, in chunks."""
    with talking() as client:
        yield from client.images.get(image).save(chunk_size=1 << 20)


def pull_digest(repository: str, digest: str, platform: str, login: tuple[str, str]) -> str:
    """Pull an image by its digest, and return its local id.

    ``login`` is a user name and a password; if both are empty, docker's own settings are used.
    """
    name, password = login
    auth = {"username": name, "password": password} if name else None
    with talking() as client:
        try:
            # Not images.pull(), which hides the engine's errors about single layers.
            events = client.api.pull(
                repository,
                tag=digest,
                platform=platform,
                auth_config=auth,
                stream=True,
                decode=True,
            )
            reason = next((str(event["error"]) for event in events if "error" in event), "")
        except docker.errors.APIError as error:
            reason = str(error.explanation or error)
    if not reason:
        return image_id(f"{repository}@{digest}")
    # Once a pull has begun, the engine reports errors as sentences only.
    fix = "Check that the engine can reach the registry."
    if "x509" in reason or "certificate" in reason:
        host = repository.partition("/")[0]
        fix = f"Make it trust the registry: put the CA into /etc/docker/certs.d/{host}/ca.crt."
    elif "zstd" in reason or "invalid tar header" in reason:
        fix = "Engines before 23.0 cannot read zstd: push with --compression gzip."
    what = f"the engine cannot pull {repository}@{digest}: {reason}."
    raise EngineError(Problem(what=what, fix=fix))


def remove_name(reference: str) -> None:
    """Remove the name ``reference``, but not other names of the same image."""
    with suppress(docker.errors.APIError, requests.RequestException):
        connect().images.remove(reference)
