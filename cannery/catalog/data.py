# SPDX-License-Identifier: Apache-2.0
"""The data of the page's script. What several images have in common is there once, in a pool."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cannery.catalog.commands import CARDS, Command
from cannery.catalog.entries import Entry
from cannery.catalog.facets import FACETS, MORE, NONE, age, best_first, choices, facets
from cannery.catalog.strings import LANGUAGES, chinese, strings
from cannery.common.columns import size_text
from cannery.compat import Finding
from cannery.compat.facts import Driver, Row
from cannery.deploy.formats import RUNTIMES
from cannery.fetch.needs import Need, real_needs
from cannery.verify.results import Result

_NAMES = {
    "base": "OS",
    "python": "Python",
    "toolkit": "CANN",
    "nnal": "NNAL",
    "hccl_test": "HCCL tests of CANN",
}
"""Component to its name on the page, if that differs."""

_ARCHITECTURES = {"linux/arm64": "arm aarch64 kunpeng", "linux/amd64": "x86 x86_64"}
"""Platform to more words that people search for."""


class _Pool:
    """Numbers values, equal ones with the same number."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def add(self, values: Iterable[Hashable]) -> list[int]:
        return [self._numbers.setdefault(value, len(self._numbers)) for value in values]

    def packages(self, versions: Mapping[str, str]) -> list[int]:
        return self.add(f"{name} {version}" for name, version in sorted(versions.items()))

    @property
    def values(self) -> list[Hashable]:
        return [*self._numbers]


def page_data(
    entries: Sequence[Entry], texts: Mapping[str, Sequence[Command]], website: str
) -> dict[str, Any]:
    """The data of the page of ``entries``, the best ones first; ``texts`` are by target id.

    ``website`` is the address of the repository; empty if there is none.
    """
    pool = _Pool()
    ordered = best_first(entries)
    places = _places(ordered)
    images = [_image(each, texts[each.id], pool) for each in ordered]
    for each in images:
        each["places"] = {name: place[each["id"]] for name, place in places.items()}
    titles = {
        each.target.application.component: each.target.application.title
        for each in entries
        if each.target.application
    }
    return {
        "facets": FACETS,
        "more": MORE,
        "choices": choices(ordered),
        "labels": {name: title.partition(" ")[0] for name, title in titles.items() if title},
        "sorts": ["best", *places],
        "cards": CARDS,
        "runtimes": RUNTIMES,
        "languages": LANGUAGES,
        "strings": {name: strings(name) for name in LANGUAGES},
        "website": website,
        "images": images,
        "pool": pool.values,
    }


def _places(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    """Order to the place of each image in it, by id; images of equal worth have the same place."""
    keys: dict[str, dict[str, Any]] = {
        "torch": {each.id: age("torch", each.target.torch or NONE) for each in entries},
        "cann": {each.id: age("cann", each.target.cann.version) for each in entries},
    }
    if any(each.record for each in entries):
        keys["size"] = {each.id: (each.size is None, each.size or 0) for each in entries}
        latest = sorted({each.record.pushed for each in entries if each.record}, reverse=True)
        keys["pushed"] = {
            each.id: latest.index(each.record.pushed) if each.record else len(latest)
            for each in entries
        }
    found = {}
    for name, own in keys.items():
        ranks = {key: rank for rank, key in enumerate(sorted({*own.values()}))}
        found[name] = {id_: ranks[key] for id_, key in own.items()}
    return found


def _image(entry: Entry, texts: Sequence[Command], pool: _Pool) -> dict[str, Any]:
    target = entry.target
    return {
        "id": entry.id,
        "summary": {"en": target.summary, "zh": chinese(target.summary)},
        "recommended": target.recommended,
        "facets": facets(entry),
        "words": _words(entry),
        "components": [
            (_NAMES.get(name, name), version)
            for name, version in target.components.items()
            if name != "kernels"
        ],
        "unverified": target.unverified,
        "interim": target.cann.interim and target.cann.nearest_public,
        "verdicts": [_result(each) for each in entry.verdicts],
        "results": [_result(each) for each in entry.results],
        "driver": _driver(entry),
        "files": pool.add(map(_file, real_needs([target]).values())),
        "wheels": pool.packages(entry.locked),
        "findings": pool.add(map(_finding, entry.findings)),
        "layers": [(each.name, each.others, _size(each.size)) for each in entry.layers],
        "texts": [
            {
                "use": each.use,
                "cards": each.cards,
                "runtime": each.runtime,
                "lines": pool.add(each.text.split("\n")),
            }
            for each in texts
        ],
        "future": entry.future,
        "release": _release(entry, pool),
        "trial": entry.trial and asdict(entry.trial),
    }


def _words(entry: Entry) -> str:
    """What the search looks at, in lower case, beside components, packages and lines of texts."""
    target, record, own = entry.target, entry.record, facets(entry)
    found = [entry.id, target.summary, chinese(target.summary), f"chip {target.chip}"]
    found += [target.platform, _ARCHITECTURES.get(target.platform, "")]
    found += [strings(name)[f"words.{own['use']}"] for name in LANGUAGES]
    found += [entry.by_digest, record.tag, *record.tags] if record else []
    return "\n".join(found).lower()


def _result(result: Result) -> dict[str, Any]:
    more = {"where": result.where, "basis": result.basis, "moved": result.moved}
    return {**asdict(result.tested), **more}


def _driver(entry: Entry) -> tuple[str, str, bool] | None:
    """The oldest and the newest driver, "" if no source has it, and whether sources disagree."""
    for each in entry.findings:
        for row in each.rows:
            if isinstance(row, Driver):
                return row.minimum, row.maximum, bool(each.against)
    return None


def _size(size: int | None) -> str:
    return "" if size is None else size_text(size)


def _file(need: Need) -> Hashable:
    """Name, size if it is known, origin, and how a build gets it."""
    file = need.file
    return file.name, size_text(file.size) if file.size else "", file.origin, need.supply


def _finding(finding: Finding) -> Hashable:
    """Component, verdict, sentence, and the rows for and against it."""
    rows = (tuple(map(_row, each)) for each in (finding.rows, finding.against))
    return finding.component, finding.verdict, finding.text, *rows


def _row(row: Row) -> Hashable:
    """Line in compat.yaml, and the sources with their addresses, where they have one."""
    return row.line, tuple((str(each), each.address) for each in row.sources)


def _release(entry: Entry, pool: _Pool) -> dict[str, Any] | None:
    record = entry.record
    if record is None:
        return None
    changes = record.changes
    return {
        "tag": entry.by_tag,
        "tags": record.tags,
        "digest": record.digest,
        "simulated": record.simulated,
        "pushed": record.pushed[:10],
        "commit": record.commit[:12],
        "sizes": {name: size_text(size) for name, size in entry.sizes.items()},
        "outdated": [f"{_NAMES.get(n, n)} {v or '-'}" for n, v in entry.outdated.items()],
        "packages": {
            "components": pool.packages(record.components),
            **{kind: pool.packages(each) for kind, each in record.packages.items()},
        },
        "since": changes.since,
        "changes": [
            *(("added", f"{name} {version}") for name, version in changes.added.items()),
            *(("removed", f"{name} {version}") for name, version in changes.removed.items()),
            *(("changed", f"{name} {a} → {b}") for name, (a, b) in changes.changed.items()),
        ],
    }
