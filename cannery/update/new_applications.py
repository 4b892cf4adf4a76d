# SPDX-License-Identifier: Apache-2.0
"""New releases of applications, and targets for them on the chips that sources name. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import yaml
from packaging.version import Version

from cannery.common.documents import load_yaml
from cannery.common.model import Application, Target
from cannery.common.specifiers import parse_requirement
from cannery.compat.combination import plain_app
from cannery.compat.facts import Compat, Pairing
from cannery.lock.index_versions import Answers, Kind, Question, question_of
from cannery.matrix.families import Catalogue, expand
from cannery.matrix.files import MATRIX, Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import MatrixText
from cannery.options import NewOptions
from cannery.update.new_target import cann_of, short


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of ``package``, newer than that of ``target``'s application.

    ``row`` is an environment that a source has of it, and ``chips`` are those of all its sources.
    """

    package: str
    version: Version
    target: Target
    row: Pairing | None
    chips: tuple[str, ...]

    @property
    def name(self) -> str:
        """As in sglang-0.5.23; vllm-ascend 0.26.0rc1 is a plugin for vllm-0.26.0."""
        application = _application(self.target)
        version = self.version if self.package != PLUGIN else self.version.base_version
        return f"{application.component}-{version}"


PLUGIN = "vllm-ascend"
"""The package whose releases have the versions of another one, and candidates of their own."""


def _application(target: Target) -> Application:
    assert target.application is not None
    return target.application


def newest_applications(matrix: Matrix) -> dict[str, Target]:
    """Package to a target with its newest release, if possible one that is not unverified.

    An application from sources, without a package of its version, is there by its component.
    """
    newest: dict[str, tuple[tuple[Version, bool], Target]] = {}
    for target in matrix.targets.values():
        if (application := target.application) and application.title:
            order = Version(application.version), not target.unverified
            if application.component not in newest or newest[application.component][0] < order:
                newest[application.component] = order, target
    targets = {}
    for component, (_, target) in newest.items():
        application = _application(target)
        pins = map(parse_requirement, application.requirements)
        own = (pin.name for pin in pins if str(pin.specifier) == f"=={application.version}")
        targets[next(own, PLUGIN if component == "vllm" else component)] = target
    return targets


def application_questions(matrix: Matrix) -> list[Question]:
    """What to ask an index for ``new_releases``."""
    return [
        Question(package=package, runtime=question_of(package, target).runtime, kind=Kind.ANY)
        for package, target in newest_applications(matrix).items()
    ]


def unanswered(matrix: Matrix, answers: Answers) -> list[str]:
    """The applications whose own version an index has not, so that it tells of no newer ones."""
    known = {question.package: versions for question, versions in answers.items()}
    return [
        f"application {application.name}: the package index has no {package} {application.version}"
        for package, target in newest_applications(matrix).items()
        if Version((application := _application(target)).version) not in known.get(package, ())
    ]


def new_releases(matrix: Matrix, compat: Compat, answers: Answers) -> Iterator[list[Release]]:
    """The newer releases of each application, newest first: final ones, and those of a row."""
    for package, target in newest_applications(matrix).items():
        application = _application(target)
        rows: dict[Version, list[Pairing]] = {}
        for row in compat.pairings:
            name, _, version = row.app.rpartition(" v")
            if plain_app(name) == plain_app(package):
                rows.setdefault(Version(version), []).append(row)
        offered = {
            version
            for question, versions in answers.items()
            if (question.package, question.kind) == (package, Kind.ANY)
            for version in versions
            if not version.is_prerelease
        }
        chips = {t.chip for t in matrix.targets.values() if t.application == application}
        yield [
            _release(package, version, target, rows.get(version, ()), chips)
            for version in sorted(offered | {*rows}, reverse=True)
            if version > Version(application.version) and not version.is_devrelease
        ]


def _release(
    package: str, version: Version, target: Target, rows: Collection[Pairing], chips: set[str]
) -> Release:
    best = max(rows, key=lambda r: (bool(r.triton_ascend), r.cann, -r.line), default=None)
    named = {chip for row in rows for chip in row.chips} or chips
    return Release(
        package=package, version=version, target=target, row=best, chips=tuple(sorted(named))
    )


def with_release(
    files: Data, release: Release, chips: Iterable[str], compat: Compat, targets: Catalogue
) -> tuple[Data, dict[str, str]]:
    """``files`` with the application and a target for each of ``chips``, and chip to its id.

    ``targets`` returns those that come with the program. An application that is built from sources
    has requirements that its index does not tell, so its targets say that they are unverified.

    Raises:
        MatrixError: the files cannot be edited, or CANN's files have no name.
    """
    like, application, matrix = release.target, _application(release.target), MatrixText(files)
    old, new = application.version, release.name.rpartition("-")[2]
    if release.name not in matrix.keys("applications"):
        text = "\n".join(matrix.lines("applications", application.name))
        text = text.replace(f"{release.package}=={old}", f"{release.package}==\0")
        text = re.sub(r"&[\w-]+", "", text)  # an anchor is given once
        text = re.sub(rf"(?<=[-= ]){re.escape(old)}(?![\w.])", new, text)
        _, *lines = text.replace("\0", str(release.version)).splitlines()
        matrix.add(("applications",), (f"{release.name}:", *lines))
    top = load_yaml(files[MATRIX], MATRIX, [])
    expand(top, targets, [])
    keys = top["targets"][like.id]
    row, changes = release.row, {"application": release.name}
    if row is not None:
        changes |= {"torch": row.torch, "torch_npu": row.torch_npu, "cann": str(row.cann)}
        more = {"triton_ascend": row.triton_ascend, "mooncake": row.mooncake}
        changes |= {key: version for key, version in more.items() if version and key in keys}
    ids: dict[str, str] = {}
    for chip in chips:
        options = NewOptions(python="", chip=chip, platform=like.platform)
        if row is not None:
            _, needed = cann_of(row.cann, str(row.cann), options, compat, matrix)
            for where, entry in needed:
                matrix.add(where, entry)
        wanted = {**changes, "chip": chip} if chip != like.chip else changes
        value = {
            key: {"replace": text} if key in keys else text
            for key, text in wanted.items()
            if keys.get(key) != text
        }
        if application.wheels:
            why = f"its requirements are those of {application.name}; its sources tell its own"
            value["unverified"] = {"replace": why} if "unverified" in keys else why
        if "summary" in keys:
            value["summary"] = {"replace": f"{application.title.replace(old, new)} for {chip}"}
        name = _id(release, chip)
        flow = yaml.safe_dump({"from": like.id, **value}, default_flow_style=True, width=10_000)
        matrix.add(("targets",), (f"{name}: {flow.strip()}",))
        ids[chip] = name
    return matrix.files, ids


def _id(release: Release, chip: str) -> str:
    """The id of the target that a release is like, with the new versions and the chip."""
    like, row = release.target, release.row
    old, new = _application(like).version, release.name.rpartition("-")[2]
    name = like.id.replace(short(old.partition(".post")[0]), short(new.partition(".post")[0]), 1)
    if row is not None:
        name = name.replace(f"torch{short(like.torch)}", f"torch{short(row.torch)}", 1)
        name = name.replace(f"cann{short(like.cann.version)}", f"cann{short(str(row.cann))}", 1)
    return re.sub(rf"-{short(like.chip)}(?=-|$)", "", name) + f"-{short(chip)}"
