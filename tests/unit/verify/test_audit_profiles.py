# SPDX-License-Identifier: Apache-2.0
"""Profiles: the project's own, those of users, and what is wrong with either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import UsageError
from cannery.verify.audit.facts import ImageConfig, ImageFacts, User
from cannery.verify.audit.profiles import (
    judge_profile,
    read_profiles,
    select_profiles,
)
from tests.unit.audits import FOREIGN, OURS, found_with

OWN = read_profiles()


def missing(
    name: str, config: ImageConfig = OURS, found: ImageFacts | None = None
) -> dict[str, str]:
    """What the profile ``name`` finds wrong, with the standing of each."""
    every = judge_profile(OWN[name], found or found_with(), config)
    return {
        each.check.removeprefix(f"profile/{name}/"): str(each.standing)
        for each in every
        if each.standing != "passed"
    }


@pytest.mark.parametrize("name", ["docker", "kubernetes", "volcano", "merlin"])
def test_an_own_image_fits(name: str) -> None:
    assert missing(name) == {}


def test_every_profile_has_a_source() -> None:
    assert {*OWN} >= {"docker", "kubernetes", "volcano", "kubeflow-notebook", "modelarts", "merlin"}
    assert not [each.name for each in OWN.values() if not each.source]


def test_users() -> None:
    assert missing("modelarts") == {"user-ma-user": "broken"}
    wrong = User(name="ma-user", uid=1001, gid=100, folder="/home/ma-user")
    assert missing("modelarts", found=found_with().model_copy(update={"users": (wrong,)}))
    right = replace(wrong, uid=1000)
    assert missing("modelarts", found=found_with().model_copy(update={"users": (right,)})) == {}
    [result] = [
        each
        for each in judge_profile(OWN["modelarts"], found_with(), OURS)
        if each.check.endswith("user-ma-user")
    ]
    assert result.fix == (
        "RUN useradd --create-home --uid 1000 --gid 100 --home-dir /home/ma-user ma-user"
    )


def test_a_notebook() -> None:
    jovyan = User(name="jovyan", uid=1000, gid=100, folder="/home/jovyan")
    found = found_with().model_copy(update={"users": (jovyan,)})
    assert missing("kubeflow-notebook", found=found) == {
        "user": "broken",
        "port-8888": "not ours to say",
    }
    for user in ("jovyan", "1000", "1000:100"):
        config = replace(OURS, user=user, ports=(8888,))
        assert missing("kubeflow-notebook", config, found) == {}


@pytest.mark.parametrize("entrypoint", [("/entrypoint.sh",), ("bash", "-c"), ("tini", "x.sh")])
def test_an_entrypoint_script_or_shell_is_broken(entrypoint: tuple[str, ...]) -> None:
    assert missing("merlin", replace(OURS, entrypoint=entrypoint)) == {"entrypoint": "broken"}


@pytest.mark.parametrize("entrypoint", [(), ("/usr/bin/tini", "--"), ("dumb-init",)])
def test_an_empty_or_init_entrypoint_is_accepted(entrypoint: tuple[str, ...]) -> None:
    assert missing("merlin", replace(OURS, entrypoint=entrypoint)) == {}


def test_sshd_where_asked() -> None:
    assert missing("volcano-ssh") == {"sshd": "broken", "ssh": "broken"}


def test_an_image_without_a_shell_and_without_env() -> None:
    assert missing("docker", FOREIGN, ImageFacts()) == {"sh": "broken"}
    found = found_with(environment={"ASCEND_HOME_PATH": None})
    assert missing("docker", FOREIGN, found) == {"environment": "broken"}


def test_did_you_mean() -> None:
    with pytest.raises(UsageError) as caught:
        select_profiles(["kubernets", "docker", "xx"], OWN)
    assert "there is no profile 'kubernets'. Did you mean 'kubernetes'?" in str(caught.value)
    assert "there is no profile 'xx'. Known: docker" in str(caught.value)
    assert [each.name for each in select_profiles(["docker", "docker"], OWN)] == ["docker"]


def test_every_mistake_in_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    lines = [
        "schema: 2",
        "profiles:",
        "  farm:",
        "    entrypoint: nothing",
        "    ports: [99999]",
        "    users: [{name: me, uid: root}]",
        "    program: [bash]",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_profiles(path)
    for what in (
        "mine.yaml:1:9: schema: schema 2 is of a newer cannery",
        "mine.yaml:4:17: profiles.farm.entrypoint: there is no 'nothing'",
        "mine.yaml:5:13: profiles.farm.ports[0]: '99999' should be less than 65536",
        "mine.yaml:6:29: profiles.farm.users[0].uid: 'root' is not a number",
        "unknown key 'program' in profiles.farm. Did you mean 'programs'?",
        "has no 'about'",
    ):
        assert what in str(caught.value)
