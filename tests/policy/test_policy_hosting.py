# SPDX-License-Identifier: Apache-2.0
"""How to run each target elsewhere: what Kubernetes, Volcano and a shell make of the texts.

Kubernetes' own schemas check everything but Volcano's Job, whose schema is written down here from
its documentation. Compose checks its own in tests/engine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from kubernetes_validate import utils

from cannery.common.model import Target
from cannery.deploy import formats
from cannery.deploy.run_spec import DRIVER_MOUNTS
from cannery.deploy.user_options import CLUSTERS, ClusterOptions, UserOptions
from cannery.deploy.workload import CHIPS, Workload
from tests.policy.conftest import PROJECT

IMAGE = "registry.example.com/ascend:tag"
VOLCANO = json.loads(
    (Path(__file__).parent / "data" / "volcano-job.schema.json").read_text(encoding="utf-8")
)
OLDEST, NEWEST = utils.all_versions()[0], utils.all_versions()[-1]

# cards (0: a whole host), nodes, runtime, on a simulated host
SHAPES = {
    "one card": (1, 1, "devices", False),
    "whole host": (0, 1, "devices", False),
    "nodes": (0, 4, "devices", False),
    "runtime": (1, 1, "ascend", False),
    "runtime on nodes": (0, 2, "ascend", False),
    "simulated": (1, 1, "devices", True),
    "simulated nodes": (2, 2, "devices", True),
}

Json = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _schemas_are_read_once() -> Iterator[None]:
    """They are read again for every document otherwise, which is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "schema_contents", cache(utils.schema_contents))
        yield


def cards_of(target: Target, cards: int) -> int:
    return cards or next(iter(CHIPS[target.chip].hosts))


def documents(target: Target, form: str, shape: str) -> list[Json]:
    cards, nodes, runtime, simulated = SHAPES[shape]
    if form == "deployment":
        nodes = 1
    text = formats.text(
        form,
        Workload(
            image=IMAGE,
            target=target,
            cards=tuple(range(cards_of(target, cards))),
            nodes=nodes,
            runtime=runtime,
            simulate_host=Path("/srv/simulated host") if simulated else None,
            mounts={"/data sets": "/data"},
            command=("sh", "-c", "echo $HOME"),
            asked=UserOptions(
                ports=("80:8000",) if form == "deployment" else (),
                cluster=ClusterOptions(
                    namespace="team-a",
                    pull_secrets=("registry",),
                    tolerations=("npu=true:NoSchedule", "dedicated"),
                ),
            ),
        ),
    )
    assert text.endswith("\n")
    return [*yaml.load_all(text, Loader=yaml.CSafeLoader)]


def pod_of(job: Json) -> Json:
    spec = job["spec"]
    template: Json = spec["tasks"][0]["template"] if "tasks" in spec else spec["template"]
    return template


def check(document: Json, version: str) -> None:
    if document["apiVersion"].startswith("batch.volcano.sh/"):
        jsonschema.validate(document, VOLCANO)
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "template"}}
        document = template | {"template": pod_of(document)}
    kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", CLUSTERS)
def test_a_cluster_accepts_it(target: Target, form: str, shape: str) -> None:
    for document in documents(target, form, shape):
        check(document, NEWEST)


@pytest.mark.parametrize("form", CLUSTERS)
def test_an_old_cluster_accepts_it(target: Target, form: str) -> None:
    for document in documents(target, form, "runtime on nodes"):
        check(document, OLDEST)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", CLUSTERS)
def test_names_in_a_manifest_are_consistent(target: Target, form: str, shape: str) -> None:
    """What no schema looks at: names that must be the same, be unique, or be a host's."""
    found = documents(target, form, shape)
    job = found[-1]
    name = job["metadata"]["name"]
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)
    assert len(f"{name}-worker-999") <= 63
    pod = pod_of(job)
    container = pod["spec"]["containers"][0]
    volumes = [each["name"] for each in pod["spec"]["volumes"]]
    mounts = [each["mountPath"] for each in container["volumeMounts"]]
    assert [each["name"] for each in container["volumeMounts"]] == volumes
    assert len({*volumes}) == len(volumes)
    assert len({*mounts}) == len(mounts)
    claims = [each["metadata"]["name"] for each in found if each["kind"].endswith("Claim")]
    assert claims == [
        each["persistentVolumeClaim"]["claimName"]
        for each in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in each
    ]
    for each in found:
        if each["kind"] == "Service":
            assert each["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
            assert each["metadata"]["name"] == name


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", CLUSTERS)
def test_a_pod_asks_for_its_cards(target: Target, form: str, shape: str) -> None:
    cards, nodes, runtime, simulated = SHAPES[shape]
    if form == "deployment":
        nodes = 1
    job = documents(target, form, shape)[-1]
    spec = pod_of(job)["spec"]
    container = spec["containers"][0]
    if simulated:
        assert "resources" not in container
        assert any(each["name"] == "ASCEND_RT_VISIBLE_DEVICES" for each in container["env"])
    else:
        resources = {"310p": "Ascend310P", "950": "npu"}
        resource = f"huawei.com/{resources.get(target.chip, 'Ascend910')}"
        amount = {resource: cards_of(target, cards)}
        assert container["resources"] == {"requests": amount, "limits": amount}
    paths = {each["mountPath"] for each in container["volumeMounts"] if each.get("readOnly")}
    expected = {"/usr/local/Ascend/driver/version.info"} if runtime == "ascend" else DRIVER_MOUNTS
    assert paths >= {*expected, "/etc/ascend_install.info"}
    assert ("/etc/hccn.conf" in paths) == (nodes > 1 and not simulated)
    names = {each["name"] for each in container.get("env", [])}
    assert ({"MASTER_ADDR", "RANK", "HCCL_IF_IP"} <= names) == (nodes > 1)
    assert ("HCCL_CONNECT_TIMEOUT" in names) == (cards != 1)
    assert (spec.get("affinity") is not None) == (nodes > 1)


def test_the_committed_compose_file_is_the_same_text(target: Target) -> None:
    path = PROJECT.images / target.id / "compose.yaml"
    if target.application and target.application.ports:
        text = formats.text("compose", Workload(image=f"cannery:{target.id}", target=target))
        assert path.read_text(encoding="utf-8").endswith(f"\n#\n{text}")
    else:
        assert not path.exists()
