# SPDX-License-Identifier: Apache-2.0
"""What the engine, the registry and the checkout hold, read past all faults."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker

from tests.faults.site import MARK, Site

_DEADLINE = 60.0
"""Seconds within which what a killed run has started must end by itself."""

_checked: set[tuple[Path, int, int]] = set()
"""The blobs of registries that have the content that their names say."""


def client(site: Site) -> docker.DockerClient:
    """A client of the site's engine."""
    return docker.DockerClient(base_url=site.engine.host, timeout=60)


def image_id(site: Site, name: str) -> str:
    """The id of a local image; empty if there is none."""
    found = client(site).images.list(name)
    return str(found[0].id) if found else ""


def content_of(site: Site, name: str, path: str) -> bytes:
    """The file ``path`` in a local image; empty if there is no image."""
    if not image_id(site, name):
        return b""
    made = client(site).containers.create(name, ["true"])
    try:
        pieces, _ = made.get_archive(path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as opened:
            member = opened.extractfile(opened.next() or "")
            return member.read() if member else b""
    finally:
        made.remove()


def _storage(site: Site) -> Path:
    return site.folder / "registry/data/docker/registry/v2"


def tags_of(site: Site, repository: str) -> dict[str, str]:
    """Tag to digest, from the registry's disk."""
    folder = _storage(site) / "repositories" / repository / "_manifests" / "tags"
    links = folder.glob("*/current/link")
    return {each.parent.parent.name: each.read_text(encoding="utf-8") for each in sorted(links)}


def wrong_in_registry(site: Site, repository: str) -> Iterator[str]:
    """What is incomplete or wrong below the tags of ``repository``."""
    for tag, digest in tags_of(site, repository).items():
        yield from (
            f"tag {tag}: {each}" for each in _wrong(site, repository, digest, manifest=True)
        )


def _wrong(site: Site, repository: str, digest: str, *, manifest: bool) -> Iterator[str]:
    own = _storage(site) / "repositories" / repository
    name = digest.removeprefix("sha256:")
    place = "_manifests/revisions" if manifest else "_layers"
    if not (own / place / "sha256" / name / "link").is_file():
        yield f"{digest} is not in {place}"
    data = _storage(site) / "blobs" / "sha256" / name[:2] / name / "data"
    if not data.is_file():
        yield f"{digest} is lost"
        return
    state = data.stat()
    version = (data, state.st_mtime_ns, state.st_size)
    content = data.read_bytes() if manifest or version not in _checked else b""
    if version not in _checked and hashlib.sha256(content).hexdigest() != name:
        yield f"{digest} has another content"
        return
    _checked.add(version)
    if manifest:
        said = json.loads(content)
        for each in said.get("manifests", []):
            yield from _wrong(site, repository, each["digest"], manifest=True)
        for each in [*said.get("layers", []), *([said["config"]] if "config" in said else [])]:
            yield from _wrong(site, repository, each["digest"], manifest=False)


def remove_broken_tags(site: Site, repository: str) -> list[str]:
    """Remove the tags of which a registry has stored nothing because its disk was full."""
    folder = _storage(site) / "repositories" / repository / "_manifests" / "tags"
    broken = [name for name, digest in tags_of(site, repository).items() if not digest]
    for name in broken:
        shutil.rmtree(folder / name)
    return broken


def half_written(site: Site) -> Iterator[str]:
    """Files of the checkout under their final names that are not whole."""
    paths = [*site.project.state.rglob("*.json"), *site.project.releases.rglob("*.json")]
    for path in paths:
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except ValueError as error:
            yield f"{path} is not JSON: {error}"


def left_over(site: Site) -> Iterator[str]:
    """Temporary files."""
    yield from (str(path) for path in (site.folder / "tmp").iterdir())
    for path in site.root.rglob(".*"):
        first = path.relative_to(site.root).parts[0]
        if first not in (".git", ".gitignore", "cannery") and path.name != ".cannery":
            yield str(path)


def mounts(site: Site) -> list[str]:
    """What is mounted below the site, but for the engine's own mounts."""
    text = Path("/proc/self/mounts").read_text(encoding="utf-8")
    places = [line.split()[1] for line in text.splitlines()]
    engines = (f"{site.folder}/storage/", f"{site.folder}/engine/")
    own = [each for each in places if each.startswith(f"{site.folder}/")]
    return sorted(each for each in own if not each.startswith(engines))


def networks(site: Site) -> list[str]:
    return sorted(str(each.name) for each in client(site).networks.list())


def containers(site: Site) -> list[str]:
    return [str(each.name) for each in client(site).containers.list(all=True)]


def processes(site: Site) -> list[str]:
    """The processes of runs that still go on."""
    wanted = f"{MARK}={site.home}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0") and int(path.parent.name) != os.getpid():
                argv = (path.parent / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{path.parent.name} {argv.decode(errors='replace')[:200]}")
        except OSError:
            continue
    return found


def orphans(site: Site) -> list[str]:
    """The processes of runs that do not end by themselves."""
    deadline = time.monotonic() + _DEADLINE
    while found := processes(site):
        if time.monotonic() > deadline:
            return found
        time.sleep(0.05)
    return []
