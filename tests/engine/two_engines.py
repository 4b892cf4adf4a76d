# SPDX-License-Identifier: Apache-2.0
"""Two engines that share a registry, and small images made of what the real ones are made of."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pytest

from cannery.common.package_index import PackageIndex
from cannery.engine import client as local
from cannery.engine.bake import BakeSettings, Failures, bake
from cannery.engine.builder import Builder, find_builder
from cannery.image.bake_events import Event, EventKind
from cannery.image.bake_file import Caches, ImageBuild
from cannery.image.content_key import LABEL

from .engines import Engine

DOCKERFILE = """\
ARG BASE_IMAGE
FROM --platform=$BUILDPLATFORM ${BASE_IMAGE} AS build
RUN echo build >/build

FROM build AS toolkit
ARG TOOLKIT_SHA256=
RUN --mount=type=bind,from=artifacts,source=toolkit.run,target=/tmp/toolkit.run \\
    test -n "${TOOLKIT_SHA256}"; mkdir -p /layer/opt; cp /tmp/toolkit.run /layer/opt/toolkit; \\
    touch -d @0 /layer/opt/toolkit /layer/opt /layer

FROM build AS wheels-torch
RUN --mount=type=bind,source=wheels/torch.txt,target=/tmp/wheels.txt \\
    --mount=type=cache,target=/root/.cache/uv \\
    mkdir -p /layer/opt; cp /tmp/wheels.txt /layer/opt/wheels; \\
    touch -d @0 /layer/opt/wheels /layer/opt /layer

FROM ${BASE_IMAGE} AS image
COPY --link --from=toolkit /layer/ /
COPY --link --from=wheels-torch /layer/ /
ENV HOME=/root
"""

CACHE = "/root/.cache/uv"
"""The cache folder of the step wheels-torch, which all builds of an engine share."""

OPENING = """\
FROM {base}
RUN --mount=type=cache,target={cache} touch {cache}/{gate}
"""


@dataclass
class Heard:
    """What happened to the steps that do something: RUN and COPY."""

    done: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    images: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Steps that ended, and images that were there, one after the other."""
    when_built: Callable[[str], None] = lambda _: None
    """Is called with the name of an image that is there."""

    def built(self, target: str, image: str) -> None:
        assert target not in self.images
        self.images[target] = image
        self.order.append(f"{target} is there")
        self.when_built(target)

    def __call__(self, target: str, event: Event, _: tuple[int, int]) -> None:
        if "] RUN" in event.step or "] COPY" in event.step:
            kinds = {EventKind.DONE: self.done, EventKind.CACHED: self.cached}
            name = f"{target} {event.step.partition(']')[0][1:]}"
            kinds.get(event.kind, []).append(name)
            if event.kind is EventKind.DONE:
                self.order.append(name)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A registry, a base, and two builds that every engine and builder can do."""

    folder: Path
    registry: str
    base: str

    def builds(self, *, torch: str = "torch") -> list[ImageBuild]:
        found = []
        for name in ("one", "two"):
            folder = self.folder / "images" / name
            (folder / "wheels").mkdir(parents=True, exist_ok=True)
            (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
            text = f"{torch} of {name}\n"
            (folder / "wheels" / "torch.txt").write_text(text, encoding="utf-8")
            found.append(
                ImageBuild(
                    id=name,
                    tag=f"{name}-sim",
                    related_tags=("two-sim" if name == "one" else "one-sim",),
                    dockerfile=folder / "Dockerfile",
                    folder=folder,
                    platform="linux/amd64",
                    contexts={"artifacts": str(self.folder / "artifacts")},
                    arguments={"BASE_IMAGE": self.base, "TOOLKIT_SHA256": "0"},
                    labels={LABEL: f"sha256:{name}"},
                )
            )
        return found

    def cook(
        self,
        builds: list[ImageBuild],
        caches: Caches,
        builder: Builder | None = None,
        when_built: Callable[[str], None] = lambda _: None,
    ) -> tuple[Baked, Heard]:
        heard = Heard(when_built=when_built)
        settings = BakeSettings(
            builder=builder or find_builder(""),
            source=PackageIndex(ca=None, index_url=""),
            caches=caches,
            logs=self.folder / "logs",
        )
        failures = bake(builds, settings, heard, heard.built)
        return Baked(images=heard.images, failures=failures), heard


@dataclass(frozen=True, kw_only=True)
class World(Site):
    """The same with two engines that keep images in containerd's store."""

    first: Engine
    second: Engine


@dataclass(frozen=True, kw_only=True)
class Baked:
    """What came of a bake."""

    images: dict[str, str]
    failures: Failures


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Two builds, of which the second ends a step only once the image of the first is there.

    Without that it fails after five minutes. ``docker`` runs docker on the engine that builds.
    """

    site: Site
    docker: Callable[..., object]
    name: str = field(default_factory=lambda: str(uuid4()))

    def builds(self) -> list[ImageBuild]:
        one, two = self.site.builds(torch=self.name)
        held = two.dockerfile.with_name("Dockerfile.held")
        gate = f"{CACHE}/{self.name}"
        wait = f"for try in $(seq 3000); do if [ -e {gate} ]; then break; fi; sleep 0.1; done"
        step = f"{wait}; rm {gate} || exit 1; cp /tmp/wheels.txt"
        text = DOCKERFILE.replace("cp /tmp/wheels.txt", step)
        held.write_text(text, encoding="utf-8")
        return [one, replace(two, dockerfile=held)]

    def open(self, target: str) -> None:
        if target == "one":
            folder = self.site.folder / self.name
            folder.mkdir()
            text = OPENING.format(base=self.site.base, cache=CACHE, gate=self.name)
            (folder / "Dockerfile").write_text(text, encoding="utf-8")
            self.docker("buildx", "build", "--builder", "default", "--quiet", str(folder))


def docker(*words: str) -> None:
    """Run docker on the engine that runs here."""
    subprocess.run(["docker", *words], check=True, capture_output=True)


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Let ``engine`` be the one that everything talks to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", engine.host)
        local.connect.cache_clear()
        try:
            yield
        finally:
            local.connect.cache_clear()


def layers(engine: Engine, image: str) -> str:
    return engine.docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", image)
