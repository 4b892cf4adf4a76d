# SPDX-License-Identifier: Apache-2.0
"""Builds with BuildKit through ``docker buildx bake``, because the docker SDK cannot use BuildKit.

Many images are one call, which continues if some of them fail.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from cannery.common.errors import BuildError, EngineError, Problem
from cannery.common.files import write_files
from cannery.common.package_index import PackageIndex
from cannery.common.process import stream
from cannery.engine import client as engine
from cannery.engine.builder import Builder, progress_mode
from cannery.image.bake_events import Event, EventKind, Events, short
from cannery.image.bake_file import (
    Caches,
    ImageBuild,
    bake_file,
    bake_names,
    build_variables,
    cache_variables,
    stage_file,
)
from cannery.image.vendor_image import FACTS, FACTS_STAGE, VendorFacts

ENVIRONMENT = {
    # Newer versions need permission to read outside of the current folder.
    "BUILDX_BAKE_ENTITLEMENTS_FS": "0",
    "BUILDX_NO_DEFAULT_ATTESTATIONS": "1",
    # Only what has an output becomes an image.
    "BUILDX_NO_DEFAULT_LOAD": "1",
}
"""Is added to the environment of bake."""

_EXPORTS = ("exporting to ", "importing to ")
"""The beginning of the steps after which the engine may have the image."""

_TAIL = 25
"""The number of last lines of a target that are searched for the reason of a failure."""

_HINTS = (
    ("no space left on device", "The engine's disk is full: 'docker system df' shows its use."),
    ("i/o error", "The engine's disk is full or broken: 'docker system df' shows its use."),
    (
        "E: Failed to fetch .*40[13] ",
        "The mirror of apt refuses the login, or misses it: put it into CANNERY_APT_MIRROR.",
    ),
    (
        "40[13] (Unauthorized|Forbidden|Client Error)|valid authentication credentials",
        "The package index refuses the login, or misses it: put it into CANNERY_INDEX_URL.",
    ),
    (
        "407 Proxy|proxy auth",
        "The proxy refuses the login, or misses it: put it into CANNERY_PROXY.",
    ),
    # Debian's package ca-certificates is named in many steps.
    ("(?<!ca-)certificate", "A certificate is not trusted: name your own CA file with --ca."),
    (
        "rpc error: code = Unavailable|ERROR: Unavailable:",
        "The connection to the engine was lost: check that it runs, and build again.",
    ),
)
"""Matches the output of a build that failed, and what to do; the first that is in it."""

_REASON = re.compile(r"ERROR|error:|\bcause:|Caused by:|I/O error|\bE: Failed to fetch")
"""Matches the lines with the reason of a failure; uv writes the causes of an error below it.

All that dash says of a full disk is "echo: I/O error".
"""

REPEATED = re.compile(r"ERROR: (?:failed to build: )?failed to (?:solve|run Build function): ")
"""The beginning of the line in which buildx repeats the error of a step.

It is "run Build function" if the engine takes more than five seconds to end the build.
"""

_EXCERPT = re.compile(r"\s*[0-9]+ \| ")
"""Begins the lines of the Dockerfile that buildx repeats below a failure, which hold no reason."""


_LOST = "no active sessions"
"""BuildKit's error if a step that targets share asks for a secret after the end of its target."""


@dataclass(frozen=True, kw_only=True)
class BakeSettings:
    """The settings of all builds of a run; ``logs`` is the folder of their logs."""

    builder: Builder
    source: PackageIndex
    caches: Caches
    logs: Path


Heard = Callable[[str, Event, tuple[int, int]], None]
"""Is called with the id of a target, an event, and the numbers of finished and of known steps."""

Built = Callable[[str, str], None]
"""Is called with the ids of a target and of its image, once the engine has the image."""

Failures = Mapping[str, BuildError | EngineError]


def bake(
    builds: Sequence[ImageBuild], settings: BakeSettings, heard: Heard, built: Built
) -> Failures:
    """Build all of ``builds``, also if some of them fail.

    Returns the failures. A target whose session BuildKit has lost is built once more. ``built`` is
    called for an image as soon as the engine has it, if buildx reports that; such a target can
    still fail if its cache cannot be written.
    """
    mode = progress_mode()
    failures: dict[str, BuildError | EngineError] = {}
    images: set[str] = set()
    begun: set[str] = set()
    again: set[str] = set()
    waiting = [list(builds)]
    while waiting:
        group = waiting.pop()
        with ExitStack() as stack:
            run = _BakeCall(group, settings, heard, built, images, mode)
            run.open_logs(stack, begun)
            failed = run.execute()
        begun |= {build.id for build in group}
        lost = run.lost - again
        again |= lost
        failed = {name: error for name, error in failed.items() if name not in lost}
        failures |= failed
        if not run.stopped:
            continue
        # With a cache to write, a target is built again even if its image exists.
        finished = failed.keys() | (set() if settings.caches.destinations else images)
        left = [build for build in group if build.id not in finished]
        # bake stops all targets when one fails. If that one is unknown, each is built alone.
        if left:
            waiting += [left] if failed else [[build] for build in reversed(left)]
    return failures


@dataclass
class _BakeCall:
    """One call of bake.

    ``images`` are the targets whose image was reported, in any call, and ``lost`` those whose
    session BuildKit has lost.
    """

    builds: list[ImageBuild]
    settings: BakeSettings
    heard: Heard
    built: Built
    images: set[str]
    mode: str
    lost: set[str] = field(default_factory=set)
    _logs: dict[str, IO[str]] = field(default_factory=dict)
    _tails: dict[str, deque[str]] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _wrote: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        names = bake_names(build.id for build in self.builds)
        self._ids = {name: target for target, name in names.items()}
        self._events = Events(self._ids)
        self._tails = {build.id: deque(maxlen=_TAIL) for build in self.builds}
        self._code = 0

    def log(self, target: str) -> Path:
        return self.settings.logs / f"{target}.log"

    def open_logs(self, stack: ExitStack, begun: set[str]) -> None:
        """Open a log for each target; those in ``begun`` are continued."""
        self.settings.logs.mkdir(parents=True, exist_ok=True)
        for build in self.builds:
            mode = "a" if build.id in begun else "w"
            self._logs[build.id] = stack.enter_context(
                self.log(build.id).open(mode, encoding="utf-8", buffering=1)
            )

    @property
    def stopped(self) -> bool:
        """Whether bake failed."""
        return bool(self._code)

    def execute(self) -> Failures:
        """Build, and return the failures."""
        settings = self.settings
        with tempfile.TemporaryDirectory(prefix="cannery-bake-") as folder:
            metadata = Path(folder) / "metadata.json"
            text = bake_file(self.builds, settings.caches, settings.source)
            argv = _argv(settings, Path(folder), text, self.mode)
            secret = build_variables(settings.source) | cache_variables(settings.caches)
            argv += ["--metadata-file", str(metadata)]
            self._code = stream(argv, self._line, {**ENVIRONMENT, **secret})
            if not self._code:
                return self._without_image(json.loads(metadata.read_text(encoding="utf-8")))
        # If bake had only one target, that one has failed.
        failed = self._failed or (set(self._tails) if len(self._tails) == 1 else set())
        return {
            target: _failure(target, self._code, self._tails[target], self.log(target))
            for target in sorted(failed)
        }

    def _without_image(self, metadata: Mapping[str, Any]) -> Failures:
        """Look for the images that buildx has not reported during the build."""
        failures: dict[str, BuildError | EngineError] = {}
        for name, target in self._ids.items():
            written = metadata.get(name, {})
            digests = [written.get(f"containerimage.{key}") for key in ("config.digest", "digest")]
            self._report(target, [digest for digest in digests if digest])
            if target not in self.images:
                what = f"{target}: it was built, but the engine does not have the image."
                failures[target] = EngineError(what)
        return failures

    def _report(self, target: str, digests: Sequence[str]) -> None:
        """Report the image of ``target``, once, if the engine has it by one of ``digests``."""
        # The engine's two image stores use different digests.
        if target not in self.images and (
            image := next(filter(None, map(engine.image_id, digests)), "")
        ):
            self.images.add(target)
            self.built(target, image)

    def _line(self, line: str) -> None:
        redacted = self.settings.source.redacted
        if self.mode == "plain":
            self._say([*self._tails], redacted(line))
            return
        for raw in self._events.feed(line):
            event = replace(raw, step=redacted(raw.step), text=redacted(raw.text))
            if not event.target:
                self._say([*self._tails], event.text)
                continue
            target = self._ids[event.target]
            if event.kind is EventKind.WROTE:
                self._wrote[target].append(event.text)
                continue
            self._note(target, event)
            self.heard(target, event, self._events.steps(event.target))
            if event.kind is EventKind.DONE and event.step.startswith(_EXPORTS):
                self._report(target, self._wrote[target])

    def _note(self, target: str, event: Event) -> None:
        name = short(event.step)
        if event.kind is EventKind.OUTPUT:
            self._say([target], event.text, f"{name} | ")
        elif event.kind is EventKind.FAILED:
            self._failed.add(target)
            if _LOST in event.text:
                self.lost.add(target)
            self._say([target], f"{event.step}\nERROR: {event.text}\n")
        elif event.kind is EventKind.STARTED:
            self._logs[target].write(f"{event.step}\n")
        else:
            self._logs[target].write(f"{name}: {event.kind} ({event.seconds:.1f} s)\n")

    def _say(self, targets: Sequence[str], text: str, prefix: str = "") -> None:
        """Write output into the logs, and remember it without ``prefix``."""
        lines = [line + "\n" for line in text.splitlines()]
        for target in targets:
            self._logs[target].writelines(prefix + line for line in lines)
            self._tails[target].extend(line for line in lines if not _EXCERPT.match(line))


def _argv(settings: BakeSettings, folder: Path, text: str, mode: str) -> list[str]:
    """The command that builds by the bake file ``text``, which is written into ``folder``."""
    file = folder / "bake.json"
    file.write_text(text, encoding="utf-8")
    argv = ["docker", "buildx", "bake", "--builder", settings.builder.name]
    return [*argv, "--progress", mode, "--file", str(file)]


def write_stage(build: ImageBuild, stage: str, folder: Path, settings: BakeSettings) -> None:
    """Write the files of a stage of ``build`` into ``folder``; "" is the last stage."""
    log, source = settings.logs / f"{build.id}.log", settings.source
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=_TAIL)
    with (
        tempfile.TemporaryDirectory(prefix="cannery-bake-") as inputs,
        log.open("w", encoding="utf-8") as output,
    ):

        def heard(line: str) -> None:
            line = source.redacted(line)
            output.write(line)
            if not _EXCERPT.match(line):
                tail.append(line)

        text = stage_file(build, (stage, folder), source)
        secret = build_variables(source)
        argv = _argv(settings, Path(inputs), text, "plain")
        code = stream(argv, heard, {**ENVIRONMENT, **secret})
    if code:
        raise _failure(build.id, code, tail, log)


def stage_texts(build: ImageBuild, stage: str, settings: BakeSettings) -> dict[str, str]:
    """Name to text of the files of a stage of ``build``."""
    with tempfile.TemporaryDirectory(prefix="cannery-stage-") as folder:
        write_stage(build, stage, Path(folder) / stage, settings)
        files = sorted((Path(folder) / stage).iterdir())
        return {file.name: file.read_text(encoding="utf-8") for file in files}


def read_facts(
    build: ImageBuild, reference: str, settings: BakeSettings, kept: Path
) -> VendorFacts:
    """The facts about the image ``reference``, which is pulled for them.

    ``build`` is that of an image that takes CANN out of it. The facts are kept in the file
    ``kept``, because the content of a digest never changes.
    """
    with suppress(OSError, ValueError, TypeError):
        return VendorFacts.parse(kept.read_text(encoding="utf-8"))
    text = stage_texts(build, FACTS_STAGE, settings).get(FACTS, "")
    try:
        facts = VendorFacts.parse(text)
    except (ValueError, TypeError) as error:
        raise BuildError(f"{build.id}: {reference} cannot be read: {error}.") from error
    write_files({kept: text})
    return facts


def _failure(target: str, code: int, tail: Iterable[str], log: Path) -> BuildError:
    """The error of a build that ended with the lines ``tail``; ``log`` has the whole output."""
    lines = [REPEATED.sub("ERROR: ", line) for line in tail]
    text = "".join(lines)
    # Steps run programs of all kinds, so only their texts can be searched. This only adds a hint.
    hints = (f"{hint} " for words, hint in _HINTS if re.search(words, text, re.IGNORECASE))
    fix = f"{next(hints, '')}The whole log is in {log}."
    errors = [line for line in lines if _REASON.search(line)] or lines[-5:]
    reason = "".join(dict.fromkeys(errors)).rstrip()
    return BuildError(Problem(what=f"{target}: the build failed ({code}).\n{reason}\n", fix=fix))
