# SPDX-License-Identifier: Apache-2.0
"""The provenance of an image, and how its statements are stored."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packageurl import PackageURL

from cannery.common.model import Target
from cannery.lock.lock_file import LockedFile, parse_lock, with_files
from cannery.matrix.project import Project
from cannery.publish.attestations import (
    BUILD_TYPE,
    SLSA,
    SPDX,
    Builder,
    Inputs,
    UsedBase,
    attestation_manifest,
    index_entry,
    slsa,
    subject_name,
)
from cannery.publish.inventory import Inventory
from tests.unit.bills import ANY_CONTENTS, CONTENTS, read_slsa
from tests.unit.matrices import CHECKOUT, DIGEST, lock_for

KEY = "sha256:" + "ef" * 32
COMMIT = "0123456789" * 4
TARGET = next(iter(Project(root=CHECKOUT).matrix().targets.values()))
UV = {"aarch64": "b" * 64, "x86_64": "a" * 64}
BUILD_STAGE = with_files(
    "uv==1\nsix==1\n",
    {
        "uv": [
            LockedFile(name=f"uv-1-py3-none-manylinux_2_17_{machine}.whl", sha256=sha256)
            for machine, sha256 in UV.items()
        ]
    },
)


def predicate(
    inventory: Inventory = CONTENTS,
    *,
    target: Target = TARGET,
    lock: str = "",
    build_stage: str = "",
    used: str = "",
    builder: Builder | None = None,
    **more: Any,
) -> dict[str, Any]:
    bases = {
        "BASE_IMAGE": UsedBase(
            base=target.base, architecture="arm64", used=used or target.base.image
        ),
        "BUILD_IMAGE": UsedBase(
            base=target.build_base, architecture="amd64", used=target.build_base.image
        ),
    }
    return slsa(
        target,
        inventory,
        Inputs(
            key=KEY,
            **{"commit": COMMIT, **more},
            lock=parse_lock(lock).wheels,
            build_stage=parse_lock(build_stage).wheels,
            bases=bases,
        ),
        builder or Builder(),
    )


def dependencies(made: dict[str, Any]) -> list[dict[str, Any]]:
    return list(made["buildDefinition"]["resolvedDependencies"])


def named(made: dict[str, Any], name: str) -> dict[str, Any]:
    [result] = [each for each in dependencies(made) if each["name"] == name]
    return result


def test_the_parameters_and_the_builder() -> None:
    made = predicate(builder=Builder(id="https://ci.example.com/runner", engine="29.1"))
    definition = made["buildDefinition"]
    assert definition["buildType"] == BUILD_TYPE
    assert definition["externalParameters"]["target"] == TARGET.id
    assert definition["internalParameters"] == {"simulated": True, "key": KEY, "engine": "29.1"}
    assert made["runDetails"]["builder"]["id"] == "https://ci.example.com/runner"
    assert made["runDetails"]["metadata"] == {}
    finished = predicate(builder=Builder(finished="2026-11-21T12:00:00Z", invocation="run 7"))
    read_slsa(finished)
    assert finished["runDetails"]["metadata"] == {
        "invocationId": "run 7",
        "finishedOn": "2026-11-21T12:00:00Z",
    }


@pytest.mark.parametrize("simulated", [True, False])
def test_a_simulated_build_is_marked(simulated: bool) -> None:
    definition = predicate(replace(CONTENTS, simulated=simulated))["buildDefinition"]
    assert definition["externalParameters"]["simulate"] is simulated
    assert definition["internalParameters"]["simulated"] is simulated


def test_a_stand_in_is_no_vendor_file() -> None:
    made = predicate()
    toolkit = named(made, "toolkit_8.0.T39.run")
    assert toolkit["annotations"] == {"standIn": True, "sha256": "not known"}
    assert toolkit["uri"].startswith("pkg:generic/cannery-simulator/")
    assert "digest" not in toolkit
    assert named(made, "cpython-3.8.18.tar.gz")["digest"] == {"sha256": "cd" * 32}


@pytest.mark.parametrize(
    ("repository", "uri"),
    [
        ("https://me:secret@git.example.com/a/b.git", "git+https://git.example.com/a/b.git"),
        ("https://git.example.com/a/b@c", "git+https://git.example.com/a/b@c"),
        ("git@git.example.com:a/b.git", "git+ssh://git.example.com/a/b.git"),
        ("ssh://git@git.example.com/a/b.git", "git+ssh://git.example.com/a/b.git"),
        ("/srv/git/b", "git+file:///srv/git/b"),
    ],
)
def test_the_commit_has_an_address_without_secrets(repository: str, uri: str) -> None:
    made = predicate(repository=repository)
    source = {"name": "source", "digest": {"gitCommit": COMMIT}, "uri": f"{uri}@{COMMIT}"}
    assert named(made, "source") == source


def test_uncommitted_changes_are_in_the_provenance() -> None:
    made = predicate(changed=True)
    assert named(made, "source")["annotations"] == {"changed": True}
    assert "annotations" not in named(predicate(), "source")


def test_without_a_commit_none_is_named() -> None:
    names = [each["name"] for each in dependencies(predicate(commit=""))]
    assert "source" not in names and "BASE_IMAGE" in names


def test_a_base_is_named_by_its_digest() -> None:
    used = f"registry.example.com:5000/mirror/debian:bullseye-slim@sha256:{DIGEST}"
    result = named(predicate(used=used), "BASE_IMAGE")
    assert result["digest"] == {"sha256": DIGEST}
    url = PackageURL.from_string(result["uri"])
    assert (url.type, url.namespace, url.name) == (
        "docker",
        "registry.example.com:5000/mirror",
        "debian",
    )
    assert url.version == "bullseye-slim"
    assert url.qualifiers == {"digest": f"sha256:{DIGEST}", "platform": "linux/arm64"}


def test_the_image_of_cann_is_a_dependency_by_its_digest() -> None:
    assert not [each for each in dependencies(predicate()) if each["name"] == "CANN"]
    image = f"quay.example/ascend/cann:9.1.0@sha256:{DIGEST}"
    toolkit = replace(CONTENTS.vendor[1], file="")
    taken = replace(CONTENTS, vendor=(CONTENTS.vendor[0], toolkit), vendor_image=image)
    made = predicate(taken)
    result = named(made, "CANN")
    assert result["digest"] == {"sha256": DIGEST}
    url = PackageURL.from_string(result["uri"])
    assert (url.namespace, url.name, url.version) == ("quay.example/ascend", "cann", "9.1.0")
    assert CONTENTS.vendor[1].file not in {each["name"] for each in dependencies(made)}
    read_slsa(made)


def test_a_stand_in_is_no_image_of_a_registry() -> None:
    result = named(predicate(used=f"sha256:{DIGEST}"), "BASE_IMAGE")
    assert result["digest"] == {"sha256": DIGEST}
    assert "uri" not in result
    assert result["annotations"]["insteadOf"] == TARGET.base.image
    assert result["annotations"]["bootstrapped"] == f"Debian {TARGET.base.suite}"


def test_a_wheel_is_named_with_its_file() -> None:
    made = predicate(lock=lock_for(replace(TARGET, torch="2.3.1")))
    assert named(made, "torch") == {
        "name": "torch",
        "uri": "pkg:pypi/torch@2.3.1",
        "digest": {"sha256": DIGEST},
        "annotations": {"usedIn": "image", "file": "torch-2.3.1-py3-none-any.whl"},
    }


def test_a_wheel_of_the_build_stage_matches_the_build_machine() -> None:
    made = predicate(build_stage=BUILD_STAGE)
    result = named(made, "uv")
    assert result["digest"] == {"sha256": UV["x86_64"]}
    assert result["annotations"] == {
        "usedIn": "build stage",
        "file": "uv-1-py3-none-manylinux_2_17_x86_64.whl",
    }
    six = named(made, "six")
    assert "digest" not in six
    assert six["annotations"] == {"usedIn": "build stage", "sha256": "not known"}


def test_a_debian_package_has_its_file_or_comes_with_the_base() -> None:
    made = predicate()
    gpp, libc6 = named(made, "g++"), named(made, "libc6")
    assert gpp["digest"] == {"sha256": "ef" * 32}
    assert gpp["annotations"] == {"file": "g++_10.2.1-1_arm64.deb"}
    assert "digest" not in libc6
    assert libc6["annotations"] == {"place": "the base image"}


@pytest.mark.slow
@given(ANY_CONTENTS)
def test_every_vendor_file_and_debian_package_is_there(inventory: Inventory) -> None:
    made = predicate(inventory)
    assert json.loads(json.dumps(made)) == made
    read_slsa(made)
    names = [each["name"] for each in dependencies(made)]
    assert {each.file for each in inventory.vendor} <= {*names}
    assert {each.name for each in inventory.debian} <= {*names}
    # What SLSA asks of each: to be found, or to be compared.
    assert all("uri" in each or "digest" in each for each in dependencies(made))


SUBJECT = "sha256:" + "ab" * 32
NAME = "pkg:docker/registry.example.com/ascend/images@tag?platform=linux%2Farm64"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@given(st.dictionaries(st.text(), JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_manifest_names_all_its_blobs(
    sbom: dict[str, object], provenance: dict[str, object]
) -> None:
    made, documents = attestation_manifest(NAME, SUBJECT, {SPDX: sbom, SLSA: provenance})
    blobs = {digest(each.content): each.content for each in documents}
    manifest = json.loads(made.content)
    config, layers = manifest["config"], manifest["layers"]
    assert {each["digest"] for each in (config, *layers)} == blobs.keys()
    for each in (config, *layers):
        assert each["size"] == len(blobs[each["digest"]])
    kinds = [layer["annotations"]["in-toto.io/predicate-type"] for layer in layers]
    assert kinds == [SPDX, SLSA]
    statements = [json.loads(blobs[layer["digest"]]) for layer in layers]
    assert [statement["predicate"] for statement in statements] == [sbom, provenance]
    for statement in statements:
        assert statement["_type"] == "https://in-toto.io/Statement/v0.1"
        assert statement["subject"] == [{"name": NAME, "digest": {"sha256": "ab" * 32}}]
    rootfs = json.loads(blobs[config["digest"]])["rootfs"]
    assert rootfs["diff_ids"] == [layer["digest"] for layer in layers]

    entry = index_entry(SUBJECT, made).to_json()
    assert entry["digest"] == digest(made.content)
    assert entry["size"] == len(made.content)
    assert entry["annotations"] == {
        "vnd.docker.reference.digest": SUBJECT,
        "vnd.docker.reference.type": "attestation-manifest",
    }
    assert entry["platform"] == {"architecture": "unknown", "os": "unknown"}


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        (
            "127.0.0.1:5000/ascend",
            "pkg:docker/127.0.0.1:5000/ascend@t?platform=linux%2Farm64",
        ),
        ("r.example.com/a/b", "pkg:docker/r.example.com/a/b@t?platform=linux%2Farm64"),
    ],
)
def test_the_subject_is_called_as_buildkit_calls_it(repository: str, name: str) -> None:
    made = PackageURL.from_string(subject_name(repository, "t", "linux/arm64"))
    assert made == PackageURL.from_string(name)
