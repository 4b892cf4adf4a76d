# SPDX-License-Identifier: Apache-2.0
"""Looks into an image of any origin: its config, and what a probe finds in a container of it."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from cannery.common.errors import EngineError, Problem
from cannery.common.outside import parse_json
from cannery.common.process import run_within
from cannery.deploy.run_spec import VISIBLE_TO_CANN
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.images import ImageFiles
from cannery.verify.audit.found import Found, ImageConfig, config_of, parse_probe
from cannery.verify.audit.own_checks import OwnCheck, Ran

PROBE_SECONDS = 300.0
"""The time for the probe, which starts a few programs of CANN; emulated, they are slow."""

_GRACE = 30.0
"""Seconds after the end of a check's time in which its last words are waited for."""

_SHELLS, _FOLDERS = ("sh", "bash"), ("/bin", "/usr/bin")
_RAN = "cannery-ran: "
_FOLDER = Path(__file__).parent / "probe"


class NoFactsError(Exception):
    """The probe printed no facts; the text says why."""


@cache
def _program(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def read_config(reference: str) -> ImageConfig:
    """The config of the local image ``reference``.

    Raises:
        EngineError: the engine does not answer, or has no such image.
    """
    inspected = engine.image_details(reference)
    if not inspected:
        what = f"there is no image {reference} here."
        raise EngineError(Problem(what=what, fix=f"Pull or build it: docker pull {reference}"))
    return config_of(reference, inspected, engine.image_history(reference))


def probe(container: str, seconds: float = PROBE_SECONDS) -> Found:
    """What is in the image of a running container.

    Raises:
        NoFactsError: the image has no shell, or the probe hangs or prints something else.
        EngineError: docker is not installed.
    """
    words = ["sh", "-c", _program("find_python.sh"), "probe", _program("probe.py")]
    code, said = run_within(["docker", "exec", container, *words], seconds)
    if code is None:
        raise NoFactsError(f"the probe did not end in {seconds:.0f} s")
    try:
        return parse_probe(said)
    except ValueError as error:
        raise NoFactsError(str(error)) from error


def look_without_running(config: ImageConfig) -> Found:
    """The few facts about an image that its files tell, for one in which nothing can be started.

    Raises:
        EngineError: the engine does not answer.
    """
    lines = []
    with containers.unstarted(config.id, config.platform) as container:
        files = ImageFiles(container)
        there = [n for n in _SHELLS if any(files.exists(f"{each}/{n}") for each in _FOLDERS)]
        lines += [f"program {name}\t/bin/{name}" for name in there]
        lines += [f"user\t{line}" for line in files.text("/etc/passwd").splitlines()]
    return parse_probe("".join(f"cannery-sh: {line}\n" for line in [*lines, "end\t1"]))


def run_check(container: str, check: OwnCheck, python: str) -> Ran:
    """Run the command of ``check`` in a running container; ``python`` is its Python, or empty.

    Raises:
        EngineError: docker is not installed.
    """
    argv = ["docker", "exec"]
    if check.cards:
        argv += ["--env", f"{VISIBLE_TO_CANN}={','.join(map(str, range(check.cards)))}"]
    argv += [container]
    if not python:
        begun = time.monotonic()
        code, said = run_within([*argv, "/bin/sh", "-c", check.command], check.seconds)
        took = time.monotonic() - begun
        return Ran(
            code=-1 if code is None else code,
            said=said,
            seconds=took,
            timed_out=code is None,
            peak_kib=-1,
        )
    words = [python, "-c", _program("run_check.py"), check.command, str(check.seconds)]
    code, said = run_within([*argv, *words], check.seconds + _GRACE)
    lines = [line for line in said.splitlines() if line.startswith(_RAN)]
    if code is None or not lines:
        late = code is None
        return Ran(code=code or -1, said=said, seconds=0, timed_out=late, peak_kib=-1)
    try:
        return Ran(**parse_json(lines[-1].removeprefix(_RAN)))
    except (ValueError, TypeError):  # something else in the image has printed it
        return Ran(code=code or -1, said=said, seconds=0, timed_out=False, peak_kib=-1)
