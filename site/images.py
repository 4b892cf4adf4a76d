# SPDX-License-Identifier: Apache-2.0
"""The data of the page's script. What several images have in common is there once, in a pool.

A target is an object of the list that ``build.py list --format json --verbose`` prints.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from strings import LANGUAGES, chinese, strings

Target = Mapping[str, Any]

NONE = "none"
"""The value of targets that have no such component."""

FACETS = ("use", "application", "chip", "platform", "cann", "torch", "python")
"""The rows of choices that are always shown."""

MORE = ("system", "flavour", "verified", "published")
"""The rows of choices that are shown on demand."""

_VERSIONS = ("cann", "torch", "python")

_USES = {"opencompass": "evaluate", "sglang": "serve", "vllm": "serve"}
"""What applications are for, if not for training."""

_DEVICES = ("none", "simulated", "npu")
"""From the one on which a pass says least."""

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

_HARDWARE = {
    "910b": "ascend910b 昇腾910b atlas 800t a2 atlas 800i a2 atlas 900 a2 pod atlas 300t a2",
    "a3": "ascend910c 昇腾910c 910c atlas 800t a3 atlas 800i a3 atlas 900 a3 superpod",
    "310p": "ascend310p 昇腾310p 310p3 atlas 300i pro atlas 300i duo atlas 300v",
    "910": "ascend910 昇腾910 ascend910a 昇腾910a atlas 800 9000",
    "950": "ascend950 昇腾950 a5 atlas 950 superpod atlas 850 atlas 350",
    "310b": "ascend310b 昇腾310b atlas 200i a2 atlas 500 a2",
}
"""Chip to the names of its hardware, as vllm-ascend's and CANN's documents have them."""

_JOINED = ("python", "torch", "torch_npu", "deepspeed", "vllm", "mindspore", "triton_ascend")
"""Components whose name people write before a version, with a space or without."""


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


def page_data(targets: Sequence[Target], website: str) -> dict[str, Any]:
    """The data of the page of ``targets``, the best ones first.

    ``website`` is the address of the repository; empty if there is none.
    """
    pool = _Pool()
    ordered = best_first(targets)
    places = _places(ordered)
    images = [_image(target, pool) for target in ordered]
    for image in images:
        image["places"] = {name: place[image["id"]] for name, place in places.items()}
    applications = [target["application"] for target in targets if target["application"]]
    commands = [command for target in targets for command in target["commands"]]
    return {
        "facets": FACETS,
        "more": MORE,
        "choices": choices(ordered),
        "labels": {
            each["name"]: each["title"].split()[0] for each in applications if each["title"]
        },
        "sorts": ["best", *places],
        "cards": sorted({command["cards"] for command in commands} - {0}),
        "runtimes": [*dict.fromkeys(c["runtime"] for c in commands if c["runtime"])],
        "languages": LANGUAGES,
        "strings": {name: strings(name) for name in LANGUAGES},
        "website": website,
        "images": images,
        "pool": pool.values,
    }


# ---- what people choose by


def facets(target: Target) -> dict[str, str]:
    """Facet to the value of ``target``; Python by its minor version, applications by name."""
    components, application = target["components"], target["application"]
    return {
        "use": _use(target),
        "application": application["name"] if application else NONE,
        "chip": target["chip"],
        "platform": target["platform"],
        "cann": target["cann"]["version"],
        "torch": components.get("torch", NONE),
        "python": ".".join(components["python"].split(".")[:2]),
        "system": components["base"],
        "flavour": target["flavour"],
        "verified": _verified(target),
        "published": "yes" if target["release"] else "no",
    }


def _use(target: Target) -> str:
    if application := target["application"]:
        return _USES.get(application["name"], "train")
    return "serve" if target["flavour"] == "runtime" else "train"


def _verified(target: Target) -> str:
    """The best device on which all checks passed, or ``failed``, or ``nothing``."""
    results = [verdict["tested"] for verdict in target["verdicts"]]
    if any(result["failed"] for result in results):
        return "failed"
    return max((result["device"] for result in results), key=_DEVICES.index, default="nothing")


def age(facet: str, target: Target) -> tuple[int, ...]:
    """The sort key of a version of ``target``: the newest first, last what is no version."""
    order = target["cann"]["order"]
    if facet != "cann":
        version = re.match(r"[0-9.]*", facets(target)[facet])
        order = [int(number) for number in re.findall(r"[0-9]+", version[0] if version else "")]
    return (0, *(-number for number in order)) if order else (1,)


def choices(targets: Iterable[Target]) -> dict[str, list[str]]:
    """Facet to its values: the newest version first, of others the one that most images have."""
    known = [(target, facets(target)) for target in targets]
    values = {}
    for facet in (*FACETS, *MORE):
        counts = Counter(own[facet] for _, own in known)
        order: dict[str, tuple[int, ...]] = {value: (-n,) for value, n in counts.items()}
        if facet in _VERSIONS:
            order = {own[facet]: age(facet, target) for target, own in known}
        values[facet] = sorted(counts, key=lambda value: (order[value], value))
    return values


def best_first(targets: Iterable[Target]) -> list[Target]:
    """``targets``: the recommended ones, then the verified ones, and of those the newest first.

    Before the age comes whether a build can download all files.
    """

    def place(target: Target) -> tuple[object, ...]:
        if target["recommended"]:
            return (False,)
        ages = (age(facet, target) for facet in _VERSIONS)
        return True, _verified(target) in ("failed", "nothing"), _offline(target) > 0, *ages

    return sorted(targets, key=place)


def _offline(target: Target) -> int:
    """How many files of a build no server has."""
    return sum(not file["downloadable"] for file in target["needs"].values())


def _places(targets: Sequence[Target]) -> dict[str, dict[str, int]]:
    """Order to the place of each image in it, by id; images of equal worth have the same place."""
    keys: dict[str, dict[str, Any]] = {
        facet: {target["id"]: age(facet, target) for target in targets}
        for facet in ("torch", "cann")
    }
    if dates := {target["release"]["pushed"] for target in targets if target["release"]}:
        sizes = {target["id"]: _sizes(target).get(target["platform"]) for target in targets}
        keys["size"] = {name: (size is None, size or 0) for name, size in sizes.items()}
        latest = sorted(dates, reverse=True)
        keys["pushed"] = {
            target["id"]: latest.index(release["pushed"]) if release else len(latest)
            for target in targets
            for release in [target["release"]]
        }
    places = {}
    for order, by_id in keys.items():
        ranks = {key: rank for rank, key in enumerate(sorted({*by_id.values()}))}
        places[order] = {name: ranks[key] for name, key in by_id.items()}
    return places


# ---- what is shown of an image


def _image(target: Target, pool: _Pool) -> dict[str, Any]:
    cann, summary = target["cann"], target["summary"]
    return {
        "id": target["id"],
        "summary": {"en": summary, "zh": chinese(summary)},
        "recommended": target["recommended"],
        "facets": facets(target),
        "words": _words(target),
        "components": [
            (_NAMES.get(name, name), version)
            for name, version in target["components"].items()
            if name != "kernels"
        ],
        "unverified": target["unverified"],
        "unjudged": [each["text"] for each in target["findings"] if each["verdict"] == "unjudged"],
        "offline": _offline(target),
        "interim": cann["interim"] and cann["nearest_public"],
        "verdicts": [_result(result) for result in target["verdicts"]],
        # A test on the machine that makes the page, of an image that is only there, says nothing.
        "results": [_result(each) for each in target["results"] if each["basis"] != "local"],
        "driver": (driver := target["driver"]) and [*driver.values()],
        "files": pool.add(_file(name, file) for name, file in target["needs"].items()),
        "wheels": pool.packages(target["wheels"]),
        "findings": pool.add(_finding(finding) for finding in target["findings"]),
        "layers": [
            (layer["name"], layer["others"], size_text(layer["size"])) for layer in target["layers"]
        ],
        "texts": [
            {
                "use": command["use"],
                "cards": command["cards"],
                "runtime": command["runtime"],
                "lines": pool.add(command["text"].split("\n")),
            }
            for command in target["commands"]
        ],
        "future": target["reference"],
        "release": target["release"] and _release(target, pool),
        "trial": target["trial"],
    }


def _words(target: Target) -> str:
    """What the search looks at, in lower case, beside components, packages and lines of texts."""
    summary, platform = target["summary"], target["platform"]
    words = [target["id"], summary, chinese(summary), f"chip {target['chip']}"]
    words += [platform, _ARCHITECTURES.get(platform, ""), _HARDWARE.get(target["chip"], "")]
    versions = {name: text for name, text in target["components"].items() if name in _JOINED}
    for name, text in {**versions, "cann": target["cann"]["version"]}.items():
        words += [f"{name} {text}", f"{name}{text}"]
    words += [strings(name)[f"words.{_use(target)}"] for name in LANGUAGES]
    if release := target["release"]:
        words += [target["published"], release["tag"], *release["tags"]]
    return "\n".join(words).lower()


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    return {**result["tested"], **{name: result[name] for name in ("where", "basis", "moved")}}


def size_text(size: int | None) -> str:
    """As in ``3.1 GB``: decimal units, as registries show them; empty if it is not known."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size and size >= factor:
            return f"{size / factor:.{1 if size < 100 * factor else 0}f} {unit}"
    return "" if size is None else f"{size} B"


def _file(name: str, file: Mapping[str, Any]) -> Hashable:
    """Name, size if it is known, origin, and how a build on any machine gets it."""
    supply = "download" if file["sha256"] == "known" else "first use"
    return (
        name,
        size_text(file["size"]),
        file["origin"],
        supply if file["downloadable"] else "by hand",
    )


def _finding(finding: Mapping[str, Any]) -> Hashable:
    """Component, verdict, sentence, and the rows of compat.yaml for and against it."""
    rows = (tuple(map(_row, finding[name])) for name in ("rows", "against"))
    return finding["component"], finding["verdict"], finding["text"], *rows


def _row(row: Mapping[str, Any]) -> Hashable:
    """Line in compat.yaml, and the sources with their addresses, where they have one."""
    sources = row["sources"]
    return row["line"], tuple((f"{each['cite']}, {each['date']}", each["url"]) for each in sources)


def _sizes(target: Target) -> dict[str, int]:
    """Platform to the bytes of its published image, as they are pulled."""
    platforms = target["release"]["platforms"] if target["release"] else {}
    return {name: image["size"] for name, image in platforms.items()}


def _release(target: Target, pool: _Pool) -> dict[str, Any]:
    release = target["release"]
    changes = release["changes"]
    return {
        "tag": f"{release['registry']}/{release['repository']}:{release['tag']}",
        "tags": release["tags"],
        "digest": release["digest"],
        "simulated": release["simulated"],
        "pushed": release["pushed"][:10],
        "commit": release["commit"][:12],
        "sizes": {name: size_text(size) for name, size in _sizes(target).items()},
        "outdated": _outdated(target["components"], release["components"]),
        "packages": {
            kind: pool.packages(versions)
            for kind, versions in {
                "components": release["components"],
                **release["packages"],
            }.items()
        },
        "since": changes["since"],
        "changes": [
            *(("added", f"{name} {version}") for name, version in changes["added"].items()),
            *(("removed", f"{name} {version}") for name, version in changes["removed"].items()),
            *(("changed", f"{name} {a} → {b}") for name, (a, b) in changes["changed"].items()),
        ],
    }


def _outdated(wanted: Mapping[str, str], released: Mapping[str, str]) -> list[str]:
    """The components in which the released image differs from the matrix, as it has them."""
    names = dict.fromkeys([*released, *wanted])
    return [
        f"{_NAMES.get(name, name)} {released.get(name) or '-'}"
        for name in names
        if released.get(name, "") != wanted.get(name, "")
    ]
