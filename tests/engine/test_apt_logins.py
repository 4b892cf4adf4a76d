# SPDX-License-Identifier: Apache-2.0
"""apt in a build that an engine runs has the login of a mirror, and nothing that is left has it."""

from __future__ import annotations

import base64
import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex
from cannery.engine import client as engine
from cannery.engine.bake import BakeSettings, bake
from cannery.engine.base import building_architecture
from cannery.engine.bootstrap import logins_of
from cannery.engine.builder import find_builder
from cannery.image.bake_file import Caches, ImageBuild
from tests.canaries import Content, canaries, search, watching
from tests.unit.engine.test_base_mirrors import BASE
from tests.unit.http_servers import Handler, answering

DOCKERFILE = """\
FROM {base}
ARG ANEW
RUN echo "deb http://{mirror}/debian/20261101T000000Z bookworm main" >/etc/apt/sources.list
RUN --mount=type=secret,id=apt \\
    if [ -s /run/secrets/apt ]; then export APT_CONFIG=/run/secrets/apt; fi; \\
    apt-get update || env; cat /proc/self/mountinfo /etc/apt/sources.list
"""
"""The lines with the secret are those of the Dockerfiles of targets."""


def _built(folder: Path, base: str, mirror: str, login: str) -> str:
    """The image of the Dockerfile, built as those of targets are."""
    images: list[str] = []
    dated = replace(BASE, snapshot="20261101T000000Z", archive=f"http://{login}@{mirror}")
    (folder / "Dockerfile").write_text(DOCKERFILE.format(base=base, mirror=mirror))
    build = ImageBuild(
        id="apt-login",
        tag="apt-login",
        dockerfile=folder / "Dockerfile",
        folder=folder,
        platform=f"linux/{building_architecture()}",
        arguments={"ANEW": str(folder)},
        apt_logins=logins_of([dated]),
    )
    settings = BakeSettings(
        builder=find_builder(""),
        source=PackageIndex(ca=None, index_url=""),
        caches=Caches(),
        logs=folder / "logs",
    )
    assert bake([build], settings, lambda *_: None, lambda _, image: images.append(image)) == {}
    [image] = {*images}
    return image


def _bridge_address() -> str:
    """The address of this machine on the engine's bridge, where the steps of a build reach it."""
    form = "{{range .IPAM.Config}}{{.Gateway}}{{end}}"
    said = _output("docker", "network", "inspect", "bridge", "--format", form)
    return said.decode().strip()


def _output(*words: str) -> bytes:
    return subprocess.run(words, capture_output=True, check=True).stdout


def test_the_login_of_a_mirror_is_used_and_left_nowhere(tmp_path: Path) -> None:
    base = f"cannery/bootstrap:bookworm-{building_architecture()}"
    if not engine.image_id(base):
        pytest.fail(f"{base} is not here; 'nox -s image' bootstraps it")
    secrets = canaries("user", "password")
    login = ":".join(each.secret for each in secrets.values())
    seen: list[str] = []

    class Mirror(Handler):
        def answer(self) -> None:
            sent = self.headers.get("Authorization", "").removeprefix("Basic ")
            seen.append(base64.b64decode(sent).decode())
            self.reply(404, b"")

    said = io.StringIO()
    with (
        answering(Mirror, host=_bridge_address()) as address,
        redirect_stderr(said),
        redirect_stdout(said),
        watching() as watched,
    ):
        image = _built(tmp_path, base, address.partition("://")[2], login)
    try:
        assert login in seen
        assert b"/run/secrets/apt" in (tmp_path / "logs" / "apt-login.log").read_bytes()
        places: dict[str, list[Content]] = {
            "image": [_output("docker", "save", image)],
            "history": [_output("docker", "history", "--no-trunc", image)],
            "logs": [tmp_path / "logs"],
            "build context": [tmp_path / "Dockerfile"],
            "console": [said.getvalue().encode()],
            "command lines": [watched.content],
        }
        assert search(secrets.values(), places) == []
    finally:
        subprocess.run(
            ["docker", "image", "rm", "--force", image], capture_output=True, check=False
        )
