# SPDX-License-Identifier: Apache-2.0
"""What apt resolves for targets now, and what it has installed that is not in packages.lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cannery.building.bases import bases
from cannery.common import console
from cannery.common.bases import PackageManager
from cannery.common.errors import CanneryError, counted, raise_all, some_of
from cannery.common.files import now
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
    settings = BakeSettings(
        builder=find_builder(""), source=source, caches=Caches(), logs=project.state / "logs"
    )
    cache = base.BaseCache(state=project.state)
    finder = base.Bases(builder=settings.builder, notes=cache, ca=source.ca)
    with_apt = []
    for target in targets:
        if target.base.distribution.package_manager is PackageManager.APT:
            with_apt.append(target)
        else:
            console.say(f"{target.id}: not recorded, because its base has no apt")
    # Targets that ask the same apt for the same packages are resolved once.
    groups: dict[tuple[object, ...], list[Rendered]] = {}
    for image in Renderer(project).render_all(with_apt).values():
        packages = [(layer.stage, layer.packages) for layer in _layers(image)]
        key = (image.target.base.image, image.target.platform, *packages)
        groups.setdefault(key, []).append(image)
    failures: dict[str, CanneryError] = {}
    count = 0
    for group in groups.values():
        try:
            lock = _resolve(project, group[0], settings, finder)
        except CanneryError as error:
            failures |= {image.target.id: error for image in group}
            continue
        stale = [i for i in group if not i.lock.debs or i.lock.debs.layers != lock.layers]
        count += len(stale)
        print("\n".join(_differences(group, stale, lock)))
        if write and stale:
            with project.editing():
                project.write({project.packages_lock(i.target): lock.text for i in stale})
    raise_all(failures, single=len(targets) == 1)
    return count


def _differences(group: list[Rendered], stale: list[Rendered], lock: DebLock) -> Iterator[str]:
    target = group[0].target
    others = f" and {counted(len(group) - 1, 'more target')}" if len(group) > 1 else ""
    packages = f"{counted(len(lock.debs), 'package')} of {target.base.name}"
    state = "" if stale else ", as recorded"
    yield f"{target.id}{others}: {packages}{state}"
    if new := [image for image in stale if not image.lock.debs]:
        yield f"  not recorded yet for {counted(len(new), 'target')}"
    recorded = (image.lock.debs for image in stale)
    changes = (change for old in recorded if old for change in changed_debs(old.debs, lock.debs))
    yield from (f"  {change}" for change in dict.fromkeys(changes))


def _resolve(
    project: Project, rendered: Rendered, settings: BakeSettings, finder: base.Bases
) -> DebLock:
    """The current packages.lock, from apt on the base of the target."""
    target = rendered.target
    commands, packages = [], list[str]()
    for layer in _layers(rendered):
        # With the packages of the layers below it.
        packages += layer.packages
        words = ["/base", target.docker_arch, layer.stage, *packages]
        commands.append(f"install-packages --list /lists/{layer.stage}.txt {' '.join(words)}")
    stages = _RESOLVE.format(commands="; ".join(commands), stage=_STAGE)
    used = {name: finder.find(*needed) for name, needed in bases(target).items()}
    places = base.contexts(used.values(), settings.builder, project.state / "bases")
    folder = project.images / target.id
    build = ImageBuild(
        id=f"{target.id}-packages",
        tag="",
        dockerfile=folder / "Dockerfile",
        text=rendered.files["Dockerfile"] + stages,
        folder=folder,
        platform=target.platform,
        contexts={**places, "cannery": str(project.build_context)},
        arguments={**{name: image.reference for name, image in used.items()}, "TIME": now()},
    )
    texts = stage_texts(build, _STAGE, settings)
    layers: dict[str, list[Deb]] = {}
    below: set[str] = set()
    for layer in _layers(rendered):
        debs = [*debs_of(texts[f"{layer.stage}.txt"])]
        layers[layer.stage] = [deb for deb in debs if deb.name not in below]
        below |= {deb.name for deb in debs}
    origin = used["BASE_IMAGE"].origin
    return parse_debs(debs_text(f"{target.base.image} ({origin})", layers))


def say_differences(rendered: Rendered, image: str) -> None:
    """Name the packages of apt in ``image`` that packages.lock has in other versions."""
    recorded, target = rendered.lock.debs, rendered.target
    if not recorded:
        return
    with containers.unstarted(image, target.platform) as container:
        files = ImageFiles(container).files(DEBS, lambda name: name.endswith(".txt"))
        texts = [text.decode() for _, text in files]
    installed = {deb.name: deb for text in texts for deb in debs_of(text)}
    if lines := changed_debs(recorded.debs, installed):
        console.say(
            f"{target.id}: {counted(len(lines), 'package')} not as in packages.lock: "
            f"{some_of(lines, _SHOWN)}; 'build.py update --packages --write' records those of now",
            "warning",
        )


def _layers(rendered: Rendered) -> list[Layer]:
    return [layer for layer in rendered.layers if layer.packages]
