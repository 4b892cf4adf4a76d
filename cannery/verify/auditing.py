# SPDX-License-Identifier: Apache-2.0
"""Tests an image of any origin: looks into it, judges it, and runs the image tests that fit."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.common.model import MACHINE_OF, DeviceKind
from cannery.common.outside import parse_json
from cannery.common.process import run_within
from cannery.deploy.run_spec import VISIBLE_TO_CANN, RunSpec, no_device
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.containers import hardware
from cannery.engine.images import ImageFiles
from cannery.matrix.project import Project
from cannery.verify.audit.contents import judge_image
from cannery.verify.audit.found import ImageConfig, ImageFacts, Origin, config_of, parse_probe
from cannery.verify.audit.own_checks import OwnCheck, Ran, judge_ran, left_out
from cannery.verify.audit.profiles import Profile, judge_profile
from cannery.verify.audit.reports import describe, record_of
from cannery.verify.audit.result import NO_FACTS, Audit, Result, Standing
from cannery.verify.devices import cards_of_spec, device_for
from cannery.verify.image_checks import folder_of_checks, needed
from cannery.verify.run_checks import image_tests_in, pytest_in
from cannery.verify.verification import Check, LeftOut

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
    """The config of the local image ``reference``."""
    inspected = engine.image_details(reference)
    if not inspected:
        what = f"there is no image {reference} here."
        raise EngineError(Problem(what=what, fix=f"Pull or build it: docker pull {reference}"))
    return config_of(reference, inspected, engine.image_history(reference))


def probe(container: str, seconds: float = PROBE_SECONDS) -> ImageFacts:
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


def look_without_running(config: ImageConfig) -> ImageFacts:
    """The few facts about an image that its files tell, for one in which nothing can be started."""
    lines = []
    with containers.unstarted(config.id, config.platform) as container:
        files = ImageFiles(container)
        there = [n for n in _SHELLS if any(files.exists(f"{each}/{n}") for each in _FOLDERS)]
        lines += [f"program {name}\t/bin/{name}" for name in there]
        lines += [f"user\t{line}" for line in files.text("/etc/passwd").splitlines()]
    return parse_probe("".join(f"cannery-sh: {line}\n" for line in [*lines, "end\t1"]))


def run_check(container: str, check: OwnCheck, python: str) -> Ran:
    """Run the command of ``check`` in a running container; ``python`` is its Python, or empty."""
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


_STANDINGS = {
    "passed": Standing.PASSED,
    "failed": Standing.BROKEN,
    "not run": Standing.NOT_RUN,
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of an image.

    ``chip`` is the one that it must be for, if given; ``components`` are those whose image tests
    run, all if empty. ``checks`` are the user's commands, and ``tests`` the folder of the user's
    testinfra files. ``strict`` makes unknown pairings failures.
    """

    reference: str
    simulate: bool = False
    chip: str = ""
    profiles: tuple[Profile, ...] = ()
    components: tuple[str, ...] = ()
    checks: tuple[OwnCheck, ...] = ()
    tests: Path | None = None
    ca: Path | None = None
    strict: bool = False


@dataclass
class _ImageAudit:
    """The audit of one image, while it is made."""

    project: Project
    request: Request
    config: ImageConfig
    found: ImageFacts = field(default_factory=ImageFacts)
    results: list[Result] = field(default_factory=list)
    hardware: dict[DeviceKind, str] = field(default_factory=dict)
    waiting: list[Result] = field(default_factory=list)
    """The user's testinfra checks that wait for a device."""

    @property
    def machine(self) -> str:
        return MACHINE_OF.get(self.config.architecture, self.config.architecture)

    @property
    def is_simulated(self) -> bool:
        return bool(self.found.cann and self.found.cann.stand_ins)


def audit(project: Project, request: Request) -> Audit:
    """Test the image that ``request`` names."""
    config = read_config(request.reference)
    run = _ImageAudit(project, request, config)
    try:
        with _container(run, no_device()) as container:
            if _look(run, container):
                _judge(run)
                _check_in(run, container, no_device())
    except EngineError as error:
        if not _has_no_program(error):
            raise
        _look_at_files(run)
    if run.found.machine:
        spec, missing = device_for(project, run.machine, run.found, simulate=request.simulate)
        run.results += missing
        if spec:
            with _container(run, spec) as container:
                _check_in(run, container, spec)
        else:
            with_device = [each for each in request.checks if each.cards]
            run.results += left_out(with_device, 0, DeviceKind.NONE) + run.waiting
    return Audit(
        reference=request.reference,
        image_id=config.id,
        origin=str(config.origin),
        what=describe(run.found, config),
        results=tuple(run.results),
        hardware=run.hardware,
        profiles=tuple(each.name for each in request.profiles),
        strict=request.strict,
        date=datetime.now(UTC).date().isoformat(),
    )


def _has_no_program(error: EngineError) -> bool:
    text = str(error)
    return "executable file not found" in text or "no such file or directory" in text


@contextmanager
def _container(run: _ImageAudit, spec: RunSpec) -> Iterator[str]:
    console.say(f"{run.config.reference}: starting a container (device: {spec.kind})")
    request = run.request
    with containers.container(run.config.id, run.config.platform, spec, request.ca) as name:
        run.hardware[spec.kind] = hardware(spec.kind, run.machine)
        yield name


def _look(run: _ImageAudit, container: str) -> bool:
    """Find out what is in the image; return whether that went well."""
    console.say(f"{run.config.reference}: finding out what is in it")
    try:
        run.found = probe(container)
    except NoFactsError as error:
        if "is not running" in str(error):
            _look_at_files(run)
        else:
            _note_no_facts(run, str(error))
        return False
    return True


def _look_at_files(run: _ImageAudit) -> None:
    """Judge an image whose containers end at once by its files and its config."""
    why = "its containers end at once, because it has no program 'sleep', or none for this machine"
    _note_no_facts(run, why)
    run.found = look_without_running(run.config)
    _judge_profiles(run)


def _note_no_facts(run: _ImageAudit, why: str) -> None:
    text = f"The contents of the image could not be found out: {why}."
    fix = f"Look into it with: docker run --rm -it --entrypoint sh {run.config.reference}"
    run.results.append(Result(check=NO_FACTS, standing=Standing.NOT_OURS, text=text, fix=fix))


def _judge(run: _ImageAudit) -> None:
    request, project = run.request, run.project
    known = project.matrix().cann
    run.results += judge_image(run.found, run.config, project.compat(), known, request.chip)
    _judge_profiles(run)


def _judge_profiles(run: _ImageAudit) -> None:
    for profile in run.request.profiles:
        run.results += judge_profile(profile, run.found, run.config)


def _check_in(run: _ImageAudit, container: str, spec: RunSpec) -> None:
    """Run the checks that need the device of ``spec`` in a running container that has it."""
    console.say(f"{run.config.reference}: checking it (device: {spec.kind})")
    if run.found.versions:
        run.results += _image_tests(run, container, spec.kind)
    cards = cards_of_spec(spec)
    wanted = [each for each in run.request.checks if bool(each.cards) == bool(cards)]
    run.results += left_out(wanted, cards, spec.kind)
    for check in wanted:
        if check.cards <= cards:
            ran = run_check(container, check, run.found.interpreter)
            run.results.append(judge_ran(check, ran, spec.kind))
    if run.request.tests:
        folder = str(run.request.tests)
        words = [folder, "--rootdir", folder, "--confcutdir", folder]
        checks = pytest_in(run.project, container, spec.kind, words)
        run.results += [_result(each, "own", spec.kind) for each in checks if _is_here(each)]
        waiting = [each for each in checks if each.left_out == LeftOut.WAITS]
        run.waiting += [_result(each, "own", spec.kind) for each in waiting]


def _image_tests(run: _ImageAudit, container: str, kind: DeviceKind) -> list[Result]:
    """The image tests that fit an image of this origin."""
    project, origin = run.project, run.config.origin
    if origin is not Origin.FOREIGN and not run.found.own_record:
        origin = Origin.FOREIGN
    tests = folder_of_checks(project)
    only = [str(tests / component) for component in run.request.components]
    with tempfile.TemporaryDirectory(prefix="cannery-record-") as folder:
        record, known = Path(folder) / "target.json", record_of(run.found, run.config)
        record.write_text(json.dumps(known), encoding="utf-8")
        words = [*(only or [str(tests)]), "--record", str(record), "--origin", str(origin)]
        words += ["--simulated"] if run.is_simulated else []
        must = needed(
            project, known["components"], kind, only=run.request.components, origin=str(origin)
        )
        checks = image_tests_in(project, container, kind, words, must)
    return [_result(each, "image", kind) for each in checks if each.applies and _is_here(each)]


def _is_here(check: Check) -> bool:
    """Whether the check belongs into this container; the others run in the other one."""
    return check.left_out not in (LeftOut.ELSEWHERE, LeftOut.WAITS)


def _result(check: Check, group: str, kind: DeviceKind) -> Result:
    standing = _STANDINGS.get(check.outcome, Standing.BROKEN)
    text = check.title
    if check.why:
        text += f" {'Not run: ' if standing is Standing.NOT_RUN else ''}{check.why}"
    return Result(check=f"{group}/{check.name}", standing=standing, text=text, device=kind)
