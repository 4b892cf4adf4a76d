# SPDX-License-Identifier: Apache-2.0
"""Wheels that a stage builds from sdists: their layer, stages, locks and record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Application, Target
from cannery.fetch.needs import needed_files
from cannery.image.content_key import KeyInputs, context_files
from cannery.image.layers import Layer, LayerKind
from cannery.image.plan import plan_image
from cannery.image.render import Renderer
from cannery.lock.lock_file import read_lock
from tests.unit.applications import rendered, stage
from tests.unit.built_wheels import BUILT, build_lock_of, built_checkout
from tests.unit.described import described
from tests.unit.matrices import Checkout, edited, load

SITE = "/usr/local/lib/python3.9/dist-packages"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return built_checkout(tmp_path)


def served(checkout: Checkout) -> Target:
    return checkout.matrix.targets["served"]


def built_layer(checkout: Checkout, target: Target) -> Layer:
    found = plan_image(target, read_lock(checkout.project, target)).layers
    [layer] = [each for each in found if each.kind is LayerKind.BUILT_WHEEL]
    return layer


def test_its_layer_is_beside_those_of_vendors(checkout: Checkout) -> None:
    layer = built_layer(checkout, served(checkout))
    assert layer.name == layer.stage == "wheels-built-serve_npu"
    assert [wheel.name for wheel in layer.wheels] == ["serve-npu"]
    assert {"serve_npu", "torch", "python", "base"} <= layer.components
    lock = read_lock(checkout.project, served(checkout))
    names = [each.name for each in plan_image(served(checkout), lock).layers]
    assert names.index("wheels-torch_npu") < names.index(layer.name) < names.index("wheels-pip")


def test_an_interpreter_of_an_archive_builds_as_well(tmp_path: Path) -> None:
    text = edited(
        "    python: base-python\n    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0."
        "RC2, chip: 910b}\n    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n    application",
        "    python: own-python\n    cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0."
        "RC2, chip: 910b}\n    torch: 2.3.1\n    torch_npu: 2.3.1.post2\n    application",
        BUILT,
    )
    builder = stage(rendered(built_checkout(tmp_path, text), "served")["Dockerfile"], "builder")
    assert "COPY --link --from=python /layer/ /" in builder


def test_a_built_wheel_is_no_artifact(checkout: Checkout) -> None:
    target = served(checkout)
    assert "serve_npu" not in target.artifacts
    assert "serve_npu" not in needed_files(target, simulate=True)
    head, _, _ = rendered(checkout, "served")["Dockerfile"].partition("FROM ")
    assert "serve_npu" not in head


def test_the_record_has_the_installed_version(checkout: Checkout) -> None:
    files = rendered(checkout, "served")
    made = described(files)
    record = json.loads(made["target.json"])
    assert record["wheels"]["serve-npu"] == "1.1+npu"
    assert record["vendor_wheels"] == {}
    assert "\nserve-npu==1.1+npu  # " in made["constraints.txt"]
    layers = json.loads(files["target.json"])["layers"]
    assert layers["wheels-built-serve_npu"] == "serve-npu"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SERVE_DEVICE: empty", "SERVE_DEVICE: npu"),
        ("local: npu", "local: other"),
        ("[setuptools<81, wheel]", "[setuptools<81]"),
        ("sdist: serve-npu==1.1", "sdist: serve-npu==1.0"),
        (
            "torch: 2.3.1\n    torch_npu: 2.3.1.post2\n    application",
            "torch: 2.1.0\n    torch_npu: 2.1.0.post6\n    application",
        ),
    ],
)
def test_inputs_of_a_built_wheel_are_in_its_identity_and_the_key(
    tmp_path: Path, old: str, new: str
) -> None:
    found = []
    for name, text in (("before", BUILT), ("after", edited(old, new, BUILT))):
        (tmp_path / name).mkdir()
        checkout = built_checkout(tmp_path / name, text)
        renderer = Renderer(checkout.project)
        target = served(checkout)
        own = context_files(renderer.render(target).files, renderer.context)
        key = KeyInputs.committed(target, own, simulator="").key
        found.append((built_layer(checkout, target).identity, key))
    (identity, key), (other, other_key) = found
    assert identity != other
    assert key != other_key


def test_deepspeed_is_built_in_the_same_way(tmp_path: Path) -> None:
    text = edited(
        "    file: deepspeed-0.6.0-py3-none-any.whl\n    origin: built where torch is\n",
        "    sdist: deepspeed==0.6.0\n    build_requirements: [wheel]\n",
        BUILT,
    )
    files = rendered(built_checkout(tmp_path, text), "old")
    line = "install-wheels --file /tmp/wheels/*.whl --plugin\n"
    assert line in stage(files["Dockerfile"], "wheels-built-deepspeed")
    assert "deepspeed-0.6.0-py3" not in files["Dockerfile"]
    assert json.loads(described(files)["target.json"])["wheels"]["deepspeed"] == "0.6.0"


def test_a_missing_lock_of_build_requirements(checkout: Checkout) -> None:
    checkout.project.build_requirements_lock(served(checkout)).unlink()
    with pytest.raises(MatrixError) as caught:
        Renderer(checkout.project).render(served(checkout))
    what = "the build requirements of served are not locked."
    assert str(caught.value) == f"{what} Run 'python build.py lock --target served'."


def changed(target: Target) -> Target:
    """``target`` with other build requirements."""
    assert isinstance(target.application, Application)
    [wheel] = target.built_wheels.values()
    wheels = {"serve_npu": replace(wheel, requirements=("setuptools", "wheel"))}
    return replace(target, application=replace(target.application, wheels=wheels))


def test_a_lock_of_other_build_requirements(checkout: Checkout) -> None:
    with pytest.raises(MatrixError) as caught:
        Renderer(checkout.project).render(changed(served(checkout)))
    assert "build-requirements.lock:1:1: the build requirements of the target have" in str(
        caught.value
    )
    assert "Run 'python build.py lock --target served'." in str(caught.value)


def test_a_lock_of_build_requirements_without_files(checkout: Checkout) -> None:
    target = served(checkout)
    path = checkout.project.build_requirements_lock(target)
    lines = build_lock_of(target).splitlines()
    text = "\n".join(line for line in lines if "# file: pip-" not in line)
    path.write_text(text, encoding="utf-8")
    said = r"build-requirements.lock:2:1: the lock lists no single file for pip\."
    with pytest.raises(MatrixError, match=said):
        Renderer(checkout.project).render(target)


def test_it_can_be_the_application_itself(tmp_path: Path) -> None:
    text = edited(
        "      serve_npu:\n", "      serve:\n", edited("serve-npu==1.1", "serve==1.2", BUILT)
    )
    text = edited("requirements: [serve==1.2, ", "requirements: [", text)
    target = load(tmp_path, text).targets["served"]
    assert target.components["serve"] == "1.2"
    assert target.built_wheels["serve"].installed_version == "1.2+npu"
