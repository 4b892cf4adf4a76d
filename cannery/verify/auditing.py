# SPDX-License-Identifier: Apache-2.0
"""Tests an image of any origin: looks into it, judges it, and runs the image tests that fit."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.common.model import MACHINE_OF, DeviceKind
from cannery.common.outside import parse_json
from cannery.common.process import OutputError, run_within
from cannery.deploy.run_spec import VISIBLE_TO_CANN, RunSpec, no_device
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.containers import hardware
from cannery.engine.images import ImageFiles
from cannery.matrix.project import Project
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.facts import (
    ImageConfig,
    ImageFacts,
    Origin,
    config_of,
    describe,
    parse_probe,
    record_of,
)
from cannery.verify.audit.profiles import Profile, judge_profile
from cannery.verify.audit.report import NO_FACTS, Audit, Result, Standing
from cannery.verify.audit.user_checks import Ran, UserCheck, judge_ran, left_out
from cannery.verify.devices import cards_of_spec, device_for
from cannery.verify.image_checks import needed
from cannery.verify.run_checks import CheckedImage, image_tests_in, pytest_in
from cannery.verify.verification import Check, LeftOut

PROBE_SECONDS = 300.0
"""The time limit of the probe, which starts programs of CANN; emulated, they are slow."""

_GRACE = 30.0
"""Seconds after a check's time limit in which its output is waited for."""

_RAN = "cannery-ran: "
_PROGRAMS = Path(__file__).parent / "probe"
_FILE_LISTS = Path(__file__).parents[1] / "image" / "context" / "file_lists.py"


class NoFactsError(Exception):
    """The probe printed no facts; the text has the reason."""


def _program(name: str) -> str:
    return (_PROGRAMS / name).read_text(encoding="utf-8")


def probe_program() -> str:
    """The program of the probe, with that which compares CANN with its lists of files."""
    return f"{_FILE_LISTS.read_text(encoding='utf-8')}\n\n{_program('probe.py')}"


def read_config(reference: str) -> ImageConfig:
    """The config of the local image ``reference``."""
    inspected = engine.image_details(reference)
    if not inspected:
        what = f"there is no image {reference} here."
        raise EngineError(Problem(what=what, fix=f"Pull or build it: docker pull {reference}"))
    return config_of(reference, inspected, engine.image_history(reference))


def probe(container: str, seconds: float = PROBE_SECONDS) -> ImageFacts:
    """The facts about the image of a running container.

    Raises:
        NoFactsError: the image has no shell, or the probe hangs or prints something else or without
            end.
        EngineError: docker is not installed.
    """
    words = ["sh", "-c", _program("find_python.sh"), "probe", probe_program()]
    try:
        waiting = partial(containers.require_room, container)
        code, output = run_within(["docker", "exec", container, *words], seconds, waiting)
    except OutputError as error:
        raise NoFactsError("the probe printed without end") from error
    if code is None:
        raise NoFactsError(f"the probe did not end in {seconds:.0f} s")
    try:
        return parse_probe(output)
    except ValueError as error:
        raise NoFactsError(str(error)) from error


def look_without_running(config: ImageConfig) -> ImageFacts:
    """The few facts that the files of an image have, for one in which nothing can be started."""
    with containers.unstarted(config.id, config.platform) as container:
        files = ImageFiles(container)
        lines = [
            f"program {name}\t/bin/{name}"
            for name in ("sh", "bash")
            if any(files.exists(f"{folder}/{name}") for folder in ("/bin", "/usr/bin"))
        ]
        lines += [f"user\t{line}" for line in files.text("/etc/passwd").splitlines()]
    return parse_probe("".join(f"cannery-sh: {line}\n" for line in [*lines, "end\t1"]))


def run_check(container: str, check: UserCheck, python: str) -> Ran:
    """Run the command of ``check`` in a running container; ``python`` is its Python, or empty."""
    argv = ["docker", "exec"]
    if check.cards:
        argv += ["--env", f"{VISIBLE_TO_CANN}={','.join(map(str, range(check.cards)))}"]
    words, seconds = ["/bin/sh", "-c", check.command], float(check.seconds)
    if python:
        words = [python, "-c", _program("run_check.py"), check.command, str(check.seconds)]
        seconds += _GRACE
    begun = time.monotonic()
    try:
        waiting = partial(containers.require_room, container)
        code, output = run_within([*argv, container, *words], seconds, waiting)
    except OutputError as error:
        code, output = -1, str(error)
    late = code is None
    if python:
        lines = [line for line in output.splitlines() if line.startswith(_RAN)]
        # ValueError, TypeError: something else in the image has printed it.
        with suppress(IndexError, ValueError, TypeError):
            return Ran(**parse_json(lines[-1].removeprefix(_RAN)))
        code = code or -1
    return Ran(
        code=-1 if code is None else code,
        output=output,
        seconds=time.monotonic() - begun,
        timed_out=late,
        peak_kib=-1,
    )


@dataclass(frozen=True, kw_only=True)
class Request:
    """The checks of an image.

    ``chip`` is the one that it must be for, if given; ``components`` are those whose image tests
    run, all if empty. ``checks`` are the user's commands, and ``tests`` the folder of the user's
    testinfra files. ``network`` is what its containers are on, and ``strict`` makes unknown
    pairings failures.
    """

    reference: str
    simulate: bool = False
    chip: str = ""
    profiles: tuple[Profile, ...] = ()
    components: tuple[str, ...] = ()
    checks: tuple[UserCheck, ...] = ()
    tests: Path | None = None
    ca: Path | None = None
    network: str = "none"
    strict: bool = False


@dataclass
class _ImageAudit:
    """The audit of one image, while it is made."""

    project: Project
    request: Request
    config: ImageConfig
    facts: ImageFacts = field(default_factory=ImageFacts)
    results: list[Result] = field(default_factory=list)
    hardware: dict[DeviceKind, str] = field(default_factory=dict)
    waiting: list[Result] = field(default_factory=list)
    """The user's testinfra checks that wait for a device."""

    @property
    def machine(self) -> str:
        return MACHINE_OF.get(self.config.architecture, self.config.architecture)


def audit(project: Project, request: Request) -> Audit:
    """Test the image that ``request`` names."""
    config = read_config(request.reference)
    run = _ImageAudit(project, request, config)
    try:
        with _container(run, no_device()) as container:
            console.say(f"{request.reference}: finding out what is in it")
            run.facts = probe(container)
            releases = project.matrix().cann
            run.results += judge_image(run.facts, config, project.compat(), releases, request.chip)
            _judge_profiles(run)
            _check_in(run, container, no_device())
    except (NoFactsError, EngineError) as error:
        _note_no_facts(run, error)
    if run.facts.machine:
        spec, missing = device_for(project, run.machine, run.facts, simulate=request.simulate)
        run.results += missing
        if spec:
            with _container(run, spec) as container:
                _check_in(run, container, spec)
        else:
            with_device = [check for check in request.checks if check.cards]
            run.results += left_out(with_device, 0, DeviceKind.NONE) + run.waiting
    return Audit(
        reference=request.reference,
        image_id=config.id,
        origin=str(config.origin),
        what=describe(run.facts, config),
        results=tuple(run.results),
        hardware=run.hardware,
        profiles=tuple(profile.name for profile in request.profiles),
        strict=request.strict,
        date=datetime.now(UTC).date().isoformat(),
    )


@contextmanager
def _container(run: _ImageAudit, spec: RunSpec) -> Iterator[str]:
    console.say(f"{run.config.reference}: starting a container (device: {spec.kind})")
    request = run.request
    with containers.container(
        run.config.id, run.config.platform, spec, request.ca, request.network
    ) as name:
        run.hardware[spec.kind] = hardware(spec.kind, run.machine)
        yield name


def _note_no_facts(run: _ImageAudit, error: NoFactsError | EngineError) -> None:
    """Note that the probe failed; an image whose containers end at once is judged by its files."""
    why, ends = str(error), "executable file not found|no such file or directory"
    if isinstance(error, NoFactsError):
        ends = "is not running"
    elif not re.search(ends, why):
        raise error
    if ends_at_once := re.search(ends, why):
        why = "its containers end at once, because it has no program 'sleep', or none for this "
        why += "machine"
    text = f"The contents of the image could not be found out: {why}."
    fix = f"Look into it with: docker run --rm -it --entrypoint sh {run.config.reference}"
    run.results.append(Result(check=NO_FACTS, standing=Standing.NOT_OURS, text=text, fix=fix))
    if ends_at_once:
        run.facts = look_without_running(run.config)
        _judge_profiles(run)


def _judge_profiles(run: _ImageAudit) -> None:
    for profile in run.request.profiles:
        run.results += judge_profile(profile, run.facts, run.config)


def _check_in(run: _ImageAudit, container: str, spec: RunSpec) -> None:
    """Run the checks that need the device of ``spec`` in a running container that has it."""
    console.say(f"{run.config.reference}: checking it (device: {spec.kind})")
    if run.facts.versions:
        run.results += _image_tests(run, container, spec.kind)
    cards = cards_of_spec(spec)
    checks = [check for check in run.request.checks if bool(check.cards) == bool(cards)]
    run.results += left_out(checks, cards, spec.kind)
    for check in checks:
        if check.cards <= cards:
            ran = run_check(container, check, run.facts.interpreter)
            run.results.append(judge_ran(check, ran, spec.kind))
    if run.request.tests:
        folder = str(run.request.tests)
        words = [folder, "--rootdir", folder, "--confcutdir", folder]
        checked = CheckedImage(container=container, kind=spec.kind, name=run.config.reference)
        tests = pytest_in(run.project, checked, words)
        run.results += _results(tests, "own", spec.kind)
        waiting = [replace(test, left_out="") for test in tests if test.left_out == LeftOut.WAITS]
        run.waiting += _results(waiting, "own", spec.kind)


def _image_tests(run: _ImageAudit, container: str, kind: DeviceKind) -> list[Result]:
    """The image tests that fit an image of this origin."""
    project, origin, only = run.project, run.config.origin, run.request.components
    if not run.facts.own_record:
        origin = Origin.FOREIGN
    tests = project.checks
    with tempfile.TemporaryDirectory(prefix="cannery-record-") as folder:
        path, record = Path(folder) / "target.json", record_of(run.facts, run.config)
        path.write_text(json.dumps(record), encoding="utf-8")
        words = [str(tests / component) for component in only] or [str(tests)]
        words += ["--record", str(path), "--origin", str(origin)]
        words += ["--simulated"] if run.facts.cann and run.facts.cann.stand_ins else []
        must = needed(project, record["components"], kind, only=only, origin=str(origin))
        checked = CheckedImage(container=container, kind=kind, name=run.config.reference)
        checks = image_tests_in(project, checked, words, must)
    return _results(checks, "image", kind)


def _results(checks: Iterable[Check], group: str, kind: DeviceKind) -> list[Result]:
    """Of the checks that belong into this container, and not into the other one."""
    standings = {"passed": Standing.PASSED, "not run": Standing.NOT_RUN}
    results = []
    for check in checks:
        if check.left_out:
            continue
        standing = standings.get(check.outcome, Standing.BROKEN)
        why = f" {'Not run: ' if standing is Standing.NOT_RUN else ''}{check.why}"
        text = check.title + (why if check.why else "")
        name = f"{group}/{check.name}"
        results.append(Result(check=name, standing=standing, text=text, device=kind))
    return results
