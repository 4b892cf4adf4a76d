# SPDX-License-Identifier: Apache-2.0
"""Everything that is known about each target, for the table of all images and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cannery.common.model import Target
from cannery.common.references import image_name
from cannery.compat import Finding
from cannery.image.layers import Layer
from cannery.image.record import installed_versions
from cannery.image.render import Rendered, Renderer
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.publish.policy import Publishing, Trial, load
from cannery.registry.records import Record, latest, read_records
from cannery.verify.results import KeyOf, Result, known_results, verdicts

_EXAMPLE = "registry.example.com"


@dataclass(frozen=True, kw_only=True)
class LayerEntry:
    """One layer of a target. ``others`` is the number of other targets that have it.

    ``size`` is the number of bytes to pull; None if no image was published.
    """

    name: str
    others: int
    size: int | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One target. ``record`` is its newest release, ``results`` are those of its checks.

    ``locked`` are the wheels of its lock. ``future`` is a reference in a registry, for examples
    while the image is not published.
    """

    target: Target
    record: Record | None
    results: tuple[Result, ...]
    trial: Trial | None
    layers: tuple[LayerEntry, ...]
    findings: tuple[Finding, ...]
    locked: Mapping[str, str]
    future: str

    @property
    def id(self) -> str:
        return self.target.id

    @property
    def local(self) -> str:
        """The name of the image on the machine that builds it."""
        return image_name(self.id, simulate=False)

    @property
    def repository(self) -> str:
        """As in ``registry.example.com/ascend``; empty if the image is not published."""
        return f"{self.record.registry}/{self.record.repository}" if self.record else ""

    @property
    def by_tag(self) -> str:
        return f"{self.repository}:{self.record.tag}" if self.record else ""

    @property
    def by_digest(self) -> str:
        """The reference to pull, which no push can change."""
        return f"{self.repository}@{self.record.digest}" if self.record else ""

    @property
    def simulated(self) -> bool:
        return bool(self.record and self.record.simulated)

    @property
    def sizes(self) -> dict[str, int]:
        """Platform to the bytes of its image's layers, as they are pulled."""
        platforms = self.record.platforms if self.record else {}
        return {name: each.size for name, each in platforms.items()}

    @property
    def size(self) -> int | None:
        """The bytes to pull on the target's own platform."""
        return self.sizes.get(self.target.platform)

    @property
    def outdated(self) -> dict[str, str]:
        """The components of the published image that differ from the matrix, with its versions.

        The version is empty if the image does not have the component.
        """
        if self.record is None:
            return {}
        wanted, found = self.target.components, self.record.components
        names = [*found, *(name for name in wanted if name not in found)]
        return {n: found.get(n, "") for n in names if found.get(n, "") != wanted.get(n, "")}

    @property
    def verdicts(self) -> tuple[Result, ...]:
        """The results that say most: at most one for each kind of packages."""
        return verdicts(self.results)


@dataclass(frozen=True, kw_only=True)
class Known:
    """Everything but the matrix; ``results``, ``layers`` and the rest are by target id."""

    publishing: Publishing
    records: Sequence[Record] = ()
    results: Mapping[str, Sequence[Result]] = field(default_factory=dict)
    layers: Mapping[str, Sequence[Layer]]
    findings: Mapping[str, Sequence[Finding]]
    locked: Mapping[str, Mapping[str, str]]


def entries(matrix: Matrix, known: Known) -> tuple[Entry, ...]:
    """Everything that is known about each target, in the order of the matrix."""
    users = Counter(layer.identity for own in known.layers.values() for layer in own)
    found = []
    for name, target in matrix.targets.items():
        record = latest(known.records, name)
        found.append(
            Entry(
                target=target,
                record=record,
                results=tuple(known.results.get(name, ())),
                trial=known.publishing.trials.get(name),
                layers=_layers(target, known.layers[name], users, record),
                findings=tuple(known.findings[name]),
                locked=known.locked[name],
                future=_future(target, known.publishing),
            )
        )
    return tuple(found)


def _future(target: Target, publishing: Publishing) -> str:
    tag = publishing.moving_tags(target.id, simulate=False)[0]
    return f"{_EXAMPLE}/{publishing.repository}:{tag}"


def _layers(
    target: Target,
    layers: Sequence[Layer],
    users: Mapping[str, int],
    record: Record | None,
) -> tuple[LayerEntry, ...]:
    platform = record.platforms.get(target.platform) if record else None
    sizes: dict[str, int] = {}
    for each in platform.layers if platform else ():
        sizes[each.name] = sizes.get(each.name, 0) + each.size
    return tuple(
        LayerEntry(
            name=layer.name,
            others=users[layer.identity] - 1,
            size=sizes.get(layer.name),
        )
        for layer in layers
    )


def gather(project: Project, key_of: KeyOf) -> tuple[Entry, ...]:
    """Everything that the files of ``project`` say about its targets.

    ``key_of`` returns the content keys by the files of the checkout.

    Raises:
        MatrixError: matrix.yaml, compat.yaml, publish.yaml, a lock or a file of results is wrong.
        FileError: one of them, or a record, cannot be read.
    """
    matrix = project.matrix()
    renderer = Renderer(project)
    rendered = renderer.render_all(matrix.targets.values())
    records = read_records(project.releases)
    known = Known(
        publishing=load(project.publish_file, matrix),
        records=records,
        results=known_results(project, matrix.targets.values(), records, key_of),
        layers={name: each.layers for name, each in rendered.items()},
        findings=matrix.findings,
        locked={name: _locked(each) for name, each in rendered.items()},
    )
    return entries(matrix, known)


def _locked(rendered: Rendered) -> dict[str, str]:
    """Package to version, of all Python packages that a target would be built with."""
    wheels = installed_versions(rendered.target, rendered.lock)
    vendor = {name: wheel.version for name, wheel in rendered.target.vendor_wheels.items()}
    return {**wheels, **vendor}
