# SPDX-License-Identifier: Apache-2.0
"""Which images may be pushed. Nothing here asks a registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.deploy.run_spec import DeviceKind
from cannery.errors import OutOfSyncError, Problem, PublishError
from cannery.execute import cosign, git
from cannery.execute.engine.images import local_images
from cannery.files import read_text
from cannery.image.layers import Layer, layers_of
from cannery.image.lock import Lock, parse_lock
from cannery.image.render import NAMESPACE
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.options.build import BuildOptions
from cannery.options.publish import PushOptions
from cannery.pipeline.images import device_kinds, here, image_name, report_text
from cannery.pipeline.planning import make_plan
from cannery.pipeline.selection import Selection
from cannery.plan.plan import Local


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An image that may be pushed.

    ``layers`` are those of the checkout. ``hashes`` are those of the files that it was built from,
    where it does not differ from them.
    """

    target: Target
    name: str
    image: str
    key: str
    simulated: bool
    differs: bool
    report: str
    lock: Lock
    layers: tuple[Layer, ...]
    hashes: Mapping[str, str]


def candidates(project: Project, selection: Selection, options: PushOptions) -> list[Candidate]:
    """The images of ``selection``, all of which may be pushed.

    Raises:
        PublishError: with everything that is against it.
        EngineError: the engine does not answer.
    """
    problems = [*_against_release(project, options), *_against_signing(options)]
    found = []
    for target in selection.targets:
        name = image_name(target, simulate=options.simulate)
        images = local_images([name])
        local = here(project, name, images)
        if not local.image:
            flag = " --simulate" if options.simulate else ""
            fix = f"Build it: python build.py --target {target.id}{flag}"
            problems.append(Problem(what=f"{target.id}: there is no image {name} here.", fix=fix))
            continue
        if not local.key:
            what = f"{target.id}: {name} has no content key, so no tag can tell what it is."
            problems.append(Problem(what=what, fix="Only images that build.py has built have one."))
            continue
        labels = images[name].labels
        simulated = options.simulate or labels.get(f"{NAMESPACE}.simulated") == "true"
        reasons, hashes = _differences(project, selection, target, local, options)
        against = {
            "simulated": _simulated(target, name) if simulated else None,
            "unverified": _unverified(target, local, options, simulated=simulated),
            "differs": _differs(target, name, reasons),
        }
        problems += [each for word, each in against.items() if each and word not in options.allow]
        lock = parse_lock(read_text(project.lock(target)))
        found.append(
            Candidate(
                target=target,
                name=name,
                image=local.image,
                key=local.key,
                simulated=simulated,
                differs=bool(reasons),
                report=report_text(project, name) if local.passed else "",
                lock=lock,
                layers=layers_of(target, lock),
                hashes={} if reasons else hashes,
            )
        )
    if problems:
        raise PublishError(problems)
    return found


def _simulated(target: Target, name: str) -> Problem:
    what = f"{target.id}: {name} is simulated: CANN and the driver in it are stand-ins."
    return Problem(what=what, fix="Add --allow simulated, if that is what people are to get.")


def _unverified(
    target: Target, local: Local, options: PushOptions, *, simulated: bool
) -> Problem | None:
    needed = device_kinds(simulate=simulated)
    if options.release and not simulated:
        needed |= {str(DeviceKind.NPU)}
    lacking = sorted(needed - local.passed)
    if not lacking:
        return None
    what = f"{target.id}: not every check of today has passed on it (device {', '.join(lacking)})."
    flag = " --simulate" if options.simulate else ""
    fix = f"Run: python build.py test --target {target.id}{flag}; or add --allow unverified."
    if str(DeviceKind.NPU) in lacking:
        fix = "A release is checked on a machine with an NPU; or add --allow unverified."
    return Problem(what=what, fix=fix)


def _differs(target: Target, name: str, reasons: list[str]) -> Problem | None:
    if not reasons:
        return None
    what = f"{target.id}: {name} is not what the committed files give: {'; '.join(reasons)}."
    fix = "Commit them and build it again; or add --allow differs."
    return Problem(what=what, fix=fix)


def _differences(
    project: Project, selection: Selection, target: Target, local: Local, options: PushOptions
) -> tuple[list[str], Mapping[str, str]]:
    """How the image differs from what git has, and the hashes of the files that it is made of."""
    reasons = []
    if not git.commit(project.root):
        reasons.append("there is no commit to compare with")
    elif files := git.changed(project.root, [f"images/{target.id}"]):
        reasons.append(f"not committed: {', '.join(files)}")
    one = Selection(matrix=selection.matrix, targets=(target,), named=frozenset({target.id}))
    build_options = BuildOptions(simulate=options.simulate, artifacts=options.artifacts)
    try:
        planned = make_plan(project, one, build_options)
    except OutOfSyncError as error:
        return [*reasons, str(error.problems[-1])], {}
    if failure := planned.failures.get(target.id):
        why = " ".join(str(each).rstrip(".") for each in failure.problems)
        return [*reasons, f"what it should be made of cannot be told ({why})"], {}
    [step] = planned.plan.steps
    if step.key != local.key:
        reasons.append(f"its key is {local.key or 'not noted'}, and that of the files {step.key}")
    return reasons, planned.ready[target.id].hashes


def _against_release(project: Project, options: PushOptions) -> Iterator[Problem]:
    """What keeps any image from being released."""
    if not options.release:
        return
    if not git.commit(project.root):
        yield Problem(what="a release needs a git commit, and there is none here.")
    elif files := git.changed(project.root):
        what = f"a release is made from a clean commit, and these differ: {', '.join(files)}."
        yield Problem(what=what, fix="Commit or remove them.")
    if not options.key:
        fix = "Name it with --key FILE, or in CANNERY_SIGNING_KEY."
        yield Problem(what="a release is signed, and there is no key to sign it with.", fix=fix)


def _against_signing(options: PushOptions) -> Iterator[Problem]:
    """What keeps any image from being signed."""
    if (options.release or options.key) and not cosign.find_cosign():
        fix = "Install it: Debian has it from 13 on ('apt-get install cosign')."
        yield Problem(what="images are signed with cosign, which is not installed.", fix=fix)
    if options.key and "://" not in options.key and not Path(options.key).is_file():
        fix = "'cosign generate-key-pair' makes a pair."
        yield Problem(what=f"there is no key {options.key!r} to sign with.", fix=fix)
