# SPDX-License-Identifier: Apache-2.0
"""Two other machines: one builds the main target with secrets, the other builds it again.

No secret is left, and all layers are equal. Both engines have containerd's image store: the other
store writes the files of a layer that several images share in one of two orders.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from cannery.common.references import image_name
from tests.canaries import Canary, Content, canaries, search, watching

from .conftest import MAIN
from .proxy import guarded_index
from .rooms import Machine, machine
from .two_engines import layers

IMAGE = image_name(MAIN, simulate=True)
PLANTING = """\
FROM {image} AS stage
RUN true {cache}
FROM {image}
COPY --from=stage /etc/debian_version /planted
COPY file /{layers}
ENV history={history}
LABEL config={config}
"""


@dataclass(frozen=True, kw_only=True)
class Builder:
    """A machine that has built the main target, the secrets it was given, and what was seen."""

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
        cache = docker("buildx", "du", "--verbose").encode()
        return {
            # The config in it has the history.
            "layers and history": [archive],
            "config": [docker("image", "inspect", image).encode()],
            "build cache": [cache, root / "buildkit" / "cache.db"],
            "build history": [root / "buildkit" / "history.db"],
            "logs and packages": [self.machine.clone / ".cannery"],
            "console": [self.said.encode()],
            "command lines": [self.commands],
            "temporary files": [self.temporary],
        }


def _trusting(folder: Path, authority: trustme.CA, secret: str) -> Path:
    """A file of this machine's certificates and that of ``authority``, with a secret in it."""
    system = Path(ssl.get_default_verify_paths().cafile or "").read_text(encoding="utf-8")
    path = folder / "ca.pem"
    text = f"{system}\n# {secret}\n{authority.cert_pem.bytes().decode()}"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    folder = tmp_path_factory.mktemp("builder")
    (folder / "tmp").mkdir()
    secrets = canaries("index", "proxy", "ca")
    authority, pem = trustme.CA(), folder / "index.pem"
    ca = _trusting(folder, authority, secrets["ca"].secret)
    with machine(folder, 10, secrets["proxy"].secret) as found:
        authority.issue_cert(found.address).private_key_and_cert_chain_pem.write_to_path(str(pem))
        with (
            guarded_index(found.address, "reader", secrets["index"].secret, pem) as url,
            watching(pause=0.5) as watched,
        ):
            said = found.build_py(
                *("--target", MAIN, "--simulate", "--no-test", "--ca", str(ca)),
                TMPDIR=str(folder / "tmp"),
                UV_DEFAULT_INDEX=url,
            )
        assert said.code == 0, said.text[-4000:]
        yield Builder(
            machine=found,
            secrets=secrets,
            said=said.text,
            commands=watched.content,
            temporary=folder / "tmp",
        )


def test_no_secret_of_a_build_is_left(builder: Builder) -> None:
    hits = search(builder.secrets.values(), builder.places(IMAGE))
    # buildx gives the proxies in docker's settings to every build, and BuildKit records them.
    assert {*hits} <= {"proxy in build history: history.db"}
    others = [builder.secrets["index"], builder.secrets["ca"]]
    assert search(others, {"docker's settings": [builder.machine.settings]}) == []


def test_secrets_planted_in_the_engine_are_found(builder: Builder, tmp_path: Path) -> None:
    planted = canaries("layers", "history", "config", "cache")
    words = {name: each.secret for name, each in planted.items()}
    text = PLANTING.format(image=IMAGE, **words)
    (tmp_path / "Dockerfile").write_text(text, encoding="utf-8")
    (tmp_path / "file").touch()
    builder.machine.engine.docker(
        *("buildx", "build", "--platform", "linux/arm64", "--provenance", "false"),
        *("--output", "type=docker,name=cannery-test:planted", str(tmp_path)),
    )
    hits = search(planted.values(), builder.places("cannery-test:planted"))
    places = ("layers and history", "layers and history", "config", "build cache")
    for name, place in zip(planted, places, strict=True):
        assert [hit for hit in hits if hit.startswith(f"{name} in {place}")], (name, hits)


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("second"), 11) as found:
        yield found


def test_another_machine_builds_equal_layers(builder: Builder, second: Machine) -> None:
    assert second.engine.docker("buildx", "du").split()[-1] == "0B"
    said = second.build_py("--target", MAIN, "--simulate", "--no-test")
    assert said.code == 0, said.text[-4000:]
    assert layers(second.engine, IMAGE) == layers(builder.machine.engine, IMAGE)
