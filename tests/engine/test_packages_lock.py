# SPDX-License-Identifier: Apache-2.0
"""The step of apt in a real build: when it runs again, and what it lists without installing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import pytest

from cannery.common.package_index import PackageIndex
from cannery.engine import client as engine
from cannery.engine.bake import BakeSettings, stage_texts
from cannery.engine.base import building_architecture
from cannery.engine.builder import find_builder
from cannery.image.bake_file import Caches, ImageBuild
from cannery.image.render import Renderer
from cannery.matrix.project import Project

HERE = building_architecture()
TARGET = {"amd64": "py311-mindspore2100-cann910-910b-amd64", "arm64": "py311-torch290-cann900"}
PACKAGES = "jq procps"
TOLD = f"""
FROM build AS tell
RUN --mount=type=secret,id=apt --mount=type=bind,from=base,target=/base \\
    --mount=type=bind,from=os-installed,target=/installed \\
    mkdir /told; \\
    date --reference /installed/tmp/started +%s.%N >/told/time; \\
    cp /installed/rootfs/usr/local/share/cannery/debs/os.txt /told/installed; \\
    install-packages --list /told/listed /base {HERE} os {PACKAGES}
FROM scratch AS told
COPY --from=tell /told/ /
"""


@pytest.fixture
def small(project: Project, tmp_path: Path) -> ImageBuild:
    """A target of this machine's architecture, with two packages in its first layer."""
    base = f"cannery/bootstrap:bookworm-{HERE}"
    if not engine.image_id(base):
        pytest.fail(f"{base} is not here; 'nox -s image' makes it")
    return ImageBuild(
        id="packages-lock",
        tag="",
        dockerfile=tmp_path / "Dockerfile",
        folder=tmp_path,
        platform=f"linux/{HERE}",
        contexts={"cannery": str(project.build_context)},
        arguments={"BASE_IMAGE": base, "BUILD_IMAGE": base},
    )


def dockerfile(project: Project, record: str) -> str:
    """The target's, with the hash ``record`` and few packages; later stages are not built."""
    target = project.matrix().targets[TARGET[HERE]]
    text = Renderer(project).render(target).files["Dockerfile"]
    edits = {
        r"(ARG PACKAGES_SHA256=)\w+": rf"\g<1>{record}",
        rf"(?s)(install-packages /base {HERE} os )[^;]*;.*?\n(?=FROM)": rf"\g<1>{PACKAGES}\n",
    }
    for old, new in edits.items():
        text, count = re.subn(old, new, text)
        assert count == 1
    return text + TOLD


def test_apt_runs_again_for_another_record_and_without_the_cache(
    project: Project, small: ImageBuild
) -> None:
    settings = BakeSettings(
        builder=find_builder(""),
        source=PackageIndex(ca=None, index_url=""),
        caches=Caches(),
        logs=small.folder / "logs",
    )

    def told(record: str, *, no_cache: bool = False) -> dict[str, str]:
        build = replace(small, text=dockerfile(project, record), no_cache=no_cache)
        return stage_texts(build, "told", settings)

    # No earlier run had these.
    old, new = token_hex(32), token_hex(32)
    first = told(old)
    assert told(old)["time"] == first["time"]
    refreshed = told(new)
    assert refreshed["time"] != first["time"]
    assert told(new)["time"] == refreshed["time"]
    forced = told(new, no_cache=True)
    assert forced["time"] not in {first["time"], refreshed["time"]}
    assert "  jq_" in forced["listed"]
    assert forced["listed"] == forced["installed"] == first["installed"]
