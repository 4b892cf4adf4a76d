# SPDX-License-Identifier: Apache-2.0
"""Runs the image tests in containers, one for each kind of device; shows and stores the report."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import cannery
from cannery.common import console
from cannery.common.errors import CanneryError, EngineError, Problem, VerificationError
from cannery.common.files import write_files
from cannery.common.model import DeviceKind, Target
from cannery.common.outside import parse_json
from cannery.common.process import each_in_thread, run
from cannery.deploy.run_spec import RunSpec
from cannery.engine import containers
from cannery.engine.containers import NOT_STARTED, hardware, stand_ins
from cannery.image.plan import plan_image
from cannery.lock.lock_file import read_lock
from cannery.matrix.project import Project
from cannery.verify.image_checks import COMPILER_CHECK, checks_digest, expected, own_tests
from cannery.verify.results import report_path
from cannery.verify.verification import (
    PROGRESS,
    Check,
    DeviceRun,
    Verification,
    missing,
    to_brief,
    to_text,
)

PLUGIN = "cannery.verify.pytest_report"
"""The pytest plugin with the options and the report that these runs need."""

_ENVIRONMENT = {
    "PYTHONPATH": str(Path(cannery.__file__).parents[1]),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
"""Where the plugin is, and that those of other packages are none of these runs."""

_SHOWN = 5
"""How many checks that did not run are named."""

_NO_TESTS = 5
"""pytest's exit code if it has found none."""

_CHECK_AGAIN = "That says nothing about the image: check it again."


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An image that is checked as one of ``target``.

    ``image`` is its id and ``name`` its name in the report. A ``simulated`` image must hold
    stand-ins, which no other image may.
    """

    target: Target
    image: str
    name: str
    simulated: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckedImage:
    """A running container of an image that is called ``name``, with a device of this kind."""

    container: str
    kind: DeviceKind
    name: str


def verify(
    project: Project,
    subject: Subject,
    specs: Sequence[RunSpec],
    *,
    ca: Path | None = None,
    only: Sequence[str] = (),
) -> Verification:
    """Run the checks of an image for each of ``specs``, at the same time.

    ``ca`` has the certificates to trust for package indexes. ``only`` names components; empty means
    all of them.
    """
    target = subject.target

    def checked(spec: RunSpec) -> DeviceRun:
        console.say(f"{target.id}: checking {subject.name} (device: {spec.kind})")
        with containers.container(subject.image, target.platform, spec, ca) as container:
            checks = checks_in(project, subject, container, spec.kind, only=only)
        ran_on = hardware(spec.kind, target.machine)
        return DeviceRun(device=spec.kind, checks=checks, hardware=ran_on)

    runs = each_in_thread(checked, specs)
    digest = "" if only else checks_digest(project)
    return Verification(
        target=target.id,
        image=subject.name,
        image_id=subject.image,
        runs=tuple(runs),
        simulated=subject.simulated,
        checks=digest,
        date=datetime.now(UTC).date().isoformat(),
    )


def checks_in(
    project: Project,
    subject: Subject,
    container: str,
    kind: DeviceKind,
    *,
    only: Sequence[str] = (),
) -> tuple[Check, ...]:
    """Run the checks of an image in a running container that has a device of this kind.

    ``only`` is that of ``verify``.
    """
    target = subject.target
    folders = [str(project.checks / component) for component in only]
    words = folders or [str(project.checks)]
    words += ["--simulated"] if subject.simulated else []
    words += [f"--deselect=tests/image/{COMPILER_CHECK}"] if target.without_compiler else []
    must = expected(project, target, kind, only)
    with tempfile.TemporaryDirectory(prefix="cannery-record-") as folder:
        record = Path(folder) / "target.json"
        known = plan_image(target, read_lock(project, target)).image_record
        record.write_text(json.dumps(known), encoding="utf-8")
        words += ["--record", str(record)]
        checked = CheckedImage(container=container, kind=kind, name=target.id)
        return image_tests_in(project, checked, words, must, own_tests(project, target, only))


def image_tests_in(
    project: Project,
    checked: CheckedImage,
    words: Sequence[str],
    must: Collection[str],
    own: Sequence[Path] = (),
) -> tuple[Check, ...]:
    """As ``pytest_in``, with the image tests, then with those of the project's ``own`` files.

    The checks ``must`` have to be started.
    """
    folder = project.checks
    words = [*words, "--rootdir", str(folder.parents[1]), "--confcutdir", str(folder)]
    words += ["--import-mode=importlib", "--strict-markers", "-W", "error"]
    checks = pytest_in(project, checked, words, may_be_empty=True)
    if own:
        words = [*map(str, own), "--rootdir", str(project.root), "--import-mode=importlib"]
        words += ["--confcutdir", str(project.own_checks)]
        checks += pytest_in(project, checked, words, may_be_empty=True)
    if absent := missing(checks, must):
        what = f"{len(absent)} of {len(must)} checks did not run on device {checked.kind}, so "
        what += f"nothing is known of the image: {', '.join(absent[:_SHOWN])}"
        what += f"{' …' * (len(absent) > _SHOWN)}."
        fix = f"See that {folder} is as in its repository."
        raise VerificationError(Problem(what=what, fix=fix))
    return checks


def pytest_in(
    project: Project,
    checked: CheckedImage,
    words: Sequence[str],
    *,
    may_be_empty: bool = False,
) -> tuple[Check, ...]:
    """Run pytest with ``words`` on a running container.

    Says every ten seconds which check runs. ``may_be_empty`` says that there may be no
    test at all.
    """
    with tempfile.TemporaryDirectory(prefix="cannery-test-") as folder:
        report = Path(folder) / "report.json"
        # Settings come from here alone: from no file above the tests, and from no other plugin.
        argv = [sys.executable, "-B", "-P", "-m", "pytest", "-c", os.devnull, *words]
        argv += ["-p", "testinfra.plugin", "-p", PLUGIN, "-p", "no:cacheprovider"]
        argv += ["--quiet", "--no-header", "--tb=short"]
        argv += ["--hosts", f"docker://{checked.container}", "--device", str(checked.kind)]
        argv += ["--report", str(report)]

        def look() -> None:
            containers.require_room(checked.container)
            with suppress(OSError):
                progress = report.with_suffix(PROGRESS).read_text(encoding="utf-8")
                console.say(f"{checked.name}: {progress} (device: {checked.kind})")

        code, output = run(argv, cwd=project.root, env=_ENVIRONMENT, waiting=look)
        if code == NOT_STARTED:
            what = f"a process of the checks could not be started: {report.read_text()}"
            raise EngineError(Problem(what=what, fix=_CHECK_AGAIN))
        # 0: all passed; 1: some failed. Any other code is an error of pytest itself.
        if code == _NO_TESTS and not may_be_empty:
            what = f"there is no test in the files test_*.py of {words[0]}."
            raise VerificationError(Problem(what=what, fix="Add one, or remove the files."))
        good = (0, 1, _NO_TESTS)
        checks = None
        if code in good:
            # Not all of the outcomes, if pytest could not write them, as on a full disk.
            with suppress(FileNotFoundError, ValueError):
                checks = parse_json(report.read_bytes())
        if not isinstance(checks, dict):
            what = f"the image tests could not be run (pytest ended with code {code}):\n{output}"
            raise CanneryError(what)
        if code == 1:
            # Did checks fail because their container, or the engine, has ended?
            try:
                containers.check_running(checked.container)
            except EngineError as error:
                what = "the checks were broken off, because the engine or their container was "
                what += f"stopped: {error.problems[0].what}"
                raise EngineError(Problem(what=what, fix=_CHECK_AGAIN)) from error
    return tuple(Check(name=name, **check) for name, check in checks.items())


class Detail(StrEnum):
    """The rows of the printed report: one line, one a component, or one a check, too.

    Failures are always printed in full.
    """

    BRIEF = "brief"
    COMPONENTS = "components"
    CHECKS = "checks"


@dataclass(frozen=True, kw_only=True)
class ImageChecks:
    """How an image is checked; ``ca`` and ``only`` are those of ``verify``.

    ``record`` is called with the result, whether the checks passed or not.
    """

    ca: Path | None = None
    only: Sequence[str] = ()
    detail: Detail = Detail.COMPONENTS
    record: Callable[[Verification], None] = lambda _: None


def check(
    project: Project, subject: Subject, specs: Sequence[RunSpec], options: ImageChecks
) -> None:
    """Check an image, show a report and write it as JSON.

    ``subject.simulated`` is not read: the image itself shows it.

    Raises:
        VerificationError: a check failed, or not all were run; or only one of the image and the
            devices in ``specs`` is simulated, and nothing was checked.
    """
    target = subject.target
    subject = replace(subject, simulated=_is_simulated(subject, specs))
    result = verify(project, subject, specs, ca=options.ca, only=options.only)
    if not any(check.outcome != "not run" for run in result.runs for check in run.checks):
        what = f"{target.id}: no check was run on {subject.name}, so nothing is known of it."
        raise VerificationError(Problem(what=what, fix="Name components that the target has."))
    report = report_path(
        project, target, subject.name, simulated=subject.simulated, only=options.only
    )
    write_files({report: result.to_json()})
    text = to_text(result, verbose=options.detail is Detail.CHECKS)
    if options.detail is Detail.BRIEF:
        text = to_brief(result)
    console.show_result(text, failed=bool(result.failed))
    console.say(f"{target.id}: the report is in {report}")
    options.record(result)
    if result.failed:
        names = sorted({check.name for _, check in result.failed})
        raise VerificationError(
            Problem(
                what=f"{target.id}: failed checks: {', '.join(names)}.",
                fix=f"The image is {subject.image}; no tag was moved to it.",
            )
        )


def _is_simulated(subject: Subject, specs: Sequence[RunSpec]) -> bool:
    target, name = subject.target, subject.name
    signs = stand_ins(subject.image, target)
    simulated_device = DeviceKind.SIMULATED in {spec.kind for spec in specs}
    if signs and not simulated_device:
        what = f"{name} is a simulated image ({', '.join(signs)}) and needs --simulate."
        command = f"python build.py test --target {target.id} --image {name} --simulate"
        fix = f"Check it on the simulated device: {command}"
        raise VerificationError(Problem(what=what, fix=fix))
    if simulated_device and not signs:
        what = f"{name} is not a simulated image, and Huawei's CANN cannot use the simulated"
        raise VerificationError(Problem(what=f"{what} driver.", fix="Leave out --simulate."))
    return bool(signs)
