# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import pytest
import requests

from cannery.common.errors import EngineError
from cannery.engine import client
from cannery.publish import oci_image
from cannery.publish.attestations import LOCAL_BUILDER
from cannery.publish.oci_image import builder

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://git.example.com",
    "GITHUB_REPOSITORY": "a/b",
    "GITHUB_WORKFLOW_REF": "a/b/.github/workflows/release.yml@refs/heads/main",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "2",
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI_PROJECT_URL": "https://git.example.com/a/b",
    "CI_RUNNER_ID": "12",
    "CI_JOB_URL": "https://git.example.com/a/b/-/jobs/9",
}


def _without(variables: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in variables.items() if key != name}


@pytest.mark.parametrize(
    ("environ", "identity", "invocation"),
    [
        ({}, LOCAL_BUILDER, ""),
        ({"GITHUB_ACTIONS": "false"}, LOCAL_BUILDER, ""),
        # Runners that imitate a service do not set all of its variables.
        ({"GITHUB_ACTIONS": "true"}, LOCAL_BUILDER, ""),
        (_without(GITHUB, "GITHUB_WORKFLOW_REF"), LOCAL_BUILDER, ""),
        (_without(GITLAB, "CI_RUNNER_ID"), LOCAL_BUILDER, ""),
        (
            GITHUB,
            "https://git.example.com/a/b/.github/workflows/release.yml@refs/heads/main",
            "https://git.example.com/a/b/actions/runs/7/attempts/2",
        ),
        (
            GITLAB,
            "https://git.example.com/a/b/-/runners/12",
            "https://git.example.com/a/b/-/jobs/9",
        ),
    ],
)
def test_the_builder_is_the_job(
    environ: dict[str, str],
    identity: str,
    invocation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = SimpleNamespace(version=lambda: {"Version": "29.1.0"})
    message = "github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3\n"
    monkeypatch.setattr(client, "connect", lambda: asked)
    monkeypatch.setattr(oci_image, "run", lambda *_, **__: (0, message))
    result = builder(finished="2026-11-21T12:00:00Z", environ=environ)
    assert (result.id, result.invocation) == (identity, invocation)
    assert result.finished == "2026-11-21T12:00:00Z"
    assert (result.engine, result.buildx) == ("29.1.0", "0.13.1+ds1")


def test_a_lost_engine_connection_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def version() -> dict[str, str]:
        raise requests.ConnectionError("Connection aborted.")

    monkeypatch.setattr(client, "connect", lambda: SimpleNamespace(version=version))
    monkeypatch.setattr(oci_image, "run", lambda *_, **__: (1, ""))
    with pytest.raises(EngineError, match="stopped answering"):
        builder(finished="", environ={})
