# SPDX-License-Identifier: Apache-2.0
"""What apt resolves for targets now, and what it has installed that is not in packages.lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cannery.building.bases import bases
from cannery.common import console
from cannery.common.bases import PackageManager
from cannery.common.errors import CanneryError, counted, raise_all, some_of
from cannery.common.files import now, write_files
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.engine import base, containers
from cannery.engine.bake import BakeSettings, stage_texts
from cannery.engine.builder import find_builder
from cannery.engine.images import ImageFiles
from cannery.image.bake_file import Caches, ImageBuild
from cannery.image.layers import Layer
from cannery.image.render import Rendered, Renderer
from cannery.lock.debs import DEBS, Deb, DebLock, changed_debs, debs_of, debs_text, parse_debs
from cannery.matrix.project import Project

_SHOWN = 5
"""How many packages the message of a build names."""

_STAGE = "resolved-packages"

_RESOLVE = """
FROM build AS resolve-packages
ARG TIME
RUN --mount=type=secret,id=apt --mount=type=bind,from=base,target=/base mkdir /lists; {commands}

FROM scratch AS {stage}
COPY --from=resolve-packages /lists/ /
"""
"""Stages after those of a Dockerfile. Another TIME runs apt again; nothing is emulated."""


def update_packages(
    project: Project, targets: Sequence[Target], source: PackageIndex, *, write: bool
) -> int:
    """Print how what apt resolves differs from packages.lock; with ``write`` keep it there.

    Returns the number of targets for which it differs.
    """
    failures: dict[str, CanneryError] = {}
    count = 0
    settings = BakeSettings(
        builder=find_builder(""), source=source, caches=Caches(), logs=project.state / "logs"
    )
    notes = base.BaseCache(state=project.state)
    finder = base.Bases(builder=settings.builder, notes=notes, ca=source.ca)
    resolver = _Resolver(project=project, settings=settings, bases=finder)
    for each in targets:
        if each.base.distribution.package_manager is not PackageManager.APT:
            console.say(f"{each.id}: not recorded, because its base has no apt")
    for group in _groups(project, targets):
        try:
            found = resolver.resolve(group[0])
        except CanneryError as error:
            failures |= {each.target.id: error for each in group}
            continue
        stale = [each for each in group if _moved(each.lock.debs, found)]
        count += len(stale)
        print("\n".join(_told(group, stale, found)))
        if write and stale:
            with project.editing():
                write_files({project.packages_lock(e.target): found.text for e in stale})
    raise_all(failures, single=len(targets) == 1)
    return count


def _moved(recorded: DebLock | None, found: DebLock) -> bool:
    return not recorded or recorded.layers != found.layers


def _told(group: list[Rendered], stale: list[Rendered], found: DebLock) -> Iterator[str]:
    """The packages of a group, and those that differ from what is recorded for its targets."""
    target = group[0].target
    others = f" and {counted(len(group) - 1, 'more target')}" if len(group) > 1 else ""
    packages = f"{counted(len(found.debs), 'package')} of {target.base.name}"
    state = "" if stale else ", as recorded"
    yield f"{target.id}{others}: {packages}{state}"
    if new := [each for each in stale if not each.lock.debs]:
        yield f"  not recorded yet for {counted(len(new), 'target')}"
    lines = {
        line: None
        for each in stale
        if each.lock.debs
        for line in changed_debs(each.lock.debs.debs, found.debs)
    }
    yield from (f"  {line}" for line in lines)


def _groups(project: Project, targets: Iterable[Target]) -> Iterable[list[Rendered]]:
    """Those of ``targets`` that have apt, by what it is asked for and where."""
    groups: dict[tuple[object, ...], list[Rendered]] = {}
    with_apt = (e for e in targets if e.base.distribution.package_manager is PackageManager.APT)
    for each in Renderer(project).render_all(with_apt).values():
        wanted = [(layer.stage, layer.packages) for layer in _layers(each)]
        key = (each.target.base.image, each.target.platform, *wanted)
        groups.setdefault(key, []).append(each)
    return groups.values()


@dataclass(frozen=True, kw_only=True)
class _Resolver:
    """Asks apt, on the base of a target, for the layers with packages."""

    project: Project
    settings: BakeSettings
    bases: base.Bases

    def resolve(self, rendered: Rendered) -> DebLock:
        """The packages.lock that is right now.

        Raises:
            EngineError: there is no engine, or the base cannot be had.
            BuildError: apt fails.
        """
        target, needed = rendered.target, bases(rendered.target)
        used = {name: self.bases.find(*each) for name, each in needed.items()}
        folder = self.project.state / "bases"
        places = base.contexts(used.values(), self.settings.builder, folder)
        build = ImageBuild(
            id=f"{target.id}-packages",
            tag="",
            dockerfile=self.project.images / target.id / "Dockerfile",
            text=rendered.files["Dockerfile"] + _stages(rendered),
            folder=self.project.images / target.id,
            platform=target.platform,
            contexts={**places, "cannery": str(self.project.build_context)},
            arguments={**{name: each.reference for name, each in used.items()}, "TIME": now()},
        )
        texts = stage_texts(build, _STAGE, self.settings)
        layers: dict[str, list[Deb]] = {}
        below: set[str] = set()
        for layer in _layers(rendered):
            debs = [*debs_of(texts[f"{layer.stage}.txt"])]
            layers[layer.stage] = [each for each in debs if each.name not in below]
            below |= {each.name for each in debs}
        origin = used["BASE_IMAGE"].origin
        return parse_debs(debs_text(f"{target.base.image} ({origin})", layers))


def say_differences(rendered: Rendered, image: str) -> None:
    """Say which packages apt has installed in ``image`` that packages.lock has in other versions.

    Raises:
        EngineError: the engine does not answer, or has no such image.
    """
    recorded, target = rendered.lock.debs, rendered.target
    if not recorded:
        return
    with containers.unstarted(image, target.platform) as container:
        texts = [text.decode() for _, text in ImageFiles(container).files(DEBS, _is_list)]
    installed = {deb.name: deb for text in texts for deb in debs_of(text)}
    if lines := changed_debs(recorded.debs, installed):
        console.say(
            f"{target.id}: {counted(len(lines), 'package')} not as in packages.lock: "
            f"{some_of(lines, _SHOWN)}; 'build.py update --packages --write' records those of now",
            "warning",
        )


def _is_list(name: str) -> bool:
    return name.endswith(".txt")


def _layers(rendered: Rendered) -> list[Layer]:
    return [layer for layer in rendered.layers if layer.packages]


def _stages(rendered: Rendered) -> str:
    """The stages that list what apt resolves: for a layer with that of the layers below it."""
    commands, wanted = [], list[str]()
    for layer in _layers(rendered):
        wanted += layer.packages
        words = ["/base", rendered.target.docker_arch, layer.stage, *wanted]
        commands.append(f"install-packages --list /lists/{layer.stage}.txt {' '.join(words)}")
    return _RESOLVE.format(commands="; ".join(commands), stage=_STAGE)
