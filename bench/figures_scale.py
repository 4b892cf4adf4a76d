# SPDX-License-Identifier: Apache-2.0
"""Figure (m): commands with 1,000 targets, and ``prune`` with 10,000 tags. No engine is needed.

The times are those of the processor, because a command that takes a minute shares the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from bench import checkout
from bench.figures_text import exponent
from bench.registry import registry
from bench.result import Figure, Series
from cannery.common import console
from cannery.common.errors import CanneryError
from cannery.common.references import parse_reference
from cannery.image.render import NAMESPACE
from cannery.matrix.project import Project
from cannery.publish.policy import load
from cannery.registry.client import Repository
from cannery.registry.oci import Descriptor, Document, digest_of

SIZES = (10, 300, 1000)
"""Approximate numbers of targets."""

TAGS = (1000, 3000, 10000)

COMMANDS = {
    "plan": ("--all", "--simulate", "--plan"),
    "shard": ("--all", "--simulate", "--plan", "--shard", "1/8"),
    "ci": ("ci", "--format", "github", "--simulate", "--shards", "8"),
    "catalog": ("catalog", "--out", "site"),
}

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = Descriptor(
    media_type="application/vnd.oci.image.config.v1+json", digest=digest_of(b"{}"), size=2
)


@dataclass(frozen=True, kw_only=True)
class Used:
    """What a process used: seconds of the processor, and bytes of memory at most."""

    seconds: float
    memory: int


def used(project: Project, words: Iterable[str]) -> Used:
    """Run build.py in the checkout of ``project``.

    Raises:
        CanneryError: it failed.
    """
    argv = [sys.executable, str(project.root / "build.py"), *words]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv, cwd=project.root, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            text = said.read().decode(errors="replace")[-2000:]
            raise CanneryError(f"'{' '.join(argv)}' failed ({process.returncode}): {text}")
    return Used(seconds=usage.ru_utime + usage.ru_stime, memory=usage.ru_maxrss * 1024)


def commands(project: Project) -> list[Figure]:
    """Time, memory and growth of the commands that look at all targets."""
    count = len(project.matrix().targets)
    measured: dict[str, dict[int, Used]] = {name: {} for name in COMMANDS}
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as folder:
        for times in checkout.factors(count, SIZES):
            copy = checkout.copied(project, Path(folder) / str(times))
            targets = checkout.grow(copy, times) if times > 1 else count
            for name, words in COMMANDS.items():
                console.say(f"measuring build.py {name} with {targets} targets")
                measured[name][targets] = used(copy, words)
    return [
        figure
        for name, found in measured.items()
        for figure in _figures(f"scale-{name}", f"build.py {name}", "targets", found)
    ]


def prune(project: Project) -> list[Figure]:
    """Time, memory and growth of ``build.py prune``, in a registry on this machine."""
    measured = {}
    with tempfile.TemporaryDirectory(prefix="bench-tags-") as folder, registry(Path(folder)) as own:
        publishing = load(project.publish_file, project.matrix())
        place = parse_reference(own.address, repository=publishing.repository)
        repository = Repository(place.registry, place.repository)
        repository.put_blob(_CONFIG, lambda: BytesIO(b"{}"))
        for first, last in zip((0, *TAGS), TAGS, strict=False):
            console.say(f"measuring build.py prune with {last} tags")
            for number in range(first, last):
                repository.put_manifest(f"t{number}", _image(number))
            measured[last] = used(project, ("prune", "--registry", own.address))
    return [*_figures("scale-prune", "build.py prune", "tags", measured)]


def _image(number: int) -> Document:
    own = {
        f"{NAMESPACE}.target": f"target{number % 1000}",
        "org.opencontainers.image.created": f"2026-01-01T{number // 3600:02}:00:00Z",
        "number": str(number),
    }
    fields = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": _CONFIG.to_json(), "layers": []}
    content = json.dumps({**fields, "annotations": own})
    return Document(media_type=_MANIFEST, content=content.encode())


def _figures(key: str, title: str, what: str, measured: Mapping[int, Used]) -> Iterator[Figure]:
    most = max(measured)
    seconds = {size: found.seconds for size, found in measured.items()}
    memory = {size: float(found.memory) for size, found in measured.items()}
    full = f"{title} with {most} {what}"
    process = "one process"
    yield Figure(
        key=key,
        title=f"{full}: time of the processor",
        unit="s",
        ours=Series(what=process, samples=(seconds[most],)),
        detail={"seconds": {str(size): round(each, 2) for size, each in seconds.items()}},
    )
    yield Figure(
        key=f"{key}-memory",
        title=f"{full}: peak memory",
        unit="bytes",
        ours=Series(what=process, samples=(memory[most],)),
        detail={"bytes": {str(size): round(each) for size, each in memory.items()}},
    )
    for suffix, of, values in (("", "time", seconds), ("-memory", "memory", memory)):
        yield Figure(
            key=f"{key}{suffix}-growth",
            title=f"{title}: growth of the {of} up to {most} {what} (1 is linear)",
            unit="exponent",
            ours=Series(what="fitted exponent", samples=(exponent(values),)),
        )
