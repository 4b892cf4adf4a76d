# SPDX-License-Identifier: Apache-2.0
"""A bundle of a target that takes torch from an index of its makers, made here and used elsewhere.

The image is built in seconds from a few files. The other engine is empty, in a network without a
route, so that neither the index nor the registry of the base can be reached.
"""

from __future__ import annotations

import shutil

import pytest

from cannery.common.files import write_files
from cannery.image.render import Renderer
from cannery.matrix.project import Project
from tests.faults import small_checkout
from tests.faults.small_checkout import commit, make_small_checkout, with_hashes
from tests.unit.matrices import lock_for

from .engines import engine, registry, without_route
from .small_builds import OTHER, Checkout, World

INDEX = "https://torch.example.test/whl/cpu"
STEP = "set -e; sh /tmp/toolkit.run;"


def with_index(project: Project) -> None:
    """Let the target take torch from the index, whose options its build has."""
    text = project.matrix_file.read_text(encoding="utf-8")
    text = text.replace("    torch: 2.3.1\n", "    torch: 2.3.1\n    torch_index: cpu\n")
    indexes = f'torch_indexes:\n  cpu: {{url: "{INDEX}", local: cpu}}\n\ntargets:\n'
    project.matrix_file.write_text(text.replace("targets:\n", indexes), encoding="utf-8")
    [target] = project.matrix().targets.values()
    assert target.torch_index
    template = project.templates / "Dockerfile.j2"
    text = template.read_text(encoding="utf-8")
    options = "echo {{ plan.requirements.index_options | join(' ') }};"
    assert STEP in text
    template.write_text(text.replace(STEP, f"{STEP} {options}"), encoding="utf-8")
    lock = lock_for(target).replace("torch==2.3.1 ", "torch==2.3.1+cpu ")
    lock = lock.replace("torch-2.3.1-py3", "torch-2.3.1+cpu-py3")
    write_files({project.lock(target): with_hashes(lock)})
    write_files(Renderer(project).render(target).paths(project))
    commit(project.root)


def test_a_target_with_an_index_of_torch_is_built_from_a_bundle(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # Paths of sockets must be short.
    tmp_path = tmp_path_factory.mktemp("index")
    (tmp_path / "maker").mkdir()
    (tmp_path / "user").mkdir()
    (tmp_path / "checkouts").mkdir()
    file = tmp_path / "x.bundle"
    with (
        registry(tmp_path) as host,
        engine(tmp_path / "maker", 24, containerd=True) as maker,
    ):
        world = World(engine=maker, host=host, folder=tmp_path / "checkouts")
        root = tmp_path / "checkout"
        with_index(make_small_checkout(root, world.publish("own"), architecture=OTHER))
        made = Checkout(project=Project(root=root), engine=maker)
        dockerfile = (made.project.images / small_checkout.TARGET / "Dockerfile").read_text()
        assert f"--index {INDEX} --index-strategy unsafe-best-match" in dockerfile
        said = made.build_py("bundle", small_checkout.TARGET, "--out", str(file))
        assert said.code == 0, said.text[-4000:]
    shutil.rmtree(root / ".cannery")
    with (
        without_route(25) as inside,
        engine(tmp_path / "user", 25, containerd=True, inside=inside) as user,
    ):
        used = Checkout(project=Project(root=root), engine=user)
        said = used.build_py("--from-bundle", str(file))
        assert said.code == 0, said.text[-4000:]
        assert "cannery:tiny is ready" in said.text
        assert "torch==2.3.1+cpu" in used.text("/usr/local/share/cannery/requirements.lock")
