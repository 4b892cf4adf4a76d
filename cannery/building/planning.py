# SPDX-License-Identifier: Apache-2.0
"""Plans a run, without building, pulling or writing anything."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from cannery.building.bases import expected_bases, local_names
from cannery.building.ci_jobs import divide_targets, target_cost
from cannery.building.plan import (
    Action,
    Plan,
    Step,
    change_of,
    choose_action,
    local_state,
    missing,
)
from cannery.common import console
from cannery.common.bases import DEFAULT_ORDER, CannSource
from cannery.common.errors import ArtifactError, CanneryError, EngineError, Problem, UsageError
from cannery.common.files import Hashes
from cannery.common.model import Target
from cannery.common.option import Shard
from cannery.common.references import image_name, image_tag, parse_reference
from cannery.engine.images import Images, local_images
from cannery.fetch.artifacts import check_artifacts
from cannery.fetch.needs import CANN, missing_files, needed_files
from cannery.image.content_key import LABEL, SIMULATOR, context_files
from cannery.image.drift import compare, require_in_sync
from cannery.image.render import Rendered, Renderer, tool_record
from cannery.image.simulator_spec import recipe
from cannery.image.vendor_image import image_of, vendor_files
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.settings import Settings
from cannery.options import BuildOptions, PlanOptions
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES, RegistryError
from cannery.registry.oci import manifest_contents


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected targets of ``matrix``.

    It is an error if one in ``named`` cannot be built, which are all if it is None.

    ``failures`` maps targets whose files are incomplete to the reasons, and ``downloads`` the names
    of files that would be downloaded to their sha256. Those in ``remote`` are only on a server.
    """

    matrix: Matrix
    targets: tuple[Target, ...]
    named: frozenset[str] | None = None
    shard: Shard | None = None
    failures: Mapping[str, CanneryError] = field(default_factory=dict)
    downloads: Mapping[str, str] = field(default_factory=dict)
    remote: frozenset[str] = frozenset()


def with_images(selection: Selection, options: BuildOptions, settings: Settings) -> Selection:
    """``selection`` with the images from which its targets take CANN.

    Targets that can only take it from an image and have none are among its failures.
    """
    # Without a source by name, --simulate simulates CANN, too.
    order = [CannSource(name) for name in options.sources] or [*DEFAULT_ORDER]
    order = [] if options.simulate and not options.with_cann else order
    targets, failures = [], {}
    for target in selection.targets:
        image = ""
        try:
            image = image_of(target, order, options.artifacts, servers=bool(settings.servers))
        except CanneryError as error:
            failures[target.id] = error
        targets.append(replace(target, vendor_image=image) if image else target)
    return replace(selection, targets=tuple(targets), failures=failures)


def make_plan(
    project: Project,
    selection: Selection,
    options: BuildOptions,
    plan_options: PlanOptions | None = None,
) -> Plan:
    """Plan a run for ``selection``. With ``plan_options.plan`` the engine need not answer.

    Raises:
        OutOfSyncError, MatrixError: images/ is not what the matrix says.
        EngineError: the engine, or the registry of --compare-with, does not answer.
    """
    plan_options = plan_options or PlanOptions()
    renderer = Renderer(project)
    committed = _committed(project, renderer, selection)
    with_image = [target for target in selection.targets if target.vendor_image]
    rendered = {**committed, **renderer.render_all(with_image)}
    targets, others = _share(selection, committed)
    change = None
    if component := plan_options.if_changed:
        change = change_of(component, targets, {name: r.layers for name, r in rendered.items()})
    steps = []
    failures, unavailable = dict[str, CanneryError](), dict[str, CanneryError]()
    hashes = Hashes(project.state / "hashes.json")
    for target in targets:
        image = rendered[target.id]
        try:
            file_hashes = _hashes(target, options, selection, hashes)
        except CanneryError as error:
            lacks = missing_files(
                target, options.artifacts, simulate=options.simulate, with_cann=options.with_cann
            )
            named = selection.named is None or target.id in selection.named
            if named or not (lacks or isinstance(error, UsageError)):
                failures[target.id] = error
                continue
            unavailable[target.id] = error
            only_missing = isinstance(error, ArtifactError) and target.id not in selection.failures
            why = missing(lacks) if only_missing else str(error)
            steps.append(Step(rendered=image, action=Action.SKIP, why=why, missing=lacks))
        else:
            files = context_files(image.files, renderer.context)
            files |= vendor_files() if target.vendor_image else {}
            remote = _remote(target, options, selection)
            steps.append(Step(rendered=image, files=files, hashes=file_hashes, remote=remote))
    hashes.keep()
    images = _images(steps, options, is_plan=plan_options.plan)
    return Plan(
        steps=tuple(
            _decided(project, step, options, images, plan_options.compare_with)
            if step.files
            else step
            for step in steps
        ),
        failures=failures,
        unavailable=unavailable,
        shard=str(selection.shard or ""),
        other_shards=others,
        change=change,
        simulated=options.simulate and not options.with_cann,
    )


def _committed(project: Project, renderer: Renderer, selection: Selection) -> dict[str, Rendered]:
    """The rendered targets by their ids, without images of the vendor's.

    Raises:
        OutOfSyncError: their files are not those on the disk.
    """
    committed = renderer.render_all([replace(t, vendor_image="") for t in selection.targets])
    files = {path: text for one in committed.values() for path, text in one.paths(project).items()}
    files |= tool_record(project, renderer.context, changed=False)
    # RECORD is written with all targets only.
    one = len(committed) == 1 and project.is_checkout
    only = f" --target {selection.targets[0].id}" if one else ""
    require_in_sync(project, compare(project, files), f"python build.py render{only}")
    return committed


def _share(
    selection: Selection, committed: Mapping[str, Rendered]
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """The targets of the shard, and the ids of the others.

    They are divided by the ``committed`` files, which all machines have; others may differ.
    """
    targets = selection.targets
    if not selection.shard:
        return targets, ()
    costs = [target_cost(target.id, committed[target.id].layers) for target in targets]
    ids = divide_targets(costs, selection.shard.count)[selection.shard.index - 1]
    others = tuple(target.id for target in targets if target.id not in ids)
    return tuple(target for target in targets if target.id in ids), others


def _hashes(
    target: Target, options: BuildOptions, selection: Selection, hashes: Hashes
) -> dict[str, str]:
    simulate = options.simulate
    files = needed_files(target, simulate=simulate, with_cann=options.with_cann)
    if target.id in selection.failures:
        raise selection.failures[target.id]
    downloads = {
        name: selection.downloads[file.name]
        for name, file in files.items()
        if file.name in selection.downloads
    }
    files = {name: file for name, file in files.items() if name not in downloads}
    stand_ins = {SIMULATOR: recipe(target)} if simulate else {}
    check = partial(check_artifacts, hash_of=hashes.sha256, simulated=simulate)
    real = {**downloads, **check(target, options.artifacts, files)}
    if simulate and (cann := "".join(real[name] for name in sorted(real) if name in CANN)):
        # Of these, only the simulator's identifier is asked for when an image is simulated.
        stand_ins[SIMULATOR] = hashlib.sha256((stand_ins[SIMULATOR] + cann).encode()).hexdigest()
    return {**stand_ins, **real}


def _images(steps: Sequence[Step], options: BuildOptions, *, is_plan: bool) -> Images | None:
    """The local images of ``steps`` and their bases; None for a plan without an engine."""
    steps = [step for step in steps if step.files]
    names = [name for step in steps for name in local_names(step.target, options.builder)]
    names += [image_name(step.id, simulate=options.simulate) for step in steps]
    try:
        return local_images(names)
    except EngineError as error:
        if not is_plan:
            raise
        console.say(str(error), "warning")
        return None


def _remote(target: Target, options: BuildOptions, selection: Selection) -> dict[str, str]:
    """Name to origin of the files that a build of ``target`` has to download."""
    files = needed_files(target, simulate=options.simulate, with_cann=options.with_cann)
    return {file.name: file.origin for file in files.values() if file.name in selection.remote}


def _decided(
    project: Project, step: Step, options: BuildOptions, images: Images | None, compare_with: str
) -> Step:
    if images is None:
        return replace(step, why="the local images are unknown, because no engine answers")
    target = step.target
    name = image_name(target.id, simulate=options.simulate)
    key = step.content_key(options, expected_bases(project, target, options, images))
    local = local_state(project, target, name, images)
    action, why = choose_action(name, key, local, options)
    published = ""
    if compare_with:
        repository = published_repository(compare_with, options.ca)
        tag = image_tag(target.id, simulate=options.simulate)
        there = published_key(repository, tag, target.platform)
        state = "does not exist"
        if there is not None:
            state = "is up to date" if there == key else "is out of date"
        published = f"{repository.at(tag)} {state}"
    image = local.image if action is not Action.BUILD else ""
    return replace(step, action=action, why=why, key=key, image=image, published=published)


_BRIEF = replace(RETRIES, tries=4)
"""Retries of a question that somebody waits for: about two seconds if nobody answers."""


@cache
def published_repository(name: str, ca: Path | None) -> Repository:
    """The repository ``name``, as in ``registry.example.com/ascend``, to read keys from.

    ``ca`` is a file of certificates to trust besides those of this machine and its engine.
    """
    place = parse_reference(name)
    if place.version:
        what = f"{name!r} has a tag or a digest, and every target has a tag of its own."
        raise UsageError(Problem(what=what, fix=f"Write {place.registry}/{place.repository}."))
    return Repository(place.registry, place.repository, ca=ca, retries=_BRIEF)


def published_key(repository: Repository, tag: str, platform: str) -> str | None:
    """The content key of the image ``tag``; None if the tag does not exist.

    It is empty if the image has no key, or if there is no image for ``platform`` under the tag.
    """
    document = repository.manifest(tag)
    if document is None:
        return None
    try:
        contents = manifest_contents(document)
        if contents.manifests:
            entry = next((m for m in contents.manifests if m.platform == platform), None)
            if entry is None:
                return ""
            inner = repository.manifest(entry.digest)
            # Without it, there is no config: a LookupError.
            contents = manifest_contents(inner) if inner else contents
        loaded = repository.read_config(contents.blobs[0])
        labels = (loaded.get("config") or {}).get("Labels") or {}
        return str(labels.get(LABEL, ""))
    except (ValueError, LookupError, AttributeError) as error:
        what = f"{repository.at(tag)} is not an image that can be read."
        fix = "Check the name; if it is right, push the image again."
        raise RegistryError(Problem(what=what, fix=fix)) from error
