# SPDX-License-Identifier: Apache-2.0
"""What applications, vendor wheels, other frameworks and reasons make of the files of a target."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cannery.deploy.run_spec import DRIVER_MOUNTS
from tests.unit.applications import TEXT, rendered, stacked_checkout, stage
from tests.unit.described import described
from tests.unit.matrices import Checkout, edited, make_checkout


@pytest.fixture
def stacked(tmp_path: Path) -> Checkout:
    return stacked_checkout(tmp_path)


def copied(dockerfile: str) -> list[str]:
    """What the image has of wheels, sources and an application's packages, in this order."""
    found = re.findall(r"^COPY --link --from=(\S+) /layer/ /$", dockerfile, re.MULTILINE)
    return [name for name in found if name.startswith(("wheels-", "source-", "packages-"))]


def test_the_layers_of_an_application(stacked: Checkout) -> None:
    files = rendered(stacked, "served")
    text = files["Dockerfile"]
    assert copied(text) == [
        *("wheels-cann", "wheels-torch", "wheels-torch_npu", "wheels-torch_npu-deps"),
        *("wheels-vendor-serve_npu", "wheels-pip", "wheels-py-spy"),
        *("packages-application", "wheels-application"),
        *("source-serve_lib", "source-serve_extra"),
    ]
    layers = json.loads(files["target.json"])["layers"]
    assert re.fullmatch(r".*\bserve\b.* tqdm", layers["wheels-application"])


def test_only_sdists_of_a_layer_are_built_for_it(tmp_path: Path) -> None:
    text = edited("requirements: [tqdm]", "requirements: [fire, rouge-score]", TEXT)
    text = edited("sdists: [fire, rouge-score]", "sdists: [fire, rouge-score, nowhere]", text)
    text = rendered(stacked_checkout(tmp_path, text), "served")["Dockerfile"]
    assert "--no-binary fire --no-binary rouge-score\n" in stage(text, "wheels-application")
    assert text.count("--no-binary") == 2


def test_a_source_is_checked_unpacked_and_found_by_python(stacked: Checkout) -> None:
    text = rendered(stacked, "served")["Dockerfile"]
    site = "/usr/local/lib/python3.9/dist-packages"
    steps = stage(text, "source-serve_lib")
    assert re.search(r"^ARG SERVE_LIB_SHA256=[0-9a-f]{64}$", steps, re.MULTILINE)
    file = "serve-lib-1.2.tar.gz"
    assert f"from=artifacts,source={file},target=/tmp/{file}" in steps
    assert f'unpack-archive /tmp/{file} "${{SERVE_LIB_SHA256}}" /layer/opt/serve_lib; ' in steps
    assert f"echo /opt/serve_lib > /layer{site}/serve_lib.pth" in steps
    assert re.search(r"^ARG SERVE_EXTRA_SHA256=$", stage(text, "source-serve_extra"), re.MULTILINE)
    assert "source-" not in rendered(stacked, "full")["Dockerfile"]


def test_packages_of_an_application_are_a_layer_of_their_own(stacked: Checkout) -> None:
    text = rendered(stacked, "served")["Dockerfile"]
    packages = stage(text, "packages-application-installed")
    assert re.search(
        r"install-packages /rootfs arm64 packages-application \\\s+git pdsh\n", packages
    )
    sealed = stage(text, "packages-application")
    assert "--mount=type=bind,from=os-installed,source=/rootfs,target=/before" in sealed
    assert "pdsh" not in text.replace(packages, "")
    assert "packages-application" not in rendered(stacked, "other")["Dockerfile"]


def test_wheels_of_vendors(stacked: Checkout) -> None:
    files = rendered(stacked, "old")
    text = files["Dockerfile"]
    names = {
        "torch_npu": "torch_npu-1.11.0-cp38-cp38-linux_aarch64.whl",
        "apex": "apex-0.1+ascend-cp38-cp38-linux_aarch64.whl",
        "deepspeed": "deepspeed-0.6.0-py3-none-any.whl",
        "deepspeed_plugin": "deepspeed_npu-0.6.0-py3-none-any.whl",
    }
    for component, file in names.items():
        steps = stage(text, f"wheels-vendor-{component}")
        simulated = "SIMULATED " if component == "apex" else ""
        assert f"ARG {simulated}{component.upper()}_SHA256=\n" in steps
        assert f"install-wheels --file /tmp/{file} --sha256 " in steps
        assert ("--simulated" in steps) == (component == "apex")
    vendors = [f"wheels-vendor-{component}" for component in names]
    assert copied(text) == [
        *(
            "wheels-cann",
            "wheels-torch",
            "wheels-torch_npu",
            *vendors,
            "wheels-pip",
            "wheels-py-spy",
        )
    ]
    layers = json.loads(files["target.json"])["layers"]
    assert not re.search(r"\b(torch-npu|deepspeed|apex)\b", " ".join(layers.values()))
    made = described(files)
    assert "\ntorch-npu==1.11.0  # " in made["constraints.txt"]
    record = json.loads(made["target.json"])
    assert set(record["vendor_wheels"]) == set(names)
    assert not {"torch-npu", "deepspeed", "apex"} & set(record["wheels"])


@pytest.mark.parametrize("version", ["0.6.0", "0.9.2"])
def test_the_launcher_from_an_index_imports_the_plugin(tmp_path: Path, version: str) -> None:
    checkout = make_checkout(tmp_path, edited("deepspeed: 0.15.0", f"deepspeed: {version}"))
    text = rendered(checkout, "full")["Dockerfile"]
    assert " --plugin " in stage(text, "wheels-deepspeed")
    assert text.count("--plugin") == 1


def test_another_framework(stacked: Checkout) -> None:
    files = rendered(stacked, "other")
    names = ("cann", "pip", "py-spy", "application")
    assert copied(files["Dockerfile"]) == [f"wheels-{name}" for name in names]
    made = described(files)
    pins = [line for line in made["constraints.txt"].splitlines() if not line.startswith("#")]
    assert [pin.split("==")[0] for pin in pins] == ["numpy", "other"]
    assert json.loads(made["target.json"])["held"] == ["numpy==1.0", "other==2.0.0"]
    named = [line for line in files["Dockerfile"].splitlines() if "torch" in line]
    assert all("keep" in line or "cxx_abi" in line for line in named), named


def test_a_reason_is_shown_wherever_the_target_is(tmp_path: Path) -> None:
    text = edited("summary: a server\n", "summary: a server\n    unverified: our own 2.3\n", TEXT)
    stacked = stacked_checkout(tmp_path, text)
    dockerfile = rendered(stacked, "served")["Dockerfile"]
    head, _, rest = dockerfile.partition("\nARG BASE_IMAGE")
    assert "\n# NOT KNOWN TO WORK, and allowed for this reason: our own 2.3\n" in head
    assert 'io.cannery.unverified="our own 2.3"' in rest
    other = rendered(stacked, "other")["Dockerfile"]
    assert "NOT KNOWN" not in other
    assert "unverified" not in other


# ---- compose.yaml


def compose(stacked: Checkout, name: str = "served") -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(rendered(stacked, name)["compose.yaml"])
    return read


def places(service: dict[str, Any]) -> dict[str, str]:
    return {each["source"]: each["target"] for each in service["volumes"]}


def test_a_stack_with_ports_has_a_compose_file(stacked: Checkout) -> None:
    files = {name: rendered(stacked, name) for name in stacked.matrix.targets}
    assert {name for name, each in files.items() if "compose.yaml" in each} == {"served"}
    text = files["served"]["compose.yaml"]
    assert text.startswith("# Generated by 'python build.py render'")
    assert text.endswith('"8000:8000"\n')


def test_the_settings_of_the_compose_file(stacked: Checkout) -> None:
    read = compose(stacked)
    assert [*read] == ["services"]
    assert [*read["services"]] == ["serve"]
    service = read["services"]["serve"]
    assert service["image"] == "cannery:served"
    assert service["platform"] == "linux/arm64"
    assert service["shm_size"] == "16g"
    assert service["ports"] == ["7860:7860", "8000:8000"]
    assert service["devices"] == [
        f"/dev/{name}:/dev/{name}"
        for name in ("davinci0", "davinci_manager", "devmm_svm", "hisi_hdc")
    ]
    assert places(service) == {
        **{path: path for path in DRIVER_MOUNTS},
        "./hf_cache": "/root/.cache/huggingface",
        "/data": "/data",
    }
    assert [each["target"] for each in service["volumes"] if each.get("read_only")] == [
        *DRIVER_MOUNTS
    ]
    assert service["init"] is True
    assert service["command"] == ["sleep", "infinity"]
