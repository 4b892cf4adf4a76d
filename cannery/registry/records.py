# SPDX-License-Identifier: Apache-2.0
"""Records of pushes: one file for each below releases/, written once and then committed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cannery.common.errors import FileError, Problem, file_error
from cannery.common.files import read_text
from cannery.common.outside import parse_json

_SCHEMA = 1
_REASONS = {"missing": "is missing", "unexpected_keyword_argument": "is unknown"}
_STRICT = ConfigDict(extra="forbid", strict=True)

Packages = Mapping[str, Mapping[str, str]]
"""Kind of package (wheels, debian, vendor) to name to version."""


@dataclass(frozen=True, kw_only=True)
class LayerRecord:
    """One layer: the digest and the size in bytes of its compressed blob.

    ``diff_id`` is the digest of what it unpacks to; ``name`` is as in ``cannery.image.layers``, or
    ``base``.
    """

    __pydantic_config__ = _STRICT

    digest: str
    diff_id: str
    size: int
    name: str


@dataclass(frozen=True, kw_only=True)
class PlatformImage:
    """The image for one platform; ``size`` is what a pull of all of it downloads, in bytes."""

    __pydantic_config__ = _STRICT

    digest: str
    config: str
    size: int
    layers: tuple[LayerRecord, ...]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The differences of the packages from those of the earlier image with the tag ``since``."""

    __pydantic_config__ = _STRICT

    since: str = ""
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """The result of the checks on one kind of device, and the hardware of that run."""

    __pydantic_config__ = _STRICT

    device: str
    hardware: str
    passed: int
    failed: int
    not_run: int
    date: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """One push of one target.

    ``digest`` is that of the index to pull, ``tag`` its immutable tag and ``tags`` the moving ones.
    ``pushed`` is a time as in ``2026-11-21T12:00:00Z``; ``commit`` is empty without a git commit.
    """

    __pydantic_config__ = _STRICT

    target: str
    tag: str
    tags: tuple[str, ...]
    key: str
    registry: str
    repository: str
    digest: str
    simulated: bool
    pushed: str
    commit: str
    platforms: Mapping[str, PlatformImage]
    components: Mapping[str, str]
    packages: Packages
    changes: Changes = field(default_factory=Changes)
    verified: tuple[Tested, ...] = ()
    attestations: Mapping[str, str] = field(default_factory=dict)
    signed: bool = False

    @property
    def place(self) -> str:
        """The repository, with its registry."""
        return f"{self.registry}/{self.repository}"

    @property
    def by_digest(self) -> str:
        """The reference to pull, which no push can change."""
        return f"{self.place}@{self.digest}"

    @property
    def digests(self) -> frozenset[str]:
        """Every manifest that has to stay in the registry."""
        return frozenset({self.digest, *(image.digest for image in self.platforms.values())})


_READER = TypeAdapter(Record)


def to_text(record: Record) -> str:
    """The text of the record's file; equal records give equal texts."""
    content = {"schema": _SCHEMA, **asdict(record)}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def path_of(folder: Path, record: Record) -> Path:
    """The path of the file of ``record`` below ``folder``, in the first registry with its tag."""
    return folder / record.target / f"{record.tag}.json"


@dataclass(frozen=True, kw_only=True)
class RecordFile:
    """A file for a record. ``before`` is the text that it replaces; None if it is new."""

    path: Path
    text: str
    before: str | None


def record_file(folder: Path, record: Record, earlier: Iterable[Record]) -> RecordFile | None:
    """The file of ``record`` below ``folder``; None if ``earlier`` has its tag with its image.

    A tag that other registries have, too, has a file for each of them. Where ``earlier`` has
    another image under the tag, that push was killed, or that image has been deleted since.
    """
    first, with_place = _paths(folder, record)
    same_tag = {other.place: other for other in earlier if path_of(folder, other) == first}
    known = same_tag.get(record.place)
    if known and known.digest == record.digest:
        return None
    is_first = not with_place.exists() if known else not same_tag
    before = to_text(known) if known else None
    return RecordFile(path=first if is_first else with_place, text=to_text(record), before=before)


def _paths(folder: Path, record: Record) -> tuple[Path, Path]:
    """The path of the first record of a tag, and that of one in another registry."""
    first = path_of(folder, record)
    place = re.sub(r"[^a-z0-9.]+", "-", record.place.lower())
    return first, first.with_name(f"{record.tag}@{place}.json")


def read_records(folder: Path) -> tuple[Record, ...]:
    """Every record below ``folder``, oldest first; none if the folder does not exist."""
    records: list[Record] = []
    problems: list[Problem] = []
    try:
        paths = sorted(folder.glob("*/*.json"))
    except OSError as error:
        raise file_error("read", folder, error) from error
    for path in paths:
        try:
            records.append(read_record(path))
        except FileError as error:
            problems += error.problems
    if problems:
        raise FileError(problems)
    return tuple(sorted(records, key=lambda record: (record.pushed, record.tag)))


def latest(records: Iterable[Record], target: str) -> Record | None:
    """The newest record of ``target``; a simulated one only if there is no other."""
    of_target = [record for record in records if record.target == target]
    real = [record for record in of_target if not record.simulated]
    return max(real or of_target, key=lambda record: (record.pushed, record.tag), default=None)


def read_record(path: Path) -> Record:
    """The record in the file ``path``, which must have a name that ``record_file`` gives it."""
    wrong = ""
    try:
        loaded = parse_json(read_text(path))
        if isinstance(loaded, dict) and loaded.pop("schema", None) == _SCHEMA:
            record = _READER.validate_json(json.dumps(loaded))
            if path in _paths(path.parent.parent, record):
                return record
            wrong = f"it is the record of {record.target}, tag {record.tag}, which has another name"
        else:
            wrong = f"this version of cannery reads schema {_SCHEMA} only"
    except FileNotFoundError as error:
        raise file_error("read", path, error) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = _REASONS.get(first["type"]) or f"is wrong: {first['msg']}"
        wrong = f"the field {'.'.join(map(str, first['loc']))!r} {reason}"
    except ValueError as error:
        wrong = f"it is not JSON: {error}"
    fix = "Restore it from git: a record is never edited."
    raise FileError(Problem(what=f"{path} is not a valid record of a push: {wrong}.", fix=fix))


def difference(since: str, before: Packages, after: Packages) -> Changes:
    """The packages that differ between ``before``, of the tag ``since``, and ``after``."""
    kinds: dict[str, set[str]] = {}
    for packages in (before, after):
        for kind, names in packages.items():
            for name in names:
                kinds.setdefault(name, set()).add(kind)
    # A name that several kinds of packages have gets its kind in front.
    old, new = (
        {
            name if len(kinds[name]) == 1 else f"{kind}:{name}": version
            for kind, names in packages.items()
            for name, version in names.items()
        }
        for packages in (before, after)
    )
    both = sorted({*old} & {*new})
    return Changes(
        since=since,
        added={name: new[name] for name in sorted({*new} - {*old})},
        removed={name: old[name] for name in sorted({*old} - {*new})},
        changed={name: (old[name], new[name]) for name in both if old[name] != new[name]},
    )
