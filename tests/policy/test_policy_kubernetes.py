# SPDX-License-Identifier: Apache-2.0
"""The admission policies in docs/security.md fit the names and the signatures of push."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

import pytest
import yaml

from cannery.publish.policy import load
from tests.policy.conftest import PROJECT

DOCUMENT = (PROJECT.root / "docs" / "security.md").read_text(encoding="utf-8")
POLICIES: dict[str, dict[str, Any]] = {
    found["kind"]: found
    for found in map(
        yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    )
}
REGISTRY = "registry.example.com"


def kyverno() -> dict[str, Any]:
    [rule] = POLICIES["ClusterPolicy"]["spec"]["rules"]
    [found] = rule["verifyImages"]
    return dict(found)


def authority() -> dict[str, Any]:
    [found] = POLICIES["ClusterImagePolicy"]["spec"]["authorities"]
    return dict(found)


def patterns() -> dict[str, list[str]]:
    globs = POLICIES["ClusterImagePolicy"]["spec"]["images"]
    return {
        "ClusterPolicy": kyverno()["imageReferences"],
        "ClusterImagePolicy": [each["glob"] for each in globs],
    }


@pytest.mark.parametrize("kind", ["ClusterPolicy", "ClusterImagePolicy"])
def test_the_images_of_push_are_matched(kind: str) -> None:
    repository = load(PROJECT.publish_file, PROJECT.matrix()).repository
    digest = "sha256:" + "0" * 64
    for reference in (":x", f"@{digest}", f":x@{digest}"):
        name = f"{REGISTRY}/{repository}{reference}"
        assert [each for each in patterns()[kind] if fnmatch.fnmatchcase(name, each)]
    other = f"{REGISTRY}/other/image:x"
    assert not [each for each in patterns()[kind] if fnmatch.fnmatchcase(other, each)]


def test_signatures_without_a_transparency_log_are_accepted() -> None:
    [entry] = kyverno()["attestors"][0]["entries"]
    assert entry["keys"]["rekor"] == {"ignoreTlog": True}
    assert "ctlog" not in authority()
    assert "keyless" not in authority()


def test_the_keys_are_as_cosign_prints_them() -> None:
    [entry] = kyverno()["attestors"][0]["entries"]
    for key in (entry["keys"]["publicKeys"], authority()["key"]["data"]):
        lines = key.strip().splitlines()
        assert (lines[0], lines[-1]) == (
            "-----BEGIN PUBLIC KEY-----",
            "-----END PUBLIC KEY-----",
        )


def test_unsigned_images_are_refused() -> None:
    assert kyverno()["failureAction"] == "Enforce"
    assert kyverno()["required"] is True
    assert POLICIES["ClusterPolicy"]["spec"]["webhookConfiguration"]["failurePolicy"] == "Fail"
    assert POLICIES["ClusterImagePolicy"]["spec"]["mode"] == "enforce"


def test_no_policy_asks_for_signed_attestations() -> None:
    """push signs the index, of which they are entries."""
    assert "attestations" not in kyverno()
    assert "attestations" not in authority()
