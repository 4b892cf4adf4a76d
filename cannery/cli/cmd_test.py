# SPDX-License-Identifier: Apache-2.0
"""``build.py test``: check images that exist."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
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
from cannery.common.model import Target
from cannery.common.option import Option, OptionSet, matching, option
from cannery.common.package_index import PackageIndex, package_index
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.matrix.project import Project
from cannery.options import CA, SIMULATE, TARGET, VERBOSE, TargetOptions
from cannery.verify.audit.profiles import read_profiles, select_profiles
from cannery.verify.audit.report import to_json, to_junit, to_text
from cannery.verify.audit.user_checks import read_checks
from cannery.verify.auditing import Request, audit
from cannery.verify.devices import device_specs, simulated_host
from cannery.verify.image_checks import components
from cannery.verify.results import audit_path
from cannery.verify.run_checks import Detail, ImageChecks, Subject, check

_GROUP = "any image (--image without --target)"


@dataclass(frozen=True, kw_only=True)
class CheckedTargetOptions(TargetOptions):
    """Which targets ``test`` checks images of; none for an image of any origin."""

    targets: tuple[str, ...] = TARGET.field(default_text="none, for an image of any origin")


@dataclass(frozen=True, kw_only=True)
class CheckImageOptions(OptionSet):
    """What ``test`` checks of built images."""

    simulate: bool = SIMULATE.field()
    image: str = option(
        "the image to check: as one of a single target, or without --target an image of any origin",
        default="",
        metavar="NAME",
        default_text="the local image of each target",
    )
    components: tuple[str, ...] = option(
        "check only this component",
        default=(),
        flags=("--component",),
        metavar="NAME",
        default_text="all",
    )
    ca: Path | None = CA.field()
    verbose: bool = VERBOSE.field()


_ANY = Option("", default=None, metavar="FILE", group=_GROUP, needs="image", conflicts=("targets",))
"""What the options for an image of any origin have in common."""


@dataclass(frozen=True, kw_only=True)
class AnyImageOptions(OptionSet):
    """How an image of any origin is tested, and where the results go."""

    profiles: tuple[str, ...] = _ANY.field(
        help="also check what this platform asks of an image: docker, kubernetes, volcano, "
        "volcano-ssh, kubeflow-notebook, modelarts, merlin, or one in --profiles",
        default=(),
        flags=("--profile",),
        metavar="NAME",
    )
    profiles_file: Path | None = _ANY.field(
        help="a YAML file with further profiles",
        flags=("--profiles",),
        needs="profiles",
        conflicts=(),
    )
    checks: Path | None = _ANY.field(
        help="your own checks: *.yaml with commands, and testinfra files test_*.py", metavar="DIR"
    )
    chip: str = _ANY.field(
        help="the chip that the image must have kernels for",
        default="",
        metavar="CHIP",
        parse=matching(r"[a-z0-9]{1,20}", "chip", "910b or a3"),
        default_text="the one that its labels or its name say",
    )
    strict: bool = _ANY.field(
        help="fail for pairings that no source knows, too", default=False, metavar=""
    )
    json: Path | None = _ANY.field(help="write the report as JSON")
    junit: Path | None = _ANY.field(help="write the report as JUnit XML, for CI services")


COMMAND = Command(
    description="Checks built images again, on every kind of device that is available: "
    "without a device, on the simulated NPU with --simulate, and on the NPUs of this host. "
    "With --image alone it tests an image of any origin; see docs/test-any-image.md. Writes "
    "reports, builds and tags nothing, and exits with code 8 if a check fails.",
    reads="images of the engine, matrix.yaml, compat.yaml, and the checks in tests/image/",
    writes="a report for each image in .cannery/reports/",
    example="test --image mine:latest --simulate --profile docker",
    options=(CheckedTargetOptions, CheckImageOptions, AnyImageOptions),
    one_of=("targets", "where", "image"),
)


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
    profiles = read_profiles(more.profiles_file)
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
        ImageChecks(
            ca=index.ca,
            only=options.components,
            detail=Detail.CHECKS if options.verbose else Detail.COMPONENTS,
        ),
    )
