# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.building.ci_jobs import (
    MAX_CI_JOBS,
    TAGS,
    Job,
    TargetCost,
    divide_targets,
    make_jobs,
    target_cost,
    to_github,
    to_gitlab,
)
from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.image.layers import Layer, LayerKind
from cannery.matrix.schema import parse_matrix
from tests.unit.image.test_layers import layers as layers_of
from tests.unit.matrices import MATRIX, Checkout

FULL = parse_matrix(MATRIX, "matrix.yaml").targets["full"]
LAYER = Layer(name="", stage="", kind=LayerKind.WHEELS, inputs=(), components=frozenset())
PLATFORMS = ("linux/arm64", "linux/amd64")


def made(name: str, cann: str = "", torch: str = "") -> list[Layer]:
    named = {"toolkit": cann, "wheels-torch": torch, "guard": name}
    return [
        replace(LAYER, name=layer, inputs=(f"{layer} {identity}",))
        for layer, identity in named.items()
    ]


@st.composite
def selections(draw: st.DrawFn) -> tuple[list[Target], dict[str, list[Layer]]]:
    targets, layers = [], {}
    for number in range(draw(st.integers(0, 20))):
        target = replace(FULL, id=f"t{number}", platform=draw(st.sampled_from(PLATFORMS)))
        targets.append(target)
        cann, torch = (draw(st.sampled_from("abc")) for _ in range(2))
        layers[target.id] = made(target.id, target.platform + cann, target.platform + torch)
    return targets, layers


@given(selections(), st.integers(0, 12))
def test_every_target_is_in_one_job_of_its_platform(
    selection: tuple[list[Target], dict[str, list[Layer]]], shards: int
) -> None:
    targets, layers = selection
    platforms = {target.platform for target in targets}
    if 0 < shards < len(platforms):
        with pytest.raises(UsageError, match="the targets have 2 platforms"):
            make_jobs(targets, layers, shards=shards)
        return
    jobs = make_jobs(targets, layers, shards=shards)
    assert sorted(name for job in jobs for name in job.targets) == sorted(t.id for t in targets)
    assert all(job.targets for job in jobs)
    assert [job.index for job in jobs] == [*range(1, len(jobs) + 1)]
    assert {job.count for job in jobs} <= {len(jobs)}
    assert not shards or len(jobs) <= shards
    by_id = {target.id: target.platform for target in targets}
    assert all({by_id[name] for name in job.targets} == {job.platform} for job in jobs)


def many(count: int) -> tuple[list[Target], dict[str, list[Layer]]]:
    """As many targets that have nothing in common."""
    targets = [replace(FULL, id=f"t{number}") for number in range(count)]
    return targets, {each.id: made(each.id, each.id, each.id) for each in targets}


def test_too_many_jobs_are_refused_and_none_is_left_out() -> None:
    assert len(make_jobs(*many(MAX_CI_JOBS))) == MAX_CI_JOBS == 256
    with pytest.raises(UsageError, match=r"257 jobs are more than the limit of 256.*--shards 256"):
        make_jobs(*many(257))
    assert sum(len(job.targets) for job in make_jobs(*many(257), shards=256)) == 257
    with pytest.raises(UsageError, match="3 jobs are more than the limit of 2"):
        make_jobs(*many(9), shards=3, most=2)


def job(*targets: str, index: int = 1, count: int = 1, platform: str = "linux/arm64") -> Job:
    return Job(index=index, count=count, platform=platform, targets=targets)


def test_the_matrix_of_a_workflow() -> None:
    jobs = [job("a", "b", count=2), job("c", index=2, count=2, platform="linux/amd64")]
    text = to_github(jobs)
    assert text.count("\n") == 1
    assert json.loads(text) == {
        "include": [
            {
                "shard": "1/2",
                "name": "1-of-2",
                "targets": "a b",
                "platform": "linux/arm64",
                "runner": "ubuntu-24.04-arm",
            },
            {
                "shard": "2/2",
                "name": "2-of-2",
                "targets": "c",
                "platform": "linux/amd64",
                "runner": "ubuntu-24.04",
            },
        ]
    }
    assert json.loads(to_github([])) == {"include": []}


VENV = ("pip", "python", "cannery")


def names(pipeline: dict[str, object]) -> list[str]:
    return [name for name in pipeline if name != "stages" and not name.startswith(".")]


@pytest.mark.parametrize("simulate", [True, False])
def test_a_child_pipeline_has_the_same_jobs(*, simulate: bool) -> None:
    jobs = [job("a", "b", count=2), job("c", index=2, count=2, platform="linux/amd64")]
    pipeline = yaml.safe_load(to_gitlab(jobs, simulate=simulate))
    assert names(pipeline) == ["build 1/2", "build 2/2"]
    assert pipeline["build 1/2"]["variables"] == {"TARGETS": "a b"}
    assert pipeline["build 2/2"]["tags"] == [TAGS["linux/amd64"]]
    assert (" --simulate " in pipeline[".build"]["script"][-1]) is simulate


@pytest.mark.parametrize(("source", "forced"), [("schedule", True), ("push", False), ("", False)])
def test_a_child_pipeline_of_a_schedule_reads_no_cache(source: str, *, forced: bool) -> None:
    script = yaml.safe_load(to_gitlab([job("a")], simulate=True))[".build"]["script"]
    lines = ["set -eu", 'bash() { echo "$@"; }', *script]
    env = {"PARENT_SOURCE": source, "TARGETS": "a", "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], env=env, capture_output=True, text=True, check=True
    )
    words = ["setup.sh", "python", "build.py", "build", "a", "--simulate", "--force"]
    assert done.stdout.split() == (words if forced else words[:-1])


PROGRAM = """#!/bin/sh
echo "${0##*/} $*"
case "${0##*/} $1" in
  "docker login") echo "password $(cat)" ;;
esac
"""


@pytest.mark.parametrize("is_checkout", [True, False])
@pytest.mark.parametrize("executor", ["docker", "kubernetes"])
def test_a_job_in_a_container_logs_in_waits_for_its_engine_and_builds(
    tmp_path: Path, executor: str, *, is_checkout: bool
) -> None:
    text = to_gitlab([job("a", "b")], simulate=True, executor=executor, is_checkout=is_checkout)
    build = yaml.safe_load(text)[".build"]
    assert build["services"] == [{"name": "$ENGINE_IMAGE", "alias": "docker"}]
    assert build["variables"]["DOCKER_TLS_VERIFY"] == "1"
    assert build["variables"]["DOCKER_HOST"] == "tcp://docker:2376"
    # docker's image has busybox only, which is as dash here: nothing of bash works.
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name in ("bin/docker", "bin/git", "bin/python3", *(f".venv/bin/{each}" for each in VENV)):
        (tmp_path / name).write_text(PROGRAM, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "TARGETS": "a b"}
    account = {"CI_REGISTRY": "r", "CI_REGISTRY_USER": "u", "CI_REGISTRY_PASSWORD": "p w"}
    printed = [
        subprocess.run(
            ["dash", "-euc", "\n".join(build["script"])],
            env={**env, **more},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for more in ({}, {**account, "PARENT_SOURCE": "schedule"})
    ]
    program = "python build.py" if is_checkout else "cannery"
    assert printed[0][-1] == f"{program} build a b --simulate"
    assert printed[1][-1] == f"{program} build a b --simulate --force"
    login = ["docker login r --username u --password-stdin", "password p w"]
    assert printed[1][:-1] == [*login, *printed[0][:-1]]


def test_a_job_in_a_container_ends_if_its_engine_does_not_start(tmp_path: Path) -> None:
    script = yaml.safe_load(to_gitlab([job("a")], simulate=True, executor="docker"))[".build"]
    [wait] = [line for line in script["script"] if line.startswith("timeout")]
    (tmp_path / "docker").write_text("#!/bin/sh\necho no engine >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    argv = ["dash", "-euc", wait.replace("timeout 120", "timeout 1")]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "no engine\n")


@pytest.mark.parametrize("jobs", [[], [job("a")]])
def test_a_child_pipeline_has_a_job_whatever_there_is_to_do(jobs: Sequence[Job]) -> None:
    pipeline = yaml.safe_load(to_gitlab(jobs, simulate=True))
    assert len(names(pipeline)) == 1


# ---- shares of machines

CHECKS = 60.0


def cost(items: list[TargetCost], ids: list[str]) -> float:
    layers: dict[str, float] = {}
    for each in items:
        if each.id in ids:
            layers |= each.costs
    return sum(layers.values()) + CHECKS * len(ids)


@st.composite
def costs(draw: st.DrawFn) -> list[TargetCost]:
    """Targets that have some of a few CANNs and torches in common."""
    found = []
    for number in range(draw(st.integers(1, 30))):
        cann, torch = (draw(st.sampled_from("abcd")) for _ in range(2))
        costs = {f"cann-{cann}": 40.0, f"torch-{torch}": 20.0, f"own-{number}": 5.0}
        found.append(TargetCost(id=f"t{number}", costs=costs, family=(cann, torch)))
    return found


@given(costs(), st.integers(1, 12))
def test_every_target_is_in_one_shard(items: list[TargetCost], count: int) -> None:
    shards = divide_targets(items, count)
    assert len(shards) == count
    assert sorted(name for shard in shards for name in shard) == sorted(i.id for i in items)
    order = [each.id for each in items]
    assert all(shard == sorted(shard, key=order.index) for shard in shards)


@given(costs(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_shards_do_not_depend_on_the_order_of_targets(
    items: list[TargetCost], count: int, random: Random
) -> None:
    shuffled = random.sample(items, len(items))
    shards = [sorted(shard) for shard in divide_targets(items, count)]
    assert shards == [sorted(shard) for shard in divide_targets(shuffled, count)]


@given(costs(), st.integers(1, 12))
def test_no_shard_has_much_more_than_its_share(items: list[TargetCost], count: int) -> None:
    shards = divide_targets(items, count)
    even = cost(items, [each.id for each in items]) / count
    largest = max(cost(items, [each.id]) for each in items)
    # Splitting a family makes what it shares twice, which is what the second term allows for.
    assert max(cost(items, shard) for shard in shards) <= 1.25 * even + 2 * largest


def test_a_family_stays_together_in_equal_shards() -> None:
    items = [
        TargetCost(id=f"{family}{number}", costs={family: 100.0}, family=(family,))
        for number in range(3)
        for family in "ab"
    ]
    shards = divide_targets(items, 2)
    assert sorted(map(sorted, shards)) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


def test_targets_of_the_same_cann_and_torch_are_kin(checkout: Checkout) -> None:
    full, bare = checkout.target("full"), checkout.target("bare")
    ours, others = (target_cost(t.id, [*layers_of(checkout, t).values()]) for t in (full, bare))
    again = target_cost("again", [*layers_of(checkout, full).values()])
    assert again.family == ours.family != others.family
    assert again.costs == ours.costs
    assert all(seconds > 0 for seconds in ours.costs.values())
