# SPDX-License-Identifier: Apache-2.0
"""Plans a run, without building, pulling or writing anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from cannery.building.ci_jobs import divide_targets, target_cost
from cannery.building.plan import Action, Expected, Plan, Step, change_of, choose_action, missing
from cannery.building.ready import Ready, content_key, expected_bases, local_names, local_state
from cannery.common import console
from cannery.common.errors import ArtifactError, CanneryError, EngineError, Problem, UsageError
from cannery.common.files import Hashes
from cannery.common.model import Target
from cannery.common.option import Shard
from cannery.common.package_index import PackageIndex, package_index
from cannery.common.references import image_name, image_tag, parse_reference
from cannery.engine.images import Images, local_images
from cannery.fetch.artifacts import check_artifacts
from cannery.fetch.fetching import Downloads
from cannery.fetch.needs import CANN, missing_files, needed_files
from cannery.image.bake_file import Caches
from cannery.image.content_key import LABEL, SIMULATOR
from cannery.image.drift import compare, require_in_sync
from cannery.image.render import Rendered, Renderer
from cannery.image.simulator_spec import recipe
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.registry.client import Repository
from cannery.registry.http import RETRIES, RegistryError
from cannery.registry.oci import Descriptor, Document, manifest_contents
from cannery.verify.devices import device_kinds


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected targets of ``matrix``. It is an error if one in ``named`` cannot be built.

    ``provided`` says what was fetched for them, or would be.
    """

    matrix: Matrix
    targets: tuple[Target, ...]
    named: frozenset[str]
    shard: Shard | None = None
    provided: Downloads | None = None


def caches_of(options: BuildOptions) -> Caches:
    """The caches that a build reads and writes."""
    return Caches(sources=options.cache_from, destinations=options.cache_to)


def index_of(options: BuildOptions) -> PackageIndex:
    """The package index and the certificates of a build."""
    return package_index(options.ca, options.index_url)


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a plan also says. With ``plan`` the engine need not answer.

    ``if_changed`` names a component, ``compare_with`` a repository of a registry.
    """

    plan: bool = False
    if_changed: str = ""
    compare_with: str = ""


@dataclass(kw_only=True)
class Planned:
    """A plan, with the data for carrying it out.

    ``failures`` has the errors of targets that were named and cannot be built, ``unavailable``
    those of other targets. ``not_fetched`` has the targets of which a file could not be fetched.
    ``images`` are the local images of the targets, and None if the engine does not answer.
    """

    plan: Plan
    ready: dict[str, Ready] = field(default_factory=dict)
    failures: dict[str, CanneryError] = field(default_factory=dict)
    unavailable: dict[str, CanneryError] = field(default_factory=dict)
    not_fetched: frozenset[str] = frozenset()
    images: Images | None = None


def make_plan(
    project: Project,
    selection: Selection,
    options: BuildOptions,
    plan_options: PlanOptions | None = None,
) -> Planned:
    """Plan a run for ``selection``.

    Raises:
        OutOfSyncError, MatrixError: images/ is not what the matrix says.
        EngineError: the engine, or the registry of --compare-with, does not answer.
        UsageError: there is no such shard, or nothing has the component.
    """
    plan_options = plan_options or PlanOptions()
    provided = selection.provided or Downloads(folder=options.artifacts)
    renderer = Renderer(project)
    rendered = _rendered(project, renderer, selection)
    targets, other_shards = _shard(selection, rendered)
    component = plan_options.if_changed
    layers = {target.id: rendered[target.id].layers for target in targets} if component else {}
    change = change_of(component, targets, layers) if component else None
    planned = Planned(plan=Plan(steps=()), not_fetched=frozenset(provided.failures))
    hashes = Hashes(project.state / "hashes.json")
    for target in targets:
        try:
            found = _hashes(target, options, provided, hashes)
        except CanneryError as error:
            absent = isinstance(error, UsageError) or bool(_missing(target, options))
            skip = absent and target.id not in selection.named
            (planned.unavailable if skip else planned.failures)[target.id] = error
        else:
            planned.ready[target.id] = Ready(
                rendered=rendered[target.id], context=renderer.context, hashes=found
            )
    planned = _with_images(planned, options, plan_options)
    steps = _steps(project, targets, planned, options, plan_options)
    hashes.keep()
    shard = str(selection.shard or "")
    plan = Plan(steps=tuple(steps), shard=shard, other_shards=other_shards, change=change)
    return replace(planned, plan=plan)


def _rendered(project: Project, renderer: Renderer, selection: Selection) -> Mapping[str, Rendered]:
    """The rendered targets by their ids; their files are the same as on the disk.

    Only the Dockerfile of a target whose CANN is taken out of an image is another.
    """
    committed = [replace(each, vendor_image="") for each in selection.targets]
    found = renderer.render_all(committed)
    every = {path: text for one in found.values() for path, text in one.paths(project).items()}
    only = f" --target {selection.targets[0].id}" if len(found) == 1 else ""
    require_in_sync(project, compare(project, every), f"python build.py render{only}")
    taken = [each for each in selection.targets if each.vendor_image]
    return {**found, **(renderer.render_all(taken) if taken else {})}


def _shard(
    selection: Selection, rendered: Mapping[str, Rendered]
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """The targets of the shard, and the ids of the others."""
    if not selection.shard:
        return selection.targets, ()
    items = [target_cost(target.id, rendered[target.id].layers) for target in selection.targets]
    ours = set(divide_targets(items, selection.shard.count)[selection.shard.index - 1])
    here = tuple(target for target in selection.targets if target.id in ours)
    return here, tuple(target.id for target in selection.targets if target.id not in ours)


def _missing(target: Target, options: BuildOptions) -> dict[str, str]:
    return missing_files(
        target, options.artifacts, simulate=options.simulate, with_cann=options.with_cann
    )


def _hashes(
    target: Target, options: BuildOptions, provided: Downloads, hashes: Hashes
) -> dict[str, str]:
    """Component to an identifier of its file.

    Raises:
        ArtifactError: a file is missing or invalid, or could not be fetched.
        UsageError: there is no software device for the target's chip.
    """
    simulate = options.simulate
    files = needed_files(target, simulate=simulate, with_cann=options.with_cann)
    if target.id in provided.failures:
        raise provided.failures[target.id]
    downloads = {
        name: provided.downloads[file.name]
        for name, file in files.items()
        if file.name in provided.downloads
    }
    files = {name: file for name, file in files.items() if name not in downloads}
    stand_ins = {SIMULATOR: recipe(target)} if simulate else {}
    check = partial(check_artifacts, hash_of=hashes.sha256, simulated=simulate)
    found = {**downloads, **check(target, options.artifacts, files)}
    if simulate and (own := "".join(found[name] for name in sorted(found) if name in CANN)):
        # Of these, only the simulator's identifier is asked for when an image is simulated.
        stand_ins[SIMULATOR] = hashlib.sha256((stand_ins[SIMULATOR] + own).encode()).hexdigest()
    return {**stand_ins, **found}


def _steps(
    project: Project,
    targets: Iterable[Target],
    planned: Planned,
    options: BuildOptions,
    plan_options: PlanOptions,
) -> list[Step]:
    ready, images = planned.ready, planned.images
    steps = []
    for target in targets:
        if target.id in ready and images is not None:
            step = _step(project, ready[target.id], options, images)
            published = _published(target, step.key, options, plan_options.compare_with)
            steps.append(replace(step, published=published))
        elif target.id in ready:
            why = "the local images are unknown, because no engine answers"
            layers = ready[target.id].layers
            steps.append(
                Step(id=target.id, action=Action.BUILD, why=why, missing={}, layers=layers)
            )
        elif target.id in planned.unavailable:
            error = planned.unavailable[target.id]
            lacks = _missing(target, options)
            is_missing = isinstance(error, ArtifactError) and target.id not in planned.not_fetched
            why = missing(lacks) if is_missing else str(error)
            steps.append(Step(id=target.id, action=Action.SKIP, why=why, missing=lacks))
    return steps


def _with_images(planned: Planned, options: BuildOptions, plan_options: PlanOptions) -> Planned:
    """``planned`` with the local images on which it depends."""
    names: list[str] = []
    for each in planned.ready.values():
        names += [*local_names(each.target), image_name(each.target.id, simulate=options.simulate)]
    return replace(planned, images=_local(names, plan_options))


def _local(names: Sequence[str], plan_options: PlanOptions) -> Images | None:
    """The local images among ``names``; None for ``--plan`` if the engine does not answer."""
    try:
        return local_images(names)
    except EngineError as error:
        if not plan_options.plan:
            raise
        console.say(str(error), "warning")
        return None


def _step(project: Project, ready: Ready, options: BuildOptions, images: Images) -> Step:
    target = ready.target
    name = image_name(target.id, simulate=options.simulate)
    key = content_key(ready, options, expected_bases(project, target, options, images))
    local = local_state(project, target, name, images)
    kinds = device_kinds(simulate=options.simulate)
    action, why = choose_action(
        Expected(name=name, key=key, kinds=kinds),
        local,
        test=options.test,
        force=options.force,
        record=options.record,
    )
    return Step(
        id=target.id,
        action=action,
        why=why,
        key=key,
        image=local.image if action is not Action.BUILD else "",
        missing={},
        layers=ready.layers,
    )


def _published(target: Target, key: str, options: BuildOptions, name: str) -> str:
    """Whether the image of ``target`` in the repository ``name`` is up to date."""
    if not name:
        return ""
    repository = published_repository(name, options.ca)
    tag = image_tag(target.id, simulate=options.simulate)
    found = published_key(repository, tag, target.platform)
    if found is None:
        return f"{repository.at(tag)} does not exist"
    return f"{repository.at(tag)} is {'up to date' if found == key else 'out of date'}"


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
        config = _config(repository, document, platform)
        loaded = repository.read_config(config) if config else {}
        labels = (loaded.get("config") or {}).get("Labels") or {}
        return str(labels.get(LABEL, ""))
    except (ValueError, LookupError, AttributeError) as error:
        what = f"{repository.at(tag)} is not an image that can be read."
        fix = "Check the name; if it is right, push the image again."
        raise RegistryError(Problem(what=what, fix=fix)) from error


def _config(repository: Repository, document: Document, platform: str) -> Descriptor | None:
    """The config of the image for ``platform`` in a manifest or an index; None without such one.

    Raises:
        ValueError, LookupError: this is not an image.
    """
    contents = manifest_contents(document)
    if contents.manifests:
        entry = next((each for each in contents.manifests if each.platform == platform), None)
        if entry is None:
            return None
        inner = repository.manifest(entry.digest)
        if inner is None:
            raise LookupError(entry.digest)
        contents = manifest_contents(inner)
    return contents.blobs[0]
