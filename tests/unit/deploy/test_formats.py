# SPDX-License-Identifier: Apache-2.0
"""What each format says of a workload, and what is refused."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from cannery.deploy.formats import FORMATS
from tests.unit.workloads import SERVED, TARGET, container, documents, refused, text


@pytest.mark.parametrize("form", ["shell", "compose"])
def test_several_hosts_need_a_cluster(form: str) -> None:
    refused(form, "is for one host, not for 2. Use --format k8s or --format volcano", nodes=2)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    refused(
        "k8s",
        "a host has 1 to 16 cards of 910b, not 17. For more, add --nodes.",
        "invalid image name '--privileged'.",
        "invalid word 'a\\x00b' in the command",
        "invalid word '\\udcff' in the command",
        "'/a:b' cannot be mounted on '/c'",
        "invalid path in the container 'd'",
        "invalid path of the host './relative'. Begin it with '/'.",
        cards=17,
        image="--privileged",
        command=["a\0b", "\udcff"],
        mounts={"/a:b": "/c", "/d": "d", "./relative": "/e"},
    )


@pytest.mark.parametrize(
    ("form", "nodes", "where"),
    [
        ("shell", 1, "/dev/shm/"),
        ("shell", 1, "/usr/local/../local/dcmi"),
        ("compose", 1, "//usr/local/Ascend/driver"),
        ("k8s", 1, "/usr/local/Ascend/driver/version.info"),
        ("k8s", 2, "/etc/hccn.conf"),
        ("volcano", 1, "/user/serverid/devindex/config"),
    ],
)
def test_a_path_that_the_container_has_is_not_mounted_again(
    form: str, nodes: int, where: str
) -> None:
    said = f"{where} in the container is used by the driver or by shared memory."
    if form == "volcano":
        said = f"{where} in the container is used by the rank table."
    refused(form, said, nodes=nodes, mounts={"/a": where})


@pytest.mark.parametrize("form", FORMATS)
def test_two_folders_are_not_mounted_on_one_path(form: str) -> None:
    said = "'/b' cannot be mounted on '/data/': '/a' is mounted there. Mount it elsewhere."
    refused(form, said, mounts={"/a": "/data", "/b": "/data/"})


@pytest.mark.parametrize("form", ["k8s", "volcano"])
def test_the_api_accepts_the_mounts_of_a_pod(form: str) -> None:
    for more in ({}, {"nodes": 2}, {"read_only": True, "user": "1000"}):
        for where in ("/tmp", "/tmp/", "/etc/hccn.conf/x", "/app/output/"):
            pod = container(form, target=SERVED, mounts={"/a": where}, **more)
            paths = [mount["mountPath"] for mount in pod["volumeMounts"]]
            assert len({os.path.normpath(path) for path in paths}) == len(paths), paths


@pytest.mark.parametrize("form", FORMATS)
def test_a_user_gets_a_name_and_a_home(form: str) -> None:
    found = text(form, user="1000:1001")
    assert "HOME" in found and "USER" in found
    assert "HOME" not in text(form)


def test_a_user_and_a_read_only_root_in_each_format() -> None:
    options: dict[str, Any] = {"user": "1000:1001", "read_only": True}
    words = text("shell", **options).split()
    for option in (
        *("--user 1000:1001", "--read-only --tmpfs", "--tmpfs /tmp:exec"),
        *("--env HOME=/tmp", "--env USER=user1000", "--workdir /tmp"),
        "--cap-drop ALL --security-opt no-new-privileges",
    ):
        assert f" {option} " in " ".join(word for word in words if word != "\\")
    service = documents("compose", **options)[0]["services"]["ascend"]
    assert service["user"] == "1000:1001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"] == ["/tmp:exec"]
    assert service["working_dir"] == "/tmp"
    assert service["environment"] == {"HOME": "/tmp", "USER": "user1000"}
    for form in ("k8s", "volcano"):
        made = container(form, **options)
        assert made["securityContext"] == {
            "runAsUser": 1000,
            "runAsGroup": 1001,
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert {"name": "tmp", "mountPath": "/tmp"} in made["volumeMounts"]
        assert made["workingDir"] == "/tmp"


def test_root_can_write_to_its_home_and_its_folder_on_a_read_only_root() -> None:
    """CANN's logs and compiled operators are there; what an application mounts below it stays."""
    options: dict[str, Any] = {"read_only": True, "target": SERVED}
    [service] = documents("compose", **options)[0]["services"].values()
    assert service["tmpfs"] == ["/tmp:exec", "/root:exec"]
    assert service["working_dir"] == "/tmp"
    assert "HOME" not in service.get("environment", {})
    assert "/root/.cache/huggingface" in {each["target"] for each in service["volumes"]}
    for form in ("k8s", "volcano"):
        mounted = [each["mountPath"] for each in container(form, **options)["volumeMounts"]]
        assert mounted.index("/root") < mounted.index("/root/.cache/huggingface")


@pytest.mark.parametrize("form", ["shell", "compose"])
def test_a_folder_beside_may_be_mounted_where_files_are_read(form: str) -> None:
    text(form, mounts={"./data": "/data", "../x": "/x"})
    refused(
        form, "invalid path of the host 'data'. Begin it with '/' or './'.", mounts={"data": "/d"}
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_folder_takes_the_place_of_the_stacks_own(form: str) -> None:
    found = text(form, target=SERVED, mounts={"/mnt/models": "/root/.cache/huggingface"})
    assert found.count("/root/.cache/huggingface") == 1
    assert "hf_cache" not in found
    assert "hf-cache" not in found
    assert "/mnt/models" in found


@pytest.mark.parametrize("cards", [0, -1, 17])
def test_a_host_does_not_have_any_number_of_cards(cards: int) -> None:
    refused("k8s", "a host has 1 to 16 cards of 910b", cards=cards)


def test_a_chip_that_nothing_is_known_of() -> None:
    refused(
        "k8s",
        "chip 999 are unknown; cannery/deploy/workload.py has 910, 910b, a3, 310p, 950",
        target=replace(TARGET, chip="999"),
    )


def test_an_x86_target_goes_to_x86_nodes() -> None:
    target = replace(TARGET, platform="linux/amd64")
    pod = documents("volcano", target=target)[-1]["spec"]["tasks"][0]["template"]["spec"]
    assert pod["nodeSelector"]["host-arch"] == "huawei-x86"
    pod = documents("k8s", target=target)[-1]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"}


@pytest.mark.parametrize(
    ("size", "quantity"),
    [("64g", "64Gi"), ("512M", "512Mi"), ("1k", "1Ki"), ("7b", "7"), ("8", "8")],
)
def test_shared_memory_is_as_large_in_a_pod(size: str, quantity: str) -> None:
    spec = documents("k8s", shm_size=size)[-1]["spec"]["template"]["spec"]
    assert spec["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": quantity}


def test_what_the_runtime_hands_over_is_not_asked_for_twice() -> None:
    words = text("shell", runtime="ascend", cards=8)
    assert "--env ASCEND_VISIBLE_DEVICES=0-7" in words
    assert "--device" not in words
    service = documents("compose", runtime="ascend", cards=2)[0]["services"]["ascend"]
    assert service["runtime"] == "ascend"
    assert service["environment"]["ASCEND_VISIBLE_DEVICES"] == "0-1"
    assert "devices" not in service


def test_volcano_tells_the_runtime_which_cards_it_chose() -> None:
    env = {each["name"]: each for each in container("volcano", runtime="ascend")["env"]}
    field = env["ASCEND_VISIBLE_DEVICES"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert field == "metadata.annotations['huawei.com/Ascend910']"
    assert "env" not in container("k8s", runtime="ascend")


def test_a_server_is_reached_and_keeps_its_files() -> None:
    kinds = [each["kind"] for each in documents("k8s", target=SERVED)]
    assert kinds == [*["PersistentVolumeClaim"] * 4, "Service", "Job"]
    service = documents("k8s", target=SERVED)[4]
    assert [each["port"] for each in service["spec"]["ports"]] == [7860, 8000]
    modes = {
        each["spec"]["accessModes"][0] for each in documents("k8s", target=SERVED, nodes=2)[:4]
    }
    assert modes == {"ReadWriteMany"}
