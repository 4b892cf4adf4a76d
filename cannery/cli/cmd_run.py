# SPDX-License-Identifier: Apache-2.0
"""``build.py run``: a container with what it needs of its host, or the text that makes one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError, enumerated, some_of
from cannery.common.option import flag, image_reference, matching, number, option, size
from cannery.common.package_index import package_index
from cannery.common.process import allowed_env
from cannery.common.references import image_name
from cannery.deploy import formats
from cannery.deploy.run_spec import SHM_SIZE, cards_of
from cannery.deploy.user_options import (
    CLUSTERS,
    HPC,
    ClusterOptions,
    UserOptions,
    published,
    toleration,
    variable,
)
from cannery.deploy.workload import IDLE, MAX_CARDS, MAX_NODES, RUNTIMES, Workload, run_spec
from cannery.engine import client as engine
from cannery.engine import preflight as host
from cannery.engine.simulator import simulated
from cannery.image.simulator_spec import DEVICES
from cannery.matrix.project import Project
from cannery.options import CA, SIMULATE, TARGET, TargetOptions
from cannery.verify.devices import simulated_host

_AS_DOCKER = "as docker's"

_SHOWN = 5

_ELSEWHERE = (*CLUSTERS, *HPC)
"""Formats for hosts that pull the image from a registry."""

_OF_CLUSTERS = "pods (--format k8s, deployment or volcano)"


@dataclass(frozen=True, kw_only=True)
class RunOptions(TargetOptions):
    """How one image is started, here or elsewhere."""

    targets: tuple[str, ...] = TARGET.field(default=(), words="")
    simulate: bool = SIMULATE.field()
    print: bool = flag("print the command instead of running it")
    elsewhere: bool = flag(
        "print the command for another host, which has the whole driver; no path of this "
        "host is in it",
        needs="print",
        conflicts=("simulate",),
    )
    format: str = option(
        "run it on this host (shell), or print a command (podman, apptainer), or a file: compose, "
        "quadlet (of podman), devcontainer, slurm (with apptainer), k8s (a job), deployment (a "
        "server in Kubernetes) or volcano",
        default=formats.FORMATS[0],
        metavar="FORMAT",
        choices=formats.FORMATS,
    )
    engine: str = option(
        "what runs it on this host, or is called by the printed command",
        default="docker",
        choices=("docker", "podman"),
    )
    cards: int | None = option(
        "the number of cards of each host",
        default=None,
        metavar="N",
        parse=number(1, MAX_CARDS),
        default_text="all of this host; 1 with --elsewhere or another --format than shell",
    )
    nodes: int = option(
        "the number of hosts, with --format k8s, volcano or slurm",
        default=1,
        metavar="N",
        parse=number(1, MAX_NODES),
    )
    runtime: str = option(
        "how cards are passed: each device by name, or by ascend-docker-runtime (ascend)",
        default=RUNTIMES[0],
        choices=RUNTIMES,
    )
    image: str = option(
        "the image to run",
        default="",
        metavar="NAME",
        parse=image_reference,
        default_text="the local image of the target",
    )
    shm_size: str = option(
        "the size of shared memory, as in 64g", default=SHM_SIZE, metavar="SIZE", parse=size
    )
    user: str = option(
        "run as this user, without capabilities, with a home directory in /tmp",
        default="",
        metavar="UID[:GID]",
        parse=matching(r"[0-9]{1,9}(:[0-9]{1,9})?", "user", "1000 or 1000:1000"),
        default_text="root",
    )
    read_only: bool = flag("make the root file system read-only, except for /tmp")
    mounts: tuple[str, ...] = option(
        "mount a directory of the host",
        default=(),
        flags=("-v", "--mount"),
        metavar="HOST:CONTAINER",
    )
    variables: tuple[str, ...] = option(
        "set a variable; NAME alone takes the value that it has here",
        default=(),
        flags=("-e", "--env"),
        metavar="NAME=VALUE",
        parse=variable,
        group=_AS_DOCKER,
    )
    ports: tuple[str, ...] = option(
        "publish a port of the container, as in 8888:8888",
        default=(),
        flags=("-p", "--publish"),
        metavar="HOST:CONTAINER",
        parse=published,
        group=_AS_DOCKER,
    )
    name: str = option(
        "name the container, for 'docker exec NAME'",
        default="",
        metavar="NAME",
        parse=matching(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+", "name of a container", "train-1"),
        group=_AS_DOCKER,
    )
    network: str = option(
        "the network, as in host", default="", metavar="NETWORK", group=_AS_DOCKER
    )
    detach: bool = flag(
        "run it in the background; without a command it waits for 'docker exec'", group=_AS_DOCKER
    )
    ca: Path | None = CA.field(
        help="mount these certificates, and let pip, uv, OpenSSL and requests trust them",
        default_text="",
        conflicts=("elsewhere",),
        group=_AS_DOCKER,
    )
    namespace: str = option(
        "the namespace of all objects",
        default="",
        metavar="NAME",
        parse=matching("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "namespace", "team-a"),
        default_text="that of kubectl",
        group=_OF_CLUSTERS,
    )
    pull_secrets: tuple[str, ...] = option(
        "a Secret with the login of the registry",
        default=(),
        flags=("--pull-secret",),
        metavar="NAME",
        parse=matching("[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", "name of a Secret", "registry"),
        group=_OF_CLUSTERS,
    )
    tolerations: tuple[str, ...] = option(
        "also use nodes with this taint",
        default=(),
        flags=("--toleration",),
        metavar="KEY[=VALUE][:EFFECT]",
        parse=toleration,
        group=_OF_CLUSTERS,
    )
    words: tuple[str, ...] = option(
        "the target, if no option selects it, and the command to run in the container, which "
        "follows '--'. Options after '--' are docker's own, up to another '--'",
        default=(),
        positional=True,
        rest=True,
        metavar="ID|COMMAND",
        count="*",
    )

    @property
    def for_other_hosts(self) -> bool:
        """Whether a text is asked for that does not depend on this host."""
        return self.elsewhere or self.format != "shell"

    @property
    def form(self) -> str:
        """The format, which for a shell is that of the engine."""
        return self.engine if (self.format, self.engine) == ("shell", "podman") else self.format


COMMAND = Command(
    description="Starts a container of one target's image with the devices, the driver and "
    "the shared memory that it needs, after checking that this host has them. Can print the "
    "command, or a file for another host, instead. See docs/run.md.",
    reads="matrix.yaml, and the devices and the driver of this host",
    writes="nothing",
    example="run py39-torch231-cann8t39 --simulate -- npu-smi info",
    options=RunOptions,
    one_of=("words", "targets", "where"),
)


def run(options: RunOptions, project: Project) -> None:
    """Print how to run one target, or become ``docker run`` if this host can do it."""
    typed, after = _divided(options.words)
    if not (options.targets or options.where):
        if not typed:
            what = "no target is selected before '--'."
            raise UsageError(Problem(what=what, fix="Add the ID of one, --target or --where."))
        options = replace(options, targets=typed[:1])
        typed = typed[1:]
    more: tuple[str, ...] = ()
    if not typed and after and after[0].startswith("-"):
        more, after = _divided(after)
    targets = selected(options, project)
    if len(targets) > 1:
        names = some_of([target.id for target in targets], _SHOWN)
        raise UsageError(f"run needs a single target; {len(targets)} are selected: {names}.")
    target = targets[0]
    tree = simulated(project, target).host if options.simulate else None
    workload = Workload(
        image=options.image or image_name(target.id, simulate=options.simulate),
        target=target,
        cards=_cards(options, tree),
        nodes=options.nodes,
        runtime=options.runtime,
        simulate_host=tree,
        shm_size=options.shm_size,
        user=options.user,
        read_only=options.read_only,
        mounts=_mounts(options.mounts),
        asked=UserOptions(
            variables=_variables(options.variables),
            ports=options.ports,
            name=options.name,
            network=options.network,
            detach=options.detach,
            ca=options.ca,
            more=more,
            cluster=ClusterOptions(
                namespace=options.namespace,
                pull_secrets=options.pull_secrets,
                tolerations=options.tolerations,
            ),
        ),
        command=(*typed, *after),
    )
    if options.engine == "podman" and options.format not in ("shell", "podman"):
        what = f"--engine podman does not go with --format {options.format}."
        raise UsageError(Problem(what=what, fix="Use --format podman or quadlet alone."))
    workload.check(options.form)
    if not (options.print or options.for_other_hosts):
        _run(workload, project, options)
    if tree and not tree.is_dir():
        # A text makes nothing.
        what = "the simulated driver does not exist, or the simulator has changed since."
        fix = f"This makes it: python build.py run {target.id} --simulate -- true"
        raise EngineError(Problem(what=what, fix=fix))
    if options.for_other_hosts:
        print(formats.text(options.form, workload), end="")
        if (options.elsewhere or options.format in _ELSEWHERE) and not options.image:
            note = f"{workload.image} is a local name. Name an image in a registry with --image."
            console.say(note, "warning")
        return
    if workload.ascend:
        _check_runtime()
    devices = host.devices_here(workload)
    print(formats.shell(workload, devices, options.engine), end="")


def _divided(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words before and after the first '--'."""
    index = words.index("--") if "--" in words else len(words)
    return tuple(words[:index]), tuple(words[index + 1 :])


def _variables(texts: Sequence[str]) -> tuple[str, ...]:
    names = [text for text in texts if "=" not in text]
    if missing := [name for name in names if name not in os.environ]:
        what = f"this environment has no variable {enumerated(missing)}."
        raise UsageError(Problem(what=what, fix="Set it, or write NAME=VALUE."))
    return tuple(texts)


def _mounts(words: Sequence[str]) -> dict[str, str]:
    mounts: dict[str, str] = {}
    problems = []
    for word in words:
        source, _, where = word.partition(":")
        if not source or not where or ":" in where:
            fix = "Write it as HOST:CONTAINER, as in /data:/data."
            if ":" in where:
                fix += f" Options of docker go after '--', as in: -- -v {word}"
            problems.append(Problem(what=f"invalid mount {word!r}.", fix=fix))
        elif where in mounts.values() or source in mounts:
            what = f"--mount {word}: another --mount uses the same directory."
            problems.append(Problem(what=what))
        else:
            mounts[source] = where
    if problems:
        raise UsageError(problems)
    return mounts


def _cards(options: RunOptions, simulated: Path | None) -> tuple[int, ...]:
    number = options.cards
    if options.for_other_hosts:
        number = number or 1
        if not simulated:
            return tuple(range(number))
    if not simulated and (address := engine.other_host()):
        what = f"the engine {address} is on another host, and the cards are read from this one."
        fix = "Run this on that host, or add --print --elsewhere."
        raise EngineError(Problem(what=what, fix=fix))
    cards = tuple(range(DEVICES)) if simulated else cards_of()
    if not cards:
        what = "this host has no NPU (/dev/davinci*)."
        other = "for another host, --print --elsewhere or another --format than shell."
        raise EngineError(Problem(what=what, fix=f"Add --simulate; or {other}"))
    if number and number > len(cards):
        numbers = ", ".join(map(str, cards))
        kind = "simulated host" if simulated else "host"
        what = f"--cards {number} is more than this {kind} has, {len(cards)}: {numbers}."
        raise UsageError(Problem(what=what, fix=f"Use --cards {len(cards)} or fewer."))
    return cards[:number]


def _check_runtime() -> None:
    """Refuse what the engine here could not run; where there is none, it is for another host."""
    try:
        _, runtimes = engine.machine_and_runtimes()
    except EngineError:
        console.say(
            "no engine answers here, so nobody knows whether it has the runtime 'ascend'", "warning"
        )
        return
    if problem := host.without_runtime(runtimes):
        raise EngineError(problem)


def _run(workload: Workload, project: Project, options: RunOptions) -> NoReturn:
    program = options.engine
    target, simulates = workload.target, bool(workload.simulate_host)
    command = f"python build.py build {target.id}" + (" --simulate" if simulates else "")
    build = "" if options.image else command
    findings = host.check_host(workload, project.compat(), build=build, program=program)
    for note in findings.notes:
        console.say(note, "warning")
    if findings.problems:
        raise EngineError(findings.problems)
    if simulates:
        simulated_host(project, target, package_index(None, ""))
    spec = run_spec(workload, host.devices_here(workload))
    detach = spec.asked.detach
    words = workload.command or (IDLE if detach else ())
    argv = spec.docker_argv(workload.image, target.platform, words, program)
    if os.isatty(0) and not detach:
        argv[2:2] = ["--interactive", "--tty"]
    if program == "podman":  # docker makes them itself
        for folder in workload.volumes:
            Path(folder).mkdir(parents=True, exist_ok=True)
    asked = spec.asked.environment
    named = {name: os.environ[name] for name, value in asked.items() if value is None}
    try:
        os.execvpe(argv[0], argv, {**allowed_env(program), **named})
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        installs = "Install it." if program == "podman" else "'bash setup.sh' installs it."
        what = f"{program} cannot be started: {reason}."
        raise EngineError(Problem(what=what, fix=installs)) from error
