# SPDX-License-Identifier: Apache-2.0
"""The images that may be pushed, checked before any request to a registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.building import git
from cannery.building.bases import bases
from cannery.building.plan import Local, local_state
from cannery.building.planning import Selection, make_plan
from cannery.common.bases import Base, Origin
from cannery.common.errors import CanneryError, OutOfSyncError, Problem, PublishError, some_of
from cannery.common.model import DeviceKind, Target
from cannery.common.option import flag, option
from cannery.common.references import digest_in, full_reference, image_name
from cannery.engine.containers import stand_ins
from cannery.engine.images import local_images
from cannery.fetch.fetching import plan_downloads
from cannery.image.content_key import bases_of
from cannery.lock.lock_file import Lock, read_lock
from cannery.matrix.project import Project
from cannery.options import (
    ARTIFACTS,
    REGISTRY_CA,
    SIMULATE,
    BuildOptions,
    SigningOptions,
    TransferOptions,
)
from cannery.publish import cosign
from cannery.registry.client import locate
from cannery.verify.devices import device_kinds
from cannery.verify.results import report_text

_SHOWN = 5
"""The most targets of a base that a message names."""


@dataclass(frozen=True, kw_only=True)
class PushOptions(SigningOptions):
    """How images are pushed."""

    simulate: bool = SIMULATE.field()
    allow: tuple[str, ...] = option(
        "push images that are refused otherwise: simulated ones, ones that were not "
        "verified, or ones that differ from the committed files",
        default=(),
        choices=("simulated", "unverified", "differs"),
    )
    release: bool = flag(
        "refuse images that are not from a clean commit, verified on an NPU, and signed"
    )
    compression: str = option(
        "the compression of layers; engines older than 23.0 need gzip",
        default="zstd",
        choices=("zstd", "gzip"),
    )
    artifacts: Path = ARTIFACTS.field()
    ca: Path | None = REGISTRY_CA.field()


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An image that may be pushed.

    ``name`` and ``image`` are its name and id on this machine. ``hashes`` are those of the vendor's
    files that it was built from; empty if the image ``differs`` from the files. ``bases`` maps
    build arguments to the origin and the identity of the bases that it is on.
    """

    target: Target
    name: str
    image: str
    key: str
    simulated: bool
    differs: bool
    report: str
    lock: Lock
    hashes: Mapping[str, str]
    bases: Mapping[str, tuple[Origin, str]]


def candidates(project: Project, selection: Selection, options: PushOptions) -> list[Candidate]:
    """The images of ``selection``, all of which may be pushed."""
    problems = [*_against_release(project, selection, options)]
    key = options.signing_key
    if (options.release or key) and not cosign.find_cosign():
        what = "cosign, which signs images, is not installed."
        problems.append(Problem(what=what, fix=cosign.INSTALL))
    if key and (problem := cosign.key_problem(key)):
        problems.append(problem)
    images = []
    for selected in selection.targets:
        name = image_name(selected.id, simulate=options.simulate)
        local = local_state(project, selected, name, local_images([name]))
        target = replace(selected, vendor_image=local.vendor_image)
        if absent := _absent(target, name, local, simulate=options.simulate):
            problems.append(absent)
            continue
        if options.release:
            problems += _on_stand_ins(target, name, local)
        simulated = options.simulate or bool(stand_ins(local.image, target))
        reasons, hashes = _differences(project, selection, target, local, options)
        against = {
            "simulated": Problem(
                what=f"{target.id}: {name} is simulated: "
                "it holds stand-ins for CANN and the driver.",
                fix="Build the real image, or add --allow simulated.",
            )
            if simulated
            else None,
            "unverified": _unverified(target, local, options, simulated=simulated),
            "differs": Problem(
                what=f"{target.id}: {name} differs from the committed files: {'; '.join(reasons)}.",
                fix="Commit the files and build it again, or add --allow differs.",
            )
            if reasons
            else None,
        }
        problems += [
            problem for word, problem in against.items() if problem and word not in options.allow
        ]
        images.append(
            Candidate(
                target=target,
                name=name,
                image=local.image,
                key=local.key,
                simulated=simulated,
                differs=bool(reasons),
                report=report_text(project, name) if local.passed else "",
                lock=read_lock(project, target),
                hashes={} if reasons else hashes,
                bases=local.bases,
            )
        )
    if problems:
        raise PublishError(problems)
    return images


def _absent(target: Target, name: str, local: Local, *, simulate: bool) -> Problem | None:
    if not local.image:
        flag = " --simulate" if simulate else ""
        what = f"{target.id}: this machine has no image {name}."
        other = image_name(target.id, simulate=True)
        if not simulate and local_images([other]):
            fix = f"To push the simulated one, {other}, add --simulate and --allow simulated."
            return Problem(what=what, fix=fix)
        return Problem(what=what, fix=f"Build it: python build.py --target {target.id}{flag}")
    if not local.key:
        what = f"{target.id}: {name} has no content key, which its tag would end in."
        return Problem(what=what, fix="Build it with build.py, which adds the key.")
    if bases_of(target).keys() - local.bases.keys():
        what = f"{target.id}: {name} does not say which images its bases are."
        fix = f"Build it again: python build.py --target {target.id} --force"
        return Problem(what=what, fix=f"{fix}{' --simulate' if simulate else ''}")
    return None


def _on_stand_ins(target: Target, name: str, local: Local) -> Iterator[Problem]:
    """The bases of an image that nobody else can have."""
    for argument, base in bases_of(target).items():
        origin, _ = local.bases[argument]
        if origin in (Origin.STAND_IN, Origin.LOCAL):
            kind = "a stand-in" if origin is Origin.STAND_IN else "a local image"
            what = f"{target.id}: {name} was built with {kind} for base {base.name} ({argument})."
            fix = "Build it again where its registry, or a mirror in cannery.toml, can be reached."
            yield Problem(what=what, fix=fix)


def _unverified(
    target: Target, local: Local, options: PushOptions, *, simulated: bool
) -> Problem | None:
    needed = device_kinds(simulate=simulated)
    if options.release and not simulated:
        needed |= {str(DeviceKind.NPU)}
    missing = sorted(needed - local.passed)
    if not missing:
        return None
    devices = ", ".join(missing)
    what = f"{target.id}: the current checks have not all passed on it (device: {devices})."
    flag = " --simulate" if options.simulate else ""
    fix = f"Run: python build.py test --target {target.id}{flag}; or add --allow unverified."
    if str(DeviceKind.NPU) in missing:
        fix = "Check it on a machine with an NPU, or add --allow unverified."
    return Problem(what=what, fix=fix)


def _differences(
    project: Project, selection: Selection, target: Target, local: Local, options: PushOptions
) -> tuple[list[str], Mapping[str, str]]:
    """Differences of the image from the committed files, and the hashes of its vendor's files."""
    reasons = []
    if not git.commit(project.root):
        reasons.append("the checkout has no git commit to compare with")
    elif files := git.changed(project.root, [f"images/{target.id}"]):
        reasons.append(f"not committed: {', '.join(files)}")
    known = target.cann.images.get(target.chip, "")
    if digest_in(known) != digest_in(target.vendor_image or known):
        named = known or "no image of this CANN"
        reasons.append(f"its CANN is from {target.vendor_image}, and the checkout names {named}")
    one = Selection(matrix=selection.matrix, targets=(target,))
    build_options = BuildOptions(simulate=options.simulate, artifacts=options.artifacts)
    try:
        downloads = plan_downloads(project, [target], build_options, TransferOptions()).downloads
        plan = make_plan(project, replace(one, downloads=downloads), build_options)
    except OutOfSyncError as error:
        return [*reasons, str(error.problems[-1])], {}
    if failure := plan.failures.get(target.id):
        why = " ".join(str(problem).rstrip(".") for problem in failure.problems)
        return [*reasons, f"its content key cannot be computed ({why})"], {}
    [step] = plan.steps
    if step.key != local.key:
        reasons.append(f"its content key is {local.key}, and that of the files is {step.key}")
    return reasons, step.hashes


def _against_release(
    project: Project, selection: Selection, options: PushOptions
) -> Iterator[Problem]:
    if not options.release:
        return
    users: dict[str, list[str]] = {}
    pinned: dict[str, tuple[Base, str]] = {}
    for target in selection.targets:
        for base, architecture in {b.image: (b, a) for b, a in bases(target).values()}.values():
            if base.is_pinned:
                pinned[base.image] = (base, architecture)
            else:
                users.setdefault(f"{base.name} ({base.image})", []).append(target.id)
    for base_name, ids in users.items():
        what = f"base {base_name} of {some_of(ids, _SHOWN)} has no digest, so that a release could "
        fix = "Run: python build.py update --bases --write"
        yield Problem(what=f"{what}not be built again.", fix=fix)
    for base, architecture in pinned.values():
        references = (*base.mirrors, str(full_reference(base.image)))
        try:
            if locate(references, [f"linux/{architecture}"], options.ca).platforms:
                continue
        except CanneryError as error:
            yield from error.problems
            continue
        what = f"base {base.name} ({base.image}) has the digest of an image for one platform."
        tag = replace(full_reference(base.image), digest="")
        fix = f"Write the digest of the index instead: docker buildx imagetools inspect {tag}"
        yield Problem(what=what, fix=fix)
    if not git.commit(project.root):
        what = "a release needs a git commit, and the checkout has none."
        yield Problem(what=what, fix="Run this in a clone of the project.")
    elif files := git.changed(project.root):
        what = f"a release needs a clean checkout, and these files differ: {', '.join(files)}."
        yield Problem(what=what, fix="Commit or remove them.")
    if not options.signing_key:
        fix = "Name one with --key KEY or in CANNERY_SIGNING_KEY."
        yield Problem(what="a release needs a key to sign it with.", fix=fix)
