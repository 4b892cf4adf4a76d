# SPDX-License-Identifier: Apache-2.0
"""``build.py run``: a container with what it needs of its host, or the text that makes one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NoReturn

from cannery import console, deploy
from cannery.cli.common import PROJECT, selected
from cannery.compat import facts_beside
from cannery.deploy import RunOptions
from cannery.deploy.run_spec import SHM_SIZE, cards_of
from cannery.errors import EngineError, Problem, UsageError
from cannery.execute import preflight as host
from cannery.execute.engine import client as engine
from cannery.execute.engine.simulator import DEVICES
from cannery.image.names import image_name
from cannery.model import Target
from cannery.pipeline.images import simulated_host


def run(options: argparse.Namespace) -> int:
    """Print how to run one target, or become ``docker run``.

    Raises:
        UsageError: more than one target is selected, or what is asked for makes no sense.
        EngineError: this host cannot do it; with everything that is wrong.
    """
    targets = selected(options)
    if len(targets) > 1:
        names = ", ".join(target.id for target in targets)
        raise UsageError(f"run takes one target, and these were named: {names}.")
    target = targets[0]
    simulated = simulated_host(PROJECT, target) if options.simulate else None
    mounts = _mounts(options.mount)
    run_options = RunOptions(
        image=options.image or image_name(target.id, simulate=options.simulate),
        target=target,
        cards=_cards(options, simulated),
        nodes=options.nodes,
        runtime=options.runtime,
        simulate_host=simulated,
        shm_size=options.shm_size or SHM_SIZE,
        mounts=mounts,
        command=tuple(options.command),
    )
    if options.format != "shell":
        print(deploy.write(options.format, run_options), end="")
        return 0
    run_options.check("shell")
    if not options.print:
        _run(run_options, build="" if options.image else _build_command(target, simulated))
    if run_options.ascend:
        _ask_for_runtime()
    print(deploy.shell(run_options, host.devices_here(run_options)), end="")
    return 0


def _mounts(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    problems = []
    for word in words:
        source, _, where = word.partition(":")
        if not source or not where:
            fix = "Write HOST:CONTAINER, as in /data:/data."
            problems.append(Problem(what=f"{word!r} says not what is mounted where.", fix=fix))
        elif where in found.values() or source in found:
            problems.append(Problem(what=f"{word!r} names a folder that another --mount names."))
        else:
            found[source] = where
    if problems:
        raise UsageError(problems)
    return found


def _cards(options: argparse.Namespace, simulated: Path | None) -> tuple[int, ...]:
    """The numbers of the first cards of this host, or of one elsewhere."""
    wanted: int | None = options.cards
    if options.format != "shell":
        wanted = wanted or 1
        if not simulated:
            return tuple(range(wanted))
    cards = tuple(range(DEVICES)) if simulated else cards_of()
    if not cards:
        what = "this host has no NPU (/dev/davinci*)."
        fix = "Add --simulate to try it, or take another --format than shell for a host elsewhere."
        raise EngineError(Problem(what=what, fix=fix))
    if wanted and wanted > len(cards):
        have = ", ".join(map(str, cards))
        kind = "simulated host" if simulated else "host"
        what = f"{wanted} cards were asked for, and this {kind} has {len(cards)}: {have}."
        raise UsageError(Problem(what=what, fix=f"Ask for --cards {len(cards)} or fewer."))
    return cards[:wanted]


def _build_command(target: Target, simulated: Path | None) -> str:
    return f"python build.py --target {target.id}" + (" --simulate" if simulated else "")


def _ask_for_runtime() -> None:
    """Refuse what the engine here could not run; where there is none, it is for another host."""
    try:
        _, runtimes = engine.machine_and_runtimes()
    except EngineError:
        console.say("no engine answers here, so nobody knows whether it has the runtime 'ascend'")
        return
    if problem := host.without_runtime(runtimes):
        raise EngineError(problem)


def _run(run_options: RunOptions, build: str) -> NoReturn:
    """Become ``docker run``, if this host can do it."""
    found = host.look_at(run_options, facts_beside(PROJECT.root / "matrix.yaml"), build=build)
    for note in found.notes:
        console.say(note)
    if found.problems:
        raise EngineError(found.problems)
    spec = deploy.run_spec(run_options, host.devices_here(run_options))
    argv = spec.docker_argv(run_options.image, run_options.target.platform, run_options.command)
    if os.isatty(0):
        argv[2:2] = ["--interactive", "--tty"]
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise EngineError(
            Problem(what=f"docker cannot be started: {reason}.", fix="'bash setup.sh' installs it.")
        ) from error
