# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.deploy import formats
from cannery.deploy.workload import RUNTIMES, Workload
from cannery.publish.catalog import CARDS, details
from cannery.registry.records import Record
from tests.unit.catalogues import BARE, NPU, SIMULATED, entry, release, verify
from tests.unit.matrices import MATRIX, Checkout, make_checkout
from tests.unit.publications import sha

BY_DIGEST = f"registry.example.com/ascend@{sha('1')}"


def facts(checkout: Checkout, *records: Record, name: str = "full") -> dict[str, Any]:
    """The facts about a target after these releases, as the document has them."""
    [found] = details(checkout.project, [entry(checkout, *records, name=name)])
    document: dict[str, Any] = json.loads(json.dumps(found))
    return document


@pytest.fixture
def target(checkout: Checkout) -> Target:
    return checkout.matrix.targets["full"]


def texts(found: dict[str, Any], use: str) -> list[str]:
    return [each["text"] for each in found["commands"] if each["use"] == use]


def uses(found: dict[str, Any]) -> set[str]:
    return {each["use"] for each in found["commands"]}


def test_a_target_without_a_release(checkout: Checkout) -> None:
    found = facts(checkout)
    assert (found["release"], found["verdicts"], found["application"]) == (None, [], None)
    assert found["trial"] == {"title": "910b arm 1gpu", "url": "https://train.example.com/trials/7"}
    assert {layer["size"] for layer in found["layers"]} == {None}
    assert (found["wheels"]["numpy"], found["wheels"]["apex"]) == ("1.26.4", "0.1+ascend")
    cann = facts(checkout, name="bare")["cann"]
    assert (cann["version"], cann["interim"], cann["nearest_public"]) == (
        *("8.0.T39", True, "8.0.RC3"),
    )
    assert cann["order"] < found["cann"]["order"]


def test_the_findings_are_those_that_explain_prints(checkout: Checkout) -> None:
    found = facts(checkout)
    assert {each["component"] for each in found["findings"]} >= {"torch_npu", "numpy"}
    for each in found["findings"]:
        assert [*each] == ["component", "verdict", "text", "rows", "against"]
    assert found["driver"] == {"minimum": "24.1.rc2", "maximum": "", "disputed": False}
    assert facts(checkout, name="bare")["driver"] is None


def test_a_release_gives_sizes_and_results(checkout: Checkout, target: Target) -> None:
    verify(checkout, BARE, SIMULATED)
    found = facts(checkout, release(target))
    assert found["release"]["platforms"]["linux/arm64"]["size"] == 3_141_592_653
    sizes = {layer["name"]: layer["size"] for layer in found["layers"] if layer["size"]}
    assert sizes == {"wheels-torch": 800_000_000}
    assert [(each["tested"]["device"], each["where"]) for each in found["verdicts"]] == [
        ("npu", "npu"),
        ("simulated", "simulated"),
    ]
    assert found["verdicts"][0]["tested"]["hardware"] == NPU.hardware


def test_the_number_of_other_targets_with_a_layer(tmp_path: Path) -> None:
    full = MATRIX.partition("  full:\n")[2].partition("  bare:\n")[0]
    twin = full.replace("    deepspeed: 0.15.0\n", "")
    checkout = make_checkout(tmp_path, f"{MATRIX}  twin:\n{twin}")
    others = {layer["name"]: layer["others"] for layer in facts(checkout)["layers"]}
    assert {others[name] for name in ("os", "toolkit", "kernels", "wheels-torch")} == {1}
    assert {others[name] for name in ("wheels-deepspeed", "guard")} == {0}
    assert {layer["others"] for layer in facts(checkout, name="bare")["layers"]} == {0}


def test_every_lock_that_is_missing_is_named(checkout: Checkout) -> None:
    for each in checkout.matrix.targets.values():
        checkout.project.lock(each).unlink()
    with pytest.raises(MatrixError) as caught:
        facts(checkout)
    assert len(caught.value.problems) == 2


# ---- commands


def test_a_published_image_is_pulled_by_its_digest(checkout: Checkout, target: Target) -> None:
    found = facts(checkout, release(target))
    assert found["commands"][0]["use"] == "pull"
    assert shlex.split(found["commands"][0]["text"]) == [
        *("docker", "pull", "--platform", "linux/arm64", BY_DIGEST)
    ]
    assert "build" not in uses(found)
    assert all(BY_DIGEST in each["text"] for each in found["commands"])


def test_an_unpublished_image_is_built_and_run_where_it_was_built(checkout: Checkout) -> None:
    found = facts(checkout)
    assert found["commands"][0]["use"] == "build"
    assert {"pull", "sbom", "provenance", "signature"}.isdisjoint(uses(found))
    assert all("\n  cannery:full" in text for text in texts(found, "shell"))
    assert found["reference"] == "registry.example.com/ascend:full"
    for use in ("k8s", "volcano"):
        assert all(f"image: {found['reference']}\n" in text for text in texts(found, use))


def test_there_is_one_text_for_each_kind_of_host_as_run_prints_it(
    checkout: Checkout, target: Target
) -> None:
    found = facts(checkout, release(target))
    hosts = [(cards, runtime) for cards in CARDS for runtime in RUNTIMES]
    for use in formats.FORMATS:
        commands = [each for each in found["commands"] if each["use"] == use]
        of_servers = [(0, runtime) for runtime in RUNTIMES]
        assert [(each["cards"], each["runtime"]) for each in commands] == (
            of_servers if use == "volcano" else hosts
        )
        for each in commands:
            workload = Workload(
                image=BY_DIGEST,
                target=target,
                cards=tuple(range(each["cards"] or CARDS[-1])),
                nodes=2 if use == "volcano" else 1,
                runtime=each["runtime"],
            )
            assert formats.text(use, workload) == each["text"] + "\n"


def test_a_simulated_image_is_run_with_a_simulated_driver(
    checkout: Checkout, target: Target
) -> None:
    found = facts(checkout, release(target, simulated=True))
    assert uses(found) == {"pull", "try", "sbom", "provenance", "signature"}
    assert texts(found, "try") == [f"python build.py run full --simulate --image {BY_DIGEST}"]


def test_how_to_check_the_origin_that_the_record_has(checkout: Checkout, target: Target) -> None:
    found = facts(checkout, release(target))
    inspect = ["docker", "buildx", "imagetools", "inspect", BY_DIGEST, "--format"]
    assert shlex.split(texts(found, "sbom")[0]) == [*inspect, "{{json .SBOM}}"]
    assert shlex.split(texts(found, "provenance")[0]) == [*inspect, "{{json .Provenance}}"]
    verify = ["cosign", "verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", BY_DIGEST]
    assert shlex.split(texts(found, "signature")[0]) == verify
    plain = facts(checkout, release(target, attestations={}, signed=False))
    assert {"sbom", "provenance", "signature"}.isdisjoint(uses(plain))
