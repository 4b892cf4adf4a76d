# SPDX-License-Identifier: Apache-2.0
"""Secrets that a build is given are in nothing that it leaves, and would be found there.

The main target is built through a package index and a proxy with passwords.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from cannery.image.names import image_name
from tests.canaries import Canary, Content, canaries, search, watching

from .conftest import MAIN
from .guarded_index import guarded_index
from .machines import Machine, machine

IMAGE = image_name(MAIN, simulate=True)
PLANTED = """\
FROM {image} AS stage
RUN true {cache}
FROM {image}
COPY --from=stage /etc/debian_version /planted
COPY file /{layers}
ENV history={history}
LABEL config={config}
"""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A machine that has built the main target, what it was given, and what was seen of it."""

    machine: Machine
    secrets: dict[str, Canary]
    said: str
    commands: bytes
    temporary: Path

    def places(self, image: str) -> dict[str, list[Content]]:
        """All that there is of the build of ``image``."""
        docker = self.machine.engine.docker
        archive = self.temporary.parent / "image.tar"
        docker("save", "--output", str(archive), image)
        root = Path(docker("info", "--format", "{{.DockerRootDir}}"))
        state = self.machine.clone / ".cannery"
        return {
            "layers": [archive],
            "history": [docker("history", "--no-trunc", image).encode()],
            "config": [docker("image", "inspect", image).encode()],
            "build cache": [
                docker("buildx", "du", "--verbose").encode(),
                *root.glob("buildkit/*.db"),
            ],
            "checkout": [state],
            "simulated packages": [state / "simulator"],
            "build logs": [state / "logs"],
            "journal": [state / "journal.json"],
            "bundle": [self.temporary.parent / "x.bundle"],
            "console": [self.said.encode()],
            "command lines": [self.commands],
            "temporary files": [self.temporary],
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "tmp").mkdir()
    secrets = canaries("index", "proxy", "ca")
    authority = trustme.CA()
    ca = folder / "ca.pem"
    system = Path(ssl.get_default_verify_paths().cafile or "").read_text(encoding="utf-8")
    own = authority.cert_pem.bytes().decode()
    ca.write_text(f"{system}\n# {secrets['ca'].secret}\n{own}", encoding="utf-8")
    with machine(folder, 12, secrets["proxy"].secret) as found:
        pem = folder / "index.pem"
        authority.issue_cert(found.address).private_key_and_cert_chain_pem.write_to_path(str(pem))
        with (
            guarded_index(found.address, "reader", secrets["index"].secret, pem) as url,
            watching() as watched,
        ):
            env = {"TMPDIR": str(folder / "tmp"), "UV_DEFAULT_INDEX": url}
            words = ("--target", MAIN, "--simulate", "--ca", str(ca))
            said = found.build_py(*words, "--no-test", **env)
            assert said.code == 0, said.text[-4000:]
            bundled = found.build_py("bundle", *words, "--out", str(folder / "x.bundle"), **env)
            assert bundled.code == 0, bundled.text[-4000:]
        yield Site(
            machine=found,
            secrets=secrets,
            said=said.text + bundled.text,
            commands=watched.content,
            temporary=folder / "tmp",
        )


def test_no_secret_is_left_by_a_build(site: Site) -> None:
    assert search(site.secrets.values(), site.places(IMAGE)) == []
    others = [site.secrets["index"], site.secrets["ca"]]
    assert search(others, {"docker's settings": [site.machine.settings]}) == []


def test_it_would_be_found_in_what_the_engine_keeps(site: Site, tmp_path: Path) -> None:
    planted = canaries("layers", "history", "config", "cache")
    words = {name: each.secret for name, each in planted.items()}
    text = PLANTED.format(image=IMAGE, **words)
    (tmp_path / "Dockerfile").write_text(text, encoding="utf-8")
    (tmp_path / "file").touch()
    site.machine.engine.docker(
        *("buildx", "build", "--platform", "linux/arm64", "--provenance", "false"),
        *("--output", "type=docker,name=cannery-test:planted", str(tmp_path)),
    )
    hits = search(planted.values(), site.places("cannery-test:planted"))
    for name, place in {**dict(zip(planted, planted, strict=True)), "cache": "build cache"}.items():
        assert [hit for hit in hits if hit.startswith(f"{name} in {place}")], (name, hits)
