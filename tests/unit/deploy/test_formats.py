# SPDX-License-Identifier: Apache-2.0
"""What each format says of a workload, and what is refused."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.model import DeviceKind
from cannery.deploy.clusters import yaml_text
from cannery.deploy.formats import FORMATS
from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    RunSpec,
    no_device,
    npu_device,
    shell_text,
    simulated_device,
)
from cannery.deploy.user_options import HPC, ClusterOptions, UserOptions
from tests.unit.workloads import IMAGE, SERVED, TARGET, container, documents, refused, text


def needed(form: str) -> dict[str, Any]:
    """What ``form`` does not do without."""
    command = {"command": ("serve",)} if form in ("slurm", "deployment") else {}
    ports = UserOptions(ports=("80:8000",)) if form == "deployment" else UserOptions()
    return command | {"asked": ports}


@pytest.mark.parametrize(
    "form", ["shell", "compose", "podman", "quadlet", "devcontainer", "apptainer"]
)
def test_several_hosts_need_a_cluster(form: str) -> None:
    refused(form, "is for one host, not for 2. Use --format k8s, volcano or slurm", nodes=2)


def test_all_problems_are_reported_at_once() -> None:
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
def test_a_mount_on_a_reserved_path_is_refused(form: str, nodes: int, where: str) -> None:
    said = f"{where} in the container is used by the driver or by shared memory."
    if form == "volcano":
        said = f"{where} in the container is used by the rank table."
    refused(form, said, nodes=nodes, mounts={"/a": where})


@pytest.mark.parametrize("form", FORMATS)
def test_two_folders_are_not_mounted_on_one_path(form: str) -> None:
    said = "'/b' cannot be mounted on '/data/': '/a' is mounted there. Mount it elsewhere."
    refused(form, said, mounts={"/a": "/data", "/b": "/data/"}, **needed(form))


@pytest.mark.parametrize("form", ["k8s", "volcano"])
def test_the_api_accepts_the_mounts_of_a_pod(form: str) -> None:
    for more in ({}, {"nodes": 2}, {"read_only": True, "user": "1000"}):
        for where in ("/tmp", "/tmp/", "/etc/hccn.conf/x", "/app/output/"):
            pod = container(form, target=SERVED, mounts={"/a": where}, **more)
            paths = [mount["mountPath"] for mount in pod["volumeMounts"]]
            assert len({os.path.normpath(path) for path in paths}) == len(paths), paths


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in HPC])
def test_a_user_gets_a_name_and_a_home(form: str) -> None:
    found = text(form, user="1000:1001", **needed(form))
    assert "HOME" in found and "USER" in found
    assert "HOME" not in text(form, **needed(form))


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
    mounts = {"/mnt/models": "/root/.cache/huggingface"}
    found = text(form, target=SERVED, mounts=mounts, **needed(form))
    assert found.count("/root/.cache/huggingface") == 1
    assert "hf_cache" not in found
    assert "hf-cache" not in found
    assert "/mnt/models" in found


@pytest.mark.parametrize("cards", [0, -1, 17])
def test_a_host_does_not_have_any_number_of_cards(cards: int) -> None:
    refused("k8s", "a host has 1 to 16 cards of 910b", cards=cards)


def test_an_unknown_chip_is_refused() -> None:
    refused(
        "k8s",
        "chip 999 are unknown; known are 910, 910b, a3, 310p, 950.",
        target=replace(TARGET, chip="999"),
    )


@pytest.mark.parametrize(
    ("chip", "cards", "ring", "accelerator", "resource"),
    [
        ("910", 8, "ascend-910", "module", "Ascend910"),
        ("910b", 8, "ascend-910b", "module-910b-8", "Ascend910"),
        ("910b", 16, "ascend-910b", "module-910b-16", "Ascend910"),
        ("a3", 8, "ascend-910b", "module-a3-16", "Ascend910"),
        ("310p", 8, "ascend-310P", None, "Ascend310P"),
    ],
)
def test_volcano_finds_hosts_of_the_chip(
    chip: str, cards: int, ring: str, accelerator: str | None, resource: str
) -> None:
    job = documents("volcano", target=replace(TARGET, chip=chip), cards=cards)[-1]
    assert job["metadata"]["labels"]["ring-controller.atlas"] == ring
    pod = job["spec"]["tasks"][0]["template"]["spec"]
    assert pod["nodeSelector"].get("accelerator-type") == accelerator
    assert pod["containers"][0]["resources"]["limits"] == {f"huawei.com/{resource}": cards}


@pytest.mark.parametrize(
    ("target_id", "name"),
    [
        ("9-to_5.X", "t-9-to-5-x"),
        ("a" * 80, "a" * 50),
        ("a" * 49 + "-b", "a" * 49),
        ("_-_", "t"),
    ],
)
def test_the_name_of_a_job_can_be_that_of_a_host(target_id: str, name: str) -> None:
    [job] = documents("k8s", target=replace(TARGET, id=target_id))
    assert job["metadata"]["name"] == name


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


def test_devices_from_the_runtime_are_not_requested_again() -> None:
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


def test_a_deployment_is_reached_when_its_port_answers() -> None:
    asked = UserOptions(
        ports=("80:8000", "81:8001/tcp"),
        cluster=ClusterOptions(
            namespace="team", pull_secrets=("login",), tolerations=("npu=on:NoSchedule", "own")
        ),
    )
    service, deployment = documents("deployment", command=("serve",), asked=asked)
    assert [(each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [
        *((80, 8000), (81, 8001))
    ]
    assert {service["metadata"]["namespace"], deployment["metadata"]["namespace"]} == {"team"}
    pod = deployment["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "login"}]
    assert pod["tolerations"] == [
        {"key": "npu", "operator": "Equal", "value": "on", "effect": "NoSchedule"},
        {"key": "own", "operator": "Exists"},
    ]
    [container] = pod["containers"]
    assert container["readinessProbe"]["tcpSocket"] == {"port": 8000}


def test_a_deployment_needs_a_command_and_one_port() -> None:
    refused("deployment", "needs its command. Write it after '--'", "needs the port on which")
    asked = UserOptions(ports=("127.0.0.1:80:80", "5:5/udp"))
    said = "has no addresses and only TCP: 127.0.0.1:80:80 and 5:5/udp."
    refused("deployment", said, asked=asked, command=("serve",))


@pytest.mark.parametrize("form", HPC)
def test_apptainer_takes_the_user_and_the_network_of_its_host(form: str) -> None:
    refused(
        form,
        f"the format {form} has no --user. The program runs as the user who starts it.",
        f"the format {form} has no --read-only.",
        f"the format {form} has no --shm-size.",
        "cannot have the path '/a,b', because of its comma.",
        f"the format {form} has no --network. The program has the network of its host. "
        "These formats have it: shell, podman, quadlet and devcontainer.",
        f"the format {form} has no --name.",
        f"the format {form} has no --publish.",
        f"the format {form} has no --env NAME without a value. Export APPTAINERENV_NAME",
        user="1",
        read_only=True,
        shm_size="1g",
        mounts={"/a,b": "/c"},
        command=("true",),
        asked=UserOptions(name="a", network="host", ports=("1:1",), variables=("HOME",)),
    )


def test_a_batch_file_tells_each_node_its_rank() -> None:
    found = text("slurm", cards=8, nodes=2, command=("sh", "-c", "echo $HOME"))
    assert "#SBATCH --nodes=2\n" in found
    assert "NPROC_PER_NODE=8\n" in found and "NNODES=2\n" in found
    assert 'NODE_RANK="$SLURM_NODEID"' in found
    assert found.endswith(f"docker://{IMAGE} \\\n  sh \\\n  -c \\\n  'echo $HOME'\n")
    assert subprocess.run(["bash", "-n"], input=found, text=True, check=False).returncode == 0
    refused("slurm", "needs a command, because a job of Slurm has no terminal.")


def test_a_unit_and_a_dev_container_refuse_what_they_cannot_write() -> None:
    said = "the format quadlet cannot have the path '/a b' and '/c$d'. Rename the directory"
    refused("quadlet", said, mounts={"/a b": "/c$d"})
    refused(
        "devcontainer",
        "has no command: its container waits for an editor.",
        "replaces '${…}' in every text: 'A=${HOME}'.",
        command=("true",),
        asked=UserOptions(variables=("A=${HOME}",)),
    )


@pytest.mark.parametrize("form", ["podman", "quadlet", "apptainer"])
def test_only_docker_and_containerd_have_the_runtime(form: str) -> None:
    refused(form, "has no --runtime ascend, which docker and containerd have.", runtime="ascend")


BEGIN = ["docker", "run", "--rm", "--platform", "linux/arm64", "--shm-size", "16g"]


def argv(spec: RunSpec, *command: str) -> list[str]:
    return spec.docker_argv("image:tag", "linux/arm64", command)


def test_without_a_device() -> None:
    assert argv(no_device(), "true") == [*BEGIN, "image:tag", "true"]
    assert no_device().kind is DeviceKind.NONE


def test_on_a_simulated_host() -> None:
    spec = simulated_device(Path("/host"))
    assert spec.kind is DeviceKind.SIMULATED
    assert argv(spec) == [
        *BEGIN,
        *(
            word
            for path in DRIVER_MOUNTS
            for word in ("--mount", f"type=bind,source=/host{path},target={path},readonly")
        ),
        "image:tag",
    ]


def test_a_host_without_cards(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci_manager").touch()
    assert npu_device(tmp_path) is None


def test_a_host_with_cards_gives_its_devices(tmp_path: Path) -> None:
    for name in ("dev/davinci0", "dev/davinci1", "dev/davinci_manager", "dev/hisi_hdc"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "usr/local/Ascend/driver").mkdir(parents=True)
    spec = npu_device(tmp_path)
    assert spec is not None
    assert spec.kind is DeviceKind.NPU
    names = [Path(device).name for device in spec.devices]
    assert names == ["davinci0", "davinci1", "davinci_manager", "hisi_hdc"]
    assert [*spec.mounts.values()] == ["/usr/local/Ascend/driver"]
    words = argv(spec)
    assert words.count("--device") == 4
    assert words.count("--mount") == 1


COMMANDS: list[list[str]] = [
    [],
    ["python3", "-c", "import torch; print(torch.npu.is_available())"],
    ["python3", "--version"],
    ["sh", "-c", 'echo "it\'s" $HOME \\ `date`\nsecond line'],
    ["--flag with a space", "a b", "--last", "--two", "three", "four"],
    ["", "*", "~"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shell_reads_the_printed_command_unchanged(command: list[str]) -> None:
    words = argv(simulated_device(Path("/a folder/it's $HOME")), *command)
    text = shell_text(words)
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\0")[:-1] == words
    assert text.startswith("docker run \\\n  --rm \\\n  --platform linux/arm64 \\\n")


# ---- whatever is in a word

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ODD = st.sampled_from(
    [
        *("$HOME", "${X}", "$$", "$", "$(X)", "$$(X)", "'", '"', "\\", "\n", " ", ""),
        *("y", "on", "0o7", "0x1f", "1e3", "~", "=", "?", "- a", "a: b", "#x", "!tag", "*", "&a"),
        *("{a}", "\u2028", "\x7f", "é"),
    ]
)
ANY_COMMANDS = st.lists(
    st.one_of(WORDS, ODD, st.tuples(WORDS, ODD, WORDS).map("".join)), min_size=1, max_size=5
)


def as_kubernetes_reads(word: str) -> str:
    """``$$`` is a dollar, ``$(NAME)`` a variable's value. Source: kubernetes.io, Container v1."""
    read, rest = "", word
    while rest:
        if rest.startswith("$$"):
            read, rest = read + "$", rest[2:]
        else:
            assert not (rest.startswith("$(") and ")" in rest), "it would be replaced"
            read, rest = read + rest[0], rest[1:]
    return read


@given(command=ANY_COMMANDS)
def test_a_pod_gets_its_command_unchanged(command: list[str]) -> None:
    for form in ("k8s", "volcano"):
        args = container(form, command=command)["args"]
        assert [as_kubernetes_reads(word) for word in args] == command


@given(command=ANY_COMMANDS, folder=st.text(st.sampled_from("a $'\"\\,=\n"), max_size=8))
def test_a_shell_gets_its_command_unchanged(command: list[str], folder: str) -> None:
    more = text("shell", command=command, mounts={f"/{folder}": "/data"})
    argv = ["bash", "-c", f"printf '%s\\0' {more}"]
    read = subprocess.run(argv, capture_output=True, check=True).stdout.decode()
    words = read.split("\0")[:-1]
    assert words[-len(command) :] == command
    assert f"/{folder}:/data" in words


@given(words=ANY_COMMANDS)
def test_yaml_keeps_every_word(words: list[str]) -> None:
    data = {"list": words, "map": {word: word for word in words}, "deep": [[words]]}
    assert [*yaml.safe_load_all(yaml_text([], [data, data]))] == [data, data]


@pytest.mark.parametrize(
    "word", ["y", "N", "on", "0o7", "1e3", "12:30", "1_000", "0x1f", "~", ".inf", "=", "07", "1.5"]
)
def test_a_word_that_some_parsers_read_as_another_value_is_quoted(word: str) -> None:
    """Those in Go know other numbers and truth values than the one of these tests."""
    assert yaml_text([], [[word]]) == f'- "{word}"\n'
