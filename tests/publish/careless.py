# SPDX-License-Identifier: Apache-2.0
"""Runs with secrets, of which the programs that are called say all that they know."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cannery.building import running
from cannery.common import console
from cannery.common.bases import Address
from cannery.common.errors import CanneryError
from cannery.common.package_index import PackageIndex
from cannery.engine import client as engine
from cannery.engine.bake import Built, Failures, bake
from cannery.image.bake_file import ImageBuild
from cannery.lock.index_versions import Question, Runtime, ask
from cannery.lock.uv import Job, compiled
from tests.canaries import Canary
from tests.fetch.fetches import CONTENT, a_file, fetcher
from tests.fetch.server import serving
from tests.unit.fake_bake import FakeBake
from tests.unit.rawjson import ERROR, compact, log, started, vertex
from tests.unit.world import World

from .servers import USER, free_port

Secrets = dict[str, Canary]


def url_of(host: str, canary: Canary, path: str = "simple") -> str:
    """An address with a login."""
    return f"https://{USER}:{canary.secret}@{host}/{path}"


def _says(url: str) -> str:
    """The output of a step that installs packages, and fails, on an index ``url``."""
    step = "[full wheels 1/1] RUN uv"
    line = log("x", f"Looking in indexes: {url}\nerror: Failed to fetch {url}/torch\n")
    error = f'process "uv --index {url}" failed: {ERROR}'
    ended = [started(step, "x"), line, vertex(step, "x", error=error)]
    return compact(ended) + f"ERROR: failed to solve: {error}\n"


def build(
    world: World, docker: FakeBake, secrets: Secrets, patch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Build twice; the first time a step fails and docker repeats what it was given."""
    index = url_of(f"127.0.0.1:{free_port()}", secrets["index"])
    docker.then(_says(index), code=1)
    docker.then(compact([started("[full os 1/1] RUN x", "x"), log("x", index)]), full="i1")
    (folder / "own-ca.pem").write_text(f"# {secrets['ca'].secret}\n", encoding="utf-8")
    cache = f"type=s3,bucket=b,secret_access_key={secrets['cache'].secret},name={{target}}"

    def both(builds: Sequence[ImageBuild], settings: Any, heard: Any, built: Built) -> Failures:
        failures = bake(builds, settings, heard, lambda *_: None)
        return failures or world.bake(builds, settings, heard, built)

    patch.setenv("PATH", f"{docker.folder}:{os.environ['PATH']}")
    patch.setattr(engine, "image_id", lambda digest: digest if digest == "i1" else "")
    patch.setattr(running, "bake", both)
    patch.setattr(running, "require_containerd", lambda *_: None)
    more: dict[str, Any] = {"index_url": index, "ca": folder / "own-ca.pem", "cache_to": (cache,)}
    tell(lambda: world.run(["full"], force=True, **more))
    world.run(["full"], force=True, record=True, **more)


def tell(action: Callable[[], object]) -> None:
    """Do what must fail, and say why as build.py does."""
    with pytest.raises(CanneryError) as caught:
        action()
    for problem in caught.value.problems:
        console.error(str(problem))


def fetch(store: Path, secrets: Secrets) -> None:
    """Fetch a file from a server that wants a token and a login, and another that it has not."""
    query, login = secrets["query"].secret, secrets["login"].secret
    own = fetcher(store)
    with serving() as server:
        server.content[f"toolkit.run?token={query}"] = CONTENT
        plain = server.address("toolkit.run").replace("://", f"://{USER}:{login}@")
        headers = (("X-Token", secrets["header"].secret),)
        own.servers = (Address(url=plain.rpartition("/")[0], headers=headers),)
        assert own.fetch(a_file(CONTENT, [f"{plain}?token={query}"]))
        tell(lambda: own.fetch(a_file(b"another", [f"{plain}?token={query}"])))
        tell(lambda: own.fetch(a_file(b"nowhere", [f"{plain}.not?token={query}"])))
        closed = f"http://{USER}:{login}@127.0.0.1:{free_port()}/toolkit.run?token={query}"
        tell(lambda: own.fetch(a_file(b"closed", [closed])))


def lock(secrets: Secrets) -> None:
    """Ask an index that does not answer, with uv and with pip."""
    url = url_of(f"127.0.0.1:{free_port()}", secrets["index"])
    source = PackageIndex(ca=None, index_url=url)
    job = Job(name="full", inputs={"requirements.txt": "torch"}, options=(), more={}, output="lock")
    tell(lambda: compiled(job, source))
    runtime = Runtime(python="3.11", machine="aarch64", glibc="2.28")
    tell(lambda: ask([Question(package="torch", runtime=runtime)], source))
