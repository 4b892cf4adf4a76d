# SPDX-License-Identifier: Apache-2.0
"""Talks to the container engine through its SDK: images, and containers to test in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests
from docker.models.containers import Container
from docker.types import Mount

from cannery.deploy.run_spec import RunSpec
from cannery.errors import EngineError, Problem
from cannery.execute.owner import is_gone, own_mark

LABEL_TEST = "io.cannery.test-container"
"""The label of test containers; it holds the mark of the run that made it."""

TRUSTED = "/run/cannery-ca.crt"
"""Where a test container finds the certificates to trust for package indexes."""


@cache
def connect() -> docker.DockerClient:
    """A client of the local engine.

    Raises:
        EngineError: no engine answers.
    """
    try:
        # It asks the engine for its version.
        client = docker.from_env()
    except docker.errors.DockerException as error:
        raise EngineError(
            Problem(
                what=f"the container engine does not answer: {error}.",
                fix="Start it ('bash setup.sh' does, where it can), or set DOCKER_HOST.",
            )
        ) from error
    return client


@contextmanager
def _talking() -> Iterator[docker.DockerClient]:
    try:
        yield connect()
    except docker.errors.APIError as error:
        raise EngineError(f"the engine says: {error.explanation or error}.") from error
    except requests.RequestException as error:
        raise EngineError(f"the engine stopped answering: {error}.") from error


def image_id(reference: str) -> str:
    """The id of a local image, or nothing.

    Raises:
        EngineError: the engine does not answer, or takes ``reference`` for no name.
    """
    with _talking() as client:
        try:
            return str(client.images.get(reference).id)
        except docker.errors.ImageNotFound:
            return ""


def image_architecture(reference: str) -> str:
    """The architecture of a local image, as the engine names it."""
    with _talking() as client:
        return str(client.images.get(reference).attrs["Architecture"])


def image_details(reference: str) -> dict[str, Any]:
    """What the engine knows of a local image; nothing where there is none.

    Raises:
        EngineError: the engine does not answer.
    """
    with _talking() as client:
        try:
            return dict(client.images.get(reference).attrs)
        except docker.errors.ImageNotFound:
            return {}


def uses_containerd() -> bool:
    """Whether the engine keeps images in containerd's store."""
    with _talking() as client:
        status = client.info().get("DriverStatus") or []
    return any("io.containerd.snapshotter" in str(value) for _, value in status)


def machine_and_runtimes() -> tuple[str, frozenset[str]]:
    """The machine of the engine, as uname names it, and the names of its OCI runtimes.

    Raises:
        EngineError: the engine does not answer.
    """
    with _talking() as client:
        info = client.info()
    return str(info.get("Architecture", "")), frozenset(info.get("Runtimes") or {})


def why_not_pulled(reference: str, platform: str) -> Problem | None:
    """Why the engine cannot pull ``reference`` for ``platform``; None if it can.

    Raises:
        EngineError: the engine does not answer.
    """
    with _talking() as client:
        try:
            data = client.images.get_registry_data(reference)
        except docker.errors.APIError as error:
            return _not_pulled(reference, error)
        found = {f"{each['os']}/{each['architecture']}" for each in data.attrs["Platforms"]}
    if platform in found:
        return None
    what = f"{reference} has no image for {platform}; it has {', '.join(sorted(found))}."
    return Problem(what=what, fix="Name another image.")


def _not_pulled(reference: str, error: docker.errors.APIError) -> Problem:
    login = f"docker login {reference.partition('/')[0]}"
    said = str(error.explanation or error).rstrip(".")
    match error.status_code:
        case 404:
            return Problem(what=f"{reference} does not exist.", fix="Check the name.")
        case 401 | 403:
            what = f"the registry refuses {reference}: {said}."
            return Problem(what=what, fix=f"Log in with an account that has access: {login}")
    # The engine answers 500 for everything else, a login that it lacks included.
    fix = f"See that the engine reaches the registry and that you are logged in: {login}"
    return Problem(what=f"{reference} cannot be pulled: {said}.", fix=fix)


def remove_abandoned() -> None:
    """Remove the test containers of runs that were killed before they could."""
    with _talking() as client:
        found = client.containers.list(all=True, filters={"label": LABEL_TEST})
        for each in found:
            if is_gone(str(each.labels.get(LABEL_TEST, ""))):
                with suppress(docker.errors.APIError):
                    each.remove(force=True)


def tag_image(image: str, reference: str) -> None:
    """Give the image with the id ``image`` the name ``reference``."""
    repository, tag = reference.rsplit(":", 1)
    with _talking() as client:
        client.images.get(image).tag(repository, tag)


def saved(image: str) -> Iterator[bytes]:
    """The archive of the image with the id ``image``, in pieces.

    Raises:
        EngineError: the engine does not hand it out.
    """
    with _talking() as client:
        yield from client.images.get(image).save(chunk_size=1 << 20)


def pull_digest(repository: str, digest: str, platform: str, login: tuple[str, str]) -> str:
    """Pull an image by its digest, and return the id that it has here.

    ``login`` is a name and a password; both empty to leave that to docker's own settings.

    Raises:
        EngineError: the engine cannot pull it.
    """
    name, password = login
    auth = {"username": name, "password": password} if name else None
    with _talking() as client:
        try:
            # Not images.pull(), which drops what the engine says of a layer that it cannot take.
            heard = client.api.pull(
                repository,
                tag=digest,
                platform=platform,
                auth_config=auth,
                stream=True,
                decode=True,
            )
            said = next((str(each["error"]) for each in heard if "error" in each), "")
        except docker.errors.APIError as error:
            said = str(error.explanation or error)
    if said:
        what = f"the engine cannot pull {repository}@{digest}: {said}."
        raise EngineError(Problem(what=what, fix=_pull_fix(said, repository.partition("/")[0])))
    return image_id(f"{repository}@{digest}")


def _pull_fix(said: str, host: str) -> str:
    # By now the pull has begun, and the engine only sends a sentence; the message holds all of it.
    if "x509" in said or "certificate" in said:
        return f"Let it trust the registry: put the CA into /etc/docker/certs.d/{host}/ca.crt."
    if "zstd" in said or "invalid tar header" in said:
        return "It is older than 23.0 and knows no zstd: push with --compression gzip."
    return "See that it reaches the registry."


def remove_name(reference: str) -> None:
    """Take the name ``reference`` from the image that has it; what else names that image stays."""
    with suppress(docker.errors.APIError, requests.RequestException):
        connect().images.remove(reference)


@contextmanager
def container(image: str, platform: str, spec: RunSpec, ca: Path | None) -> Iterator[str]:
    """The id of a running, idle container of ``image``; it is removed whatever happens.

    ``ca`` is mounted as ``TRUSTED``.

    Raises:
        EngineError: the container does not start.
    """
    running: Container | None = None
    mounts = {**spec.mounts, **({str(ca): TRUSTED} if ca else {})}
    try:
        running = connect().containers.create(
            image,
            ["sleep", "infinity"],
            platform=platform,
            labels={LABEL_TEST: own_mark()},
            init=True,
            shm_size=spec.shm_size,
            devices=[f"{path}:{path}:rwm" for path in spec.devices],
            # As mounts, because a volume makes an empty folder of a path that does not exist.
            mounts=[
                Mount(target=where, source=source, type="bind", read_only=True)
                for source, where in mounts.items()
            ],
        )
        running.start()
        yield str(running.id)
    except docker.errors.APIError as error:
        what = f"the engine could not run {image}: {error.explanation or error}."
        raise EngineError(what) from error
    except requests.RequestException as error:
        raise EngineError(f"the engine stopped answering: {error}.") from error
    finally:
        if running:
            with suppress(docker.errors.APIError, requests.RequestException):
                running.remove(force=True)


@contextmanager
def unstarted(image: str, platform: str) -> Iterator[Container]:
    """A container of ``image`` that never runs, to read files from; it is removed whatever happens.

    Raises:
        EngineError: there is no such image for ``platform``, or the engine does not answer.
    """
    made: Container | None = None
    with _talking() as client:
        try:
            made = client.containers.create(
                image, ["true"], platform=platform, labels={LABEL_TEST: own_mark()}
            )
            yield made
        finally:
            if made:
                with suppress(docker.errors.APIError, requests.RequestException):
                    made.remove(force=True)
