# SPDX-License-Identifier: Apache-2.0
"""CANN out of an image of the vendor's layout, and bases out of a mirror, with a real registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.building.assembly import Assembly
from cannery.building.planning import Selection, make_plan
from cannery.common.bases import Base
from cannery.common.errors import ArtifactError
from cannery.common.package_index import PackageIndex
from cannery.engine.bake import BakeSettings, bake
from cannery.engine.base import BaseCache, Bases
from cannery.engine.builder import find_builder
from cannery.engine.images import local_images
from cannery.image.bake_file import Caches, ImageBuild
from cannery.image.content_key import bases_labels
from cannery.matrix.distributions import load_distributions
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.publish.inventory import image_inventory

from .conftest import Built
from .engines import registry
from .vendor import PATHS, VendorRegistry, run, tree

pytestmark = pytest.mark.ci("every second build from an image of the vendor failed in buildx")


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorRegistry]:
    folder = tmp_path_factory.mktemp("vendor")
    with registry(folder) as host:
        yield VendorRegistry(host=host, folder=folder)


@pytest.fixture(scope="module")
def cann(vendor: VendorRegistry, main: Built) -> str:
    return vendor.push_cann(main)


def assembled(project: Project, main: Built, reference: str) -> ImageBuild:
    """The build of the main target's image with CANN out of the image ``reference``."""
    target = replace(main.target, vendor_image=reference)
    matrix = project.matrix()
    options = BuildOptions(simulate=True, sources=("image",))
    selection = Selection(matrix=matrix, targets=(target,))
    [step] = make_plan(project, selection, options).steps
    return Assembly(project, matrix, options, find_builder("")).image(step, main.simulated)


def baked(build: ImageBuild, packages: PackageIndex, logs: Path) -> str:
    """The id of the image of ``build``, which gets no name."""
    images: dict[str, str] = {}
    settings = BakeSettings(builder=find_builder(""), source=packages, caches=Caches(), logs=logs)
    failures = bake([build], settings, lambda *_: None, images.__setitem__)
    assert not failures
    return images[build.id]


def test_cann_from_an_image_has_the_files_of_its_packages(
    project: Project, packages: PackageIndex, main: Built, cann: str, tmp_path: Path
) -> None:
    build = assembled(project, main, cann)
    assert build.labels["io.cannery.key"] != _key(main.image)
    image = baked(build, packages, tmp_path)
    try:
        platform = main.target.platform
        from_image, from_files = (tree(each, platform, *PATHS) for each in (image, main.image))
        assert len(from_files) > 50
        assert from_image == from_files
        # The environment is set by ENV, and no entry point is needed for it.
        assert _settings(image) == _settings(main.image)
        found = image_inventory(image, platform, main.target)
        assert found.vendor_image == cann
        places = {each.name: each.place for each in found.vendor}
        assert places["toolkit"] == f"the image {cann}"
    finally:
        run("docker", "image", "rm", "--force", image)


def _settings(image: str) -> str:
    form = "{{json .Config.Env}} {{json .Config.Cmd}} {{json .Config.Entrypoint}}"
    return run("docker", "image", "inspect", "--format", form, image)


def _key(image: str) -> str:
    return local_images([image])[image].labels["io.cannery.key"]


def test_an_image_with_other_contents_is_refused_before_anything_is_built(
    project: Project, main: Built, vendor: VendorRegistry, cann: str
) -> None:
    toolkit = "/usr/local/Ascend/ascend-toolkit/8.0.T39"
    info = f"{toolkit}/aarch64-linux/ascend_toolkit_install.info"
    kernels = f"{toolkit}/opp/built-in/op_impl/ai_core/tbe/kernel"
    lines = [
        f"FROM {cann}",
        f"RUN sed -i s/=8.0.T39/=8.1.RC1/ {info}; mv {kernels}/ascend910b {kernels}/ascend310p",
        "RUN rm -r /etc/Ascend /usr/local/Ascend/nnal",
        "",
    ]
    other = vendor.push("other", "\n".join(lines))
    with pytest.raises(ArtifactError) as caught:
        assembled(project, main, other)
    assert [str(each) for each in caught.value.problems[:-1]] == [
        f"{other} has toolkit 8.1.RC1, and 8.0.T39 is needed.",
        f"{other} has no nnal, and 8.0.T39 is needed.",
        f"{other} has operators for ascend310p, and chip 910b needs ascend910b.",
        f"{other} lacks the installer's record /etc/Ascend/ascend_cann_install.info.",
    ]


def test_a_base_is_taken_from_a_mirror_under_its_own_name(
    vendor: VendorRegistry, packages: PackageIndex, tmp_path: Path
) -> None:
    (tmp_path / "here").write_text("x", encoding="utf-8")
    there = vendor.push("base", "FROM scratch\nCOPY Dockerfile /from-the-mirror\n")
    image = f"registry.invalid/debian:12@{there.partition('@')[2]}"
    gone = there.replace("ascend/cann", "ascend/nothing")
    wanted = Base(
        name="debian-12",
        image=image,
        suite="x",
        glibc="2",
        distribution=load_distributions()["debian"],
        mirrors=(gone, there),
    )
    try:
        found = Bases(builder=find_builder(""), notes=BaseCache(state=tmp_path)).find(
            wanted, "arm64"
        )
        assert (found.reference, found.identity) == (there, image)
        labels = bases_labels(wanted, {"BASE_IMAGE": found})
        assert labels["org.opencontainers.image.base.name"] == image
        dockerfile = tmp_path / "Dockerfile"
        text = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY here /\n"
        dockerfile.write_text(text, encoding="utf-8")
        build = ImageBuild(
            id="mirrored",
            tag="mirrored",
            dockerfile=dockerfile,
            folder=tmp_path,
            platform="linux/arm64",
            arguments={"BASE_IMAGE": found.reference},
        )
        made = baked(build, packages, tmp_path / "logs")
        names = {name.rpartition("/")[2] for name in tree(made, "linux/arm64", "/")}
        assert {"from-the-mirror", "here"} <= names
        run("docker", "image", "rm", "--force", made)
    finally:
        run("docker", "image", "rm", "--force", there)
