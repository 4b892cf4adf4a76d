# SPDX-License-Identifier: Apache-2.0
"""``build.py test``: check images that exist."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console, errors
from cannery.common.files import write_files
from cannery.common.option import Option, image_reference, matching, option
from cannery.common.package_index import package_index
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


_ANY = Option("", default=None, metavar="FILE", group=_GROUP, needs="image", conflicts=("targets",))
"""What the options for an image of any origin have in common."""


@dataclass(frozen=True, kw_only=True)
class TestOptions(TargetOptions):
    """The images that are checked: of targets, or one of any origin, and where its report goes."""

    targets: tuple[str, ...] = TARGET.field(
        default=(), default_text="none, for an image of any origin"
    )
    simulate: bool = SIMULATE.field()
    image: str = option(
        "the image to check: as one of a single target, or without --target an image of any origin",
        default="",
        metavar="NAME",
        parse=image_reference,
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
    network: str = _ANY.field(
        help="the network of its containers, one of the engine's, if your own checks need it",
        default="none",
        metavar="NAME",
        parse=matching(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", "network", "bridge"),
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
    options=TestOptions,
    one_of=("targets", "where", "image"),
)


def run(options: TestOptions, project: Project) -> None:
    """Check the image of every selected target, or one of any origin."""
    known = components(project)
    problems = [
        errors.Problem(what=f"unknown component {name!r}.", fix=errors.did_you_mean(name, known))
        for name in options.components
        if name not in known
    ]
    if problems:
        raise errors.UsageError(problems)
    if not (options.targets or options.where):
        _test_any(options, project)
        return
    targets = selected(options, project)
    if options.image and len(targets) > 1:
        raise errors.UsageError(f"--image needs a single target; {len(targets)} are selected.")
    index = package_index(options.ca, "")
    engine.connect()  # without it, every target would fail for the same reason
    detail = Detail.CHECKS if options.verbose else Detail.COMPONENTS
    checks = ImageChecks(ca=index.ca, only=options.components, detail=detail)
    failures: dict[str, errors.CanneryError] = {}
    for target in targets:
        name = options.image or image_name(target.id, simulate=options.simulate)
        try:
            image = engine.image_id(name)
            if not image:
                flag = " --simulate" if options.simulate else ""
                fix = f"Build it: python build.py --target {target.id}{flag}"
                problem = errors.Problem(what=f"there is no image {name} here.", fix=fix)
                failures[target.id] = errors.EngineError(problem)
                continue
            host = simulated_host(project, target, index) if options.simulate else None
            subject = Subject(target=target, image=image, name=name)
            check(project, subject, device_specs(host), checks)
        except errors.CanneryError as error:
            failures[target.id] = error
    errors.raise_all(failures, single=len(targets) == 1)


def _test_any(options: TestOptions, project: Project) -> None:
    profiles = read_profiles(options.profiles_file)
    checks, has_tests = read_checks(options.checks) if options.checks else ((), False)
    request = Request(
        reference=options.image,
        simulate=options.simulate,
        chip=options.chip,
        profiles=select_profiles(options.profiles, profiles),
        components=options.components,
        checks=checks,
        tests=options.checks if has_tests else None,
        ca=package_index(options.ca, "").ca,
        network=options.network,
        strict=options.strict,
    )
    result = audit(project, request)
    report = audit_path(project, options.image)
    files = {report: to_json(result)}
    files |= {options.json: to_json(result)} if options.json else {}
    files |= {options.junit: to_junit(result)} if options.junit else {}
    write_files(files)
    console.show_result(to_text(result, verbose=options.verbose), failed=bool(result.failures))
    console.say(f"{options.image}: the report is in {report}")
    if result.failures:
        names = ", ".join(dict.fromkeys(finding.check for finding in result.failures))
        raise errors.VerificationError(f"{options.image}: failed checks: {names}.")
