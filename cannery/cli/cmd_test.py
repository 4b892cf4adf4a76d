# SPDX-License-Identifier: Apache-2.0
"""``build.py test``: check images that exist."""

from __future__ import annotations

from cannery.build.local_images import device_specs
from cannery.cli.common import existing, read, selected
from cannery.common import console
from cannery.common.errors import (
    CanneryError,
    EngineError,
    Problem,
    UsageError,
    VerificationError,
    did_you_mean,
    raise_all,
)
from cannery.common.files import write_files
from cannery.common.image_names import image_name
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex, package_index
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.options.audit import AnyImageOptions
from cannery.options.given import Given
from cannery.options.run import CheckedTargetOptions, CheckImageOptions
from cannery.verify.audit.json import to_json
from cannery.verify.audit.junit import to_junit
from cannery.verify.audit.own_checks import read_checks
from cannery.verify.audit.profiles import OWN_FILE, own_profiles, read_profiles, select_profiles
from cannery.verify.audit.text import to_text
from cannery.verify.auditing import Request, audit
from cannery.verify.check_files import components
from cannery.verify.checking import CheckOptions, Detail, check
from cannery.verify.devices import simulated_host
from cannery.verify.run_checks import Subject
from cannery.verify.sarif import to_sarif
from cannery.verify.stored_report import audit_path


def _check_components(options: CheckImageOptions, project: Project) -> None:
    known = components(project)
    problems = [
        Problem(what=f"unknown component {name!r}.", fix=did_you_mean(name, known))
        for name in options.components
        if name not in known
    ]
    if problems:
        raise UsageError(problems)


def _test_any(options: CheckImageOptions, more: AnyImageOptions, project: Project) -> int:
    """Test an image of any origin; what is raised is that of ``run``."""
    _check_components(options, project)
    profiles = dict(read_profiles(OWN_FILE))
    if more.profiles_file:
        profiles |= own_profiles(more.profiles_file)
    checks, has_tests = read_checks(more.checks) if more.checks else ((), False)
    request = Request(
        reference=options.image,
        simulate=options.simulate,
        chip=more.chip,
        profiles=select_profiles(more.profiles, profiles),
        components=options.components,
        checks=checks,
        tests=more.checks if has_tests else None,
        ca=package_index(existing(options.ca), "").ca,
        strict=more.strict,
    )
    found = audit(project, request)
    report = audit_path(project, options.image)
    files = {report: to_json(found)}
    files |= {more.json: to_json(found)} if more.json else {}
    files |= {more.junit: to_junit(found)} if more.junit else {}
    files |= {more.sarif: to_sarif(found, more.dockerfile)} if more.sarif else {}
    write_files(files)
    console.show_result(to_text(found, verbose=options.verbose), failed=bool(found.failures))
    console.say(f"{options.image}: the report is in {report}")
    if found.failures:
        names = ", ".join(dict.fromkeys(each.check for each in found.failures))
        raise VerificationError(f"{options.image}: failed checks: {names}.")
    return 0


def run(given: Given, project: Project) -> int:
    """Check the image of every selected target.

    Raises:
        UsageError: --image or --component says what cannot be.
        EngineError: an image does not exist.
        BuildError: the simulated driver cannot be made.
        VerificationError: a check failed.
        CanneryError: several targets failed, for different reasons.
    """
    options = read(CheckImageOptions, given, project)
    if "targets" not in given and "where" not in given:
        return _test_any(options, read(AnyImageOptions, given, project), project)
    targets = selected(read(CheckedTargetOptions, given, project), project)
    if options.image and len(targets) > 1:
        raise UsageError(f"--image needs a single target; {len(targets)} are selected.")
    _check_components(options, project)
    index = package_index(existing(options.ca), "")
    engine.connect()  # without it, every target would fail for the same reason
    failures: dict[str, CanneryError] = {}
    for target in targets:
        try:
            _test(target, options, index, project)
        except CanneryError as error:
            failures[target.id] = error
    raise_all(failures, single=len(targets) == 1)
    return 0


def _test(
    target: Target, options: CheckImageOptions, index: PackageIndex, project: Project
) -> None:
    """Check the image of one target; what is raised is that of ``run``."""
    name = options.image or image_name(target.id, simulate=options.simulate)
    image = engine.image_id(name)
    if not image:
        flag = " --simulate" if options.simulate else ""
        raise EngineError(
            Problem(
                what=f"there is no image {name} here.",
                fix=f"Build it: python build.py --target {target.id}{flag}",
            )
        )
    host = simulated_host(project, target, index) if options.simulate else None
    check(
        project,
        Subject(target=target, image=image, name=name),
        device_specs(host),
        CheckOptions(
            ca=index.ca,
            only=options.components,
            detail=Detail.CHECKS if options.verbose else Detail.COMPONENTS,
        ),
    )
