# SPDX-License-Identifier: Apache-2.0
"""Divides targets among machines and among the jobs of a CI run, with related targets together.

Every machine computes the same division, because it depends only on the matrix and the locks. Jobs
have one platform each, and are written as a matrix for GitHub, and as a child pipeline for GitLab.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from cannery import __version__
from cannery.common.errors import Problem, UsageError
from cannery.common.model import Target
from cannery.image.layers import Layer

_CHECKS = 60.0
"""Seconds for exporting an image and testing it, for each target."""

_SLACK = 1.25
"""How far a machine may exceed its even share to keep related targets together."""


@dataclass(frozen=True, kw_only=True)
class TargetCost:
    """The costs of a target's layers in seconds, by identity; ``family`` identifies relatives."""

    id: str
    costs: Mapping[str, float]
    family: tuple[str, ...]


def target_cost(target: str, layers: Sequence[Layer]) -> TargetCost:
    """The cost of ``target``, whose family has the same CANN and torch."""
    costs = {layer.identity: layer.weight for layer in layers}
    family = [layer.identity for layer in layers if layer.name in ("toolkit", "wheels-torch")]
    return TargetCost(id=target, costs=costs, family=tuple(family))


def _cost(items: Iterable[TargetCost]) -> float:
    """The seconds to build ``items`` on one machine."""
    layers: dict[str, float] = {}
    checks = 0.0
    for item in items:
        layers |= item.costs
        checks += _CHECKS
    return sum(layers.values()) + checks


def divide_targets(items: Sequence[TargetCost], count: int) -> list[list[str]]:
    """The ids of ``items`` for each of ``count`` machines, each in the order of ``items``.

    Which machine gets an item does not depend on that order.
    """
    machines: list[list[TargetCost]] = [[] for _ in range(count)]
    limit = max([_cost(items) / count * _SLACK, *(_cost([item]) for item in items)])
    waiting = sorted(_families(sorted(items, key=lambda item: item.id)), key=_weight)
    while waiting:
        family = waiting.pop()
        machine = min(machines, key=lambda machine: _cost([*machine, *family]))
        if len(family) > 1 and _cost([*machine, *family]) > limit:
            middle = len(family) // 2
            waiting = sorted([*waiting, family[:middle], family[middle:]], key=_weight)
        else:
            machine += family
    order = [item.id for item in items]
    return [sorted((item.id for item in machine), key=order.index) for machine in machines]


def fair_count(items: Sequence[TargetCost]) -> int:
    """The number of machines among which ``items`` can be divided without splitting a family."""
    families = _families(items)
    costs = [_cost(family) for family in families]
    count = round(sum(costs) / max(costs)) if costs else 0
    while count:
        shards = divide_targets(items, count)
        if all(any({item.id for item in f}.issubset(s) for s in shards) for f in families):
            break
        count -= 1
    return count


def _families(items: Sequence[TargetCost]) -> list[list[TargetCost]]:
    families: dict[tuple[str, ...], list[TargetCost]] = {}
    for item in items:
        families.setdefault(item.family, []).append(item)
    return [*families.values()]


def _weight(family: Sequence[TargetCost]) -> tuple[float, str]:
    return _cost(family), family[0].id


MAX_CI_JOBS = 256
"""How many jobs GitHub lets a matrix have in one run (docs.github.com, "Running variations of jobs
in a workflow"); the same is taken for GitLab."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job: the ``index``-th of ``count``, which builds ``targets`` on ``platform``."""

    index: int
    count: int
    platform: str
    targets: tuple[str, ...]


def make_jobs(
    targets: Sequence[Target],
    layers: Mapping[str, Sequence[Layer]],
    *,
    shards: int | None = None,
    most: int = MAX_CI_JOBS,
) -> tuple[Job, ...]:
    """``targets`` in ``shards`` jobs, or in fewer if some would have no targets.

    Without ``shards``, the number of jobs keeps targets with the same CANN and torch together.
    ``layers`` has the layers of each target.
    """
    items: dict[str, list[TargetCost]] = {}
    for target in targets:
        items.setdefault(target.platform, []).append(target_cost(target.id, layers[target.id]))
    fair = {name: fair_count(members) for name, members in items.items()}
    number = shards or sum(fair.values())
    if number > most:
        what = f"{number} jobs are more than the limit of {most}."
        fix = f"Put more targets into each job: --shards {most}, or fewer."
        raise UsageError(Problem(what=what, fix=fix))
    if targets and number < len(items):
        names = ", ".join(items)
        what = f"the targets have {len(items)} platforms ({names}), and each needs its own job."
        raise UsageError(Problem(what=what, fix=f"Use --shards {len(items)}, or more."))
    # At least one job for each platform, and more for more work.
    shares = dict.fromkeys(fair, 1)
    for _ in range(number - len(shares) if shares else 0):
        shares[max(fair, key=lambda name: fair[name] / shares[name])] += 1
    jobs = [
        (name, tuple(ids))
        for name, members in items.items()
        for ids in divide_targets(members, shares[name])
        if ids
    ]
    return tuple(
        Job(index=index, count=len(jobs), platform=name, targets=ids)
        for index, (name, ids) in enumerate(jobs, 1)
    )


RUNNERS = {"linux/arm64": "ubuntu-24.04-arm", "linux/amd64": "ubuntu-24.04"}
"""Platform to the label of a runner hosted by GitHub that runs it without emulation."""

TAGS = {"linux/arm64": "cannery-arm64", "linux/amd64": "cannery-amd64"}
"""Platform to the tag of a GitLab runner; docs/ci.md says how to register one."""


def to_github(jobs: Sequence[Job]) -> str:
    """One line of JSON for ``strategy.matrix``."""
    rows = [
        {
            "shard": f"{job.index}/{job.count}",
            "name": f"{job.index}-of-{job.count}",
            "targets": " ".join(job.targets),
            "platform": job.platform,
            "runner": RUNNERS[job.platform],
        }
        for job in jobs
    ]
    return json.dumps({"include": rows}) + "\n"


def to_names(jobs: Sequence[Job]) -> str:
    """The targets of all jobs, one per line."""
    return "".join(f"{name}\n" for job in jobs for name in job.targets)


EXECUTORS = ("shell", "docker", "kubernetes")
"""The executors of GitLab runners that jobs are written for."""

JOB_IMAGE = "docker:29-cli"

_CONTAINER = {
    "image": "$JOB_IMAGE",
    "services": [{"name": "$ENGINE_IMAGE", "alias": "docker"}],
    "variables": {
        "JOB_IMAGE": JOB_IMAGE,
        "ENGINE_IMAGE": "docker:29-dind",
        "DOCKER_HOST": "tcp://docker:2376",
        "DOCKER_TLS_CERTDIR": "/certs",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": "/certs/client",
    },
}
"""A job beside an engine that trusts only the certificates that both mount (docs.gitlab.com, "Use
Docker-in-Docker"). Variables of the project go before these."""

PROGRAMS = "{ command -v git && command -v python3; } >/dev/null || apk add --no-cache git python3"
"""Installs the programs that docker's own image does not have."""

_LOGIN = """\
if [ -n "${CI_REGISTRY_PASSWORD:-}" ]; then
  printf %s "$CI_REGISTRY_PASSWORD" |
    docker login "$CI_REGISTRY" --username "$CI_REGISTRY_USER" --password-stdin
fi
"""
# On Kubernetes the job begins before its engine (gitlab-org/gitlab-runner, issue 27384).
_ENGINE = "timeout 120 sh -c 'until docker info >/dev/null 2>&1; do sleep 1; done' || docker info"


def to_gitlab(
    jobs: Sequence[Job], *, simulate: bool, executor: str = "shell", is_checkout: bool = True
) -> str:
    """The text of a child pipeline for runners with ``executor``, one of EXECUTORS.

    It needs only variables from its parent. Where PARENT_SOURCE says that a schedule has started
    it, its builds read no cache.
    """
    rows: dict[str, Any] = {
        f"build {job.index}/{job.count}": {
            "extends": ".build",
            "tags": [TAGS[job.platform]],
            "variables": {"TARGETS": " ".join(job.targets)},
        }
        for job in jobs
    }
    build = _build(simulate=simulate, is_checkout=is_checkout, in_container=executor != "shell")
    pipeline = {"stages": ["build"], ".build": build, **rows}
    if not rows:
        # GitLab refuses a pipeline without any job (gitlab-org/gitlab, issue 331816).
        job = {"stage": "build", "script": ["echo 'No target is affected.'"]}
        pipeline = {"stages": ["build"], "nothing to build": job}
    return yaml.safe_dump(pipeline, sort_keys=False, width=1000)


def _build(*, simulate: bool, is_checkout: bool, in_container: bool) -> dict[str, Any]:
    # The names of targets have neither spaces nor patterns, and an image may have no bash.
    words = "# shellcheck disable=SC2086\n"
    build = f"build $TARGETS{' --simulate' if simulate else ''} ${{force:-}}"
    packages = "--requirement requirements.txt" if is_checkout else f"cannery=={__version__}"
    install = f"python3 -m venv .venv && .venv/bin/pip install {packages}"
    script, after = [install, f"{words}.venv/bin/cannery {build}"], []
    if is_checkout:
        flag = " --simulate" if simulate else ""
        script = [f"{words}bash setup.sh python build.py {build}"]
        if in_container:
            script = [install, f"{words}.venv/bin/python build.py {build}"]
        after = [f"{words}.venv/bin/python .ci/summary.py images{flag} $TARGETS"]
    if in_container:
        script = [PROGRAMS, _LOGIN, _ENGINE, *script]
    return {
        "stage": "build",
        "timeout": "3 hours",
        "interruptible": True,
        **(_CONTAINER if in_container else {}),
        "script": ['if [ "${PARENT_SOURCE:-}" = schedule ]; then force=--force; fi', *script],
        **({"after_script": after} if after else {}),
        "artifacts": {"when": "always", "paths": [".cannery/reports"], "expire_in": "30 days"},
    }
