# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from packageurl import PackageURL

from cannery.image.lock import parse_lock
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.publish.inventory import Inventory
from cannery.publish.provenance import BUILD_TYPE, Builder, Inputs, Source, UsedBase, slsa
from tests.unit.bills import ANY_CONTENTS, CONTENTS, read_slsa
from tests.unit.matrices import CHECKOUT, DIGEST, lock_for

KEY = "sha256:" + "ef" * 32
COMMIT = "0123456789" * 4
TARGET = next(iter(Project(root=CHECKOUT).matrix().targets.values()))
TWO_FILES = f"torch==2.3.1 \\\n    --hash=sha256:{'b' * 64} \\\n    --hash=sha256:{'a' * 64}\n"


def predicate(
    inventory: Inventory = CONTENTS,
    *,
    target: Target = TARGET,
    source: Source | None = None,
    lock: str = "",
    used: str = "",
    builder: Builder | None = None,
) -> dict[str, Any]:
    bases = {
        "BASE_IMAGE": UsedBase(
            base=target.base, architecture="arm64", used=used or target.base.image
        )
    }
    return slsa(
        target,
        inventory,
        Inputs(
            key=KEY,
            source=source or Source(commit=COMMIT),
            lock=parse_lock(lock).wheels,
            build_stage=[],
            bases=bases,
        ),
        builder or Builder(),
    )


def dependencies(made: dict[str, Any]) -> list[dict[str, Any]]:
    return list(made["buildDefinition"]["resolvedDependencies"])


def named(made: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [each for each in dependencies(made) if each["name"] == name]
    return found


def test_it_says_what_was_asked_for_and_by_whom() -> None:
    made = predicate(builder=Builder(id="https://ci.example.com/runner", engine="29.1"))
    definition = made["buildDefinition"]
    assert definition["buildType"] == BUILD_TYPE
    assert definition["externalParameters"]["target"] == TARGET.id
    assert definition["internalParameters"] == {"simulated": True, "key": KEY, "engine": "29.1"}
    assert made["runDetails"]["builder"]["id"] == "https://ci.example.com/runner"
    assert made["runDetails"]["metadata"] == {}


def test_times_are_those_that_are_known() -> None:
    made = predicate(builder=Builder(finished="2026-11-21T12:00:00Z", invocation="run 7"))
    read_slsa(made)
    assert made["runDetails"]["metadata"] == {
        "invocationId": "run 7",
        "finishedOn": "2026-11-21T12:00:00Z",
    }


@pytest.mark.parametrize("simulated", [True, False])
def test_a_simulated_build_says_so(simulated: bool) -> None:
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
    made = predicate(source=Source(commit=COMMIT, repository=repository))
    found = named(made, "source")
    assert found == {
        "name": "source",
        "digest": {"gitCommit": COMMIT},
        "uri": f"{uri}@{COMMIT}",
    }


def test_changes_that_are_not_committed_are_told() -> None:
    made = predicate(source=Source(commit=COMMIT, changed=True))
    assert named(made, "source")["annotations"] == {"changed": True}
    assert "annotations" not in named(predicate(), "source")


def test_without_a_commit_none_is_named() -> None:
    names = [each["name"] for each in dependencies(predicate(source=Source(commit="")))]
    assert "source" not in names and "BASE_IMAGE" in names


def test_a_base_is_named_by_its_digest() -> None:
    used = f"registry.example.com:5000/mirror/debian:bullseye-slim@sha256:{DIGEST}"
    found = named(predicate(used=used), "BASE_IMAGE")
    assert found["digest"] == {"sha256": DIGEST}
    url = PackageURL.from_string(found["uri"])
    assert (url.type, url.namespace, url.name) == (
        "docker",
        "registry.example.com:5000/mirror",
        "debian",
    )
    assert url.version == "bullseye-slim"
    assert url.qualifiers == {"digest": f"sha256:{DIGEST}", "platform": "linux/arm64"}


def test_a_bootstrapped_base_is_none_of_a_registry() -> None:
    found = named(predicate(used=f"sha256:{DIGEST}"), "BASE_IMAGE")
    assert found["digest"] == {"sha256": DIGEST}
    assert "uri" not in found
    assert found["annotations"]["insteadOf"] == TARGET.base.image
    assert found["annotations"]["bootstrapped"] == f"Debian {TARGET.base.suite}"


def test_a_wheel_has_the_hashes_of_the_lock() -> None:
    made = predicate(lock=lock_for(replace(TARGET, torch="2.3.1")))
    assert named(made, "torch")["digest"] == {"sha256": DIGEST}
    found = named(predicate(lock=TWO_FILES), "torch")
    assert "digest" not in found
    assert found["uri"] == "pkg:pypi/torch@2.3.1"
    assert found["annotations"]["sha256AnyOf"] == ["a" * 64, "b" * 64]


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


def test_the_schema_s_reader_finds_what_is_wrong() -> None:
    made = predicate()
    made["buildDefinition"]["resolvedDependency"] = []
    with pytest.raises(Exception, match="resolvedDependency"):
        read_slsa(made)
