# SPDX-License-Identifier: Apache-2.0
"""Faults at random over the commands that use an engine or a registry.

A case is a command and what happens to it. Afterwards everything is well again, and the same
command must succeed.
"""

from __future__ import annotations

import re
import shutil
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from tests.campaigns import FAILURE, CaseVerdict
from tests.faults.commands import COMMANDS, REPOSITORY, Command
from tests.faults.kinds import KINDS, Kind
from tests.faults.local_faults import Fault
from tests.faults.site import IMAGE, Ended, Running, Site
from tests.faults.state import (
    containers,
    half_written,
    image_id,
    left_over,
    mounts,
    networks,
    orphans,
    remove_broken_tags,
    tags_of,
    wrong_in_registry,
)

_OWN = "build.py: "
"""The beginning of a message of the command line."""

_PROGRAM = re.compile(r"/cannery/|^build\.py: |^\[ ", re.MULTILINE)
"""Is in what a run says once the program has begun, and in its tracebacks."""

_MOVED = "Some tags could not be put back"
"""What a command says that could not undo what it did, because the registry was gone."""


class Outcome(StrEnum):
    """What became of a command; of each, the same command then succeeded."""

    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    STOPPED = "stopped"
    PARTLY = "tags partly moved"
    FAILURE = FAILURE


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case; its number and the campaign's seed make it again."""

    number: int
    kind: str
    command: str
    moment: float
    seed: str

    @property
    def title(self) -> str:
        return f"case {self.number} ({self.kind}; {self.command})"


def make_case(seed: int, number: int) -> Case:
    """The case ``number``; the same number gives the same case."""
    random = Random(f"{seed}:{number}")
    names = [*KINDS]
    [kind] = random.choices(names, [KINDS[name].share for name in names])
    kind = names[number] if number < len(names) else kind
    commands = KINDS[kind].commands
    [command] = random.choices(commands, [COMMANDS[name].share for name in commands])
    return Case(
        number=number,
        kind=kind,
        command=command,
        moment=random.random(),
        seed=f"{seed}:{number}:fault",
    )


@dataclass(kw_only=True)
class _Before:
    """What must stay as it is if the command fails."""

    image: str
    tags: dict[str, str]
    mounts: list[str]
    networks: list[str]
    containers: list[str]
    """Those of the run that was killed."""


@dataclass(kw_only=True)
class _Trial:
    """One case on its way."""

    site: Site
    case: Case
    before: _Before | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def command(self) -> Command:
        return COMMANDS[self.case.command]

    @property
    def kind(self) -> Kind:
        return KINDS[self.case.kind]

    def run(self) -> CaseVerdict:
        """Let the fault happen, and the command succeed afterwards."""
        random = Random(self.case.seed)
        self.site.command = self.case.command
        self.command.prepare(self.site, random)
        _empty_tmp(self.site)
        words = self.command.words(self.site)
        with self.kind.begin(self.site, random) as fault:
            self.before = self._state()
            fault.commands = words
            running = self.site.start(*words)
            if fault.strike:
                self._strike(fault, running)
            ended = running.wait()
            others = [each.wait() for each in fault.others]
        self.problems += [f"process: {each}" for each in orphans(self.site)]
        outcome = self._judge(ended, others)
        for other in others:
            self.problems += self._said_wrong(other)
        self._tidy_after_kill()
        again = self.site.run(*words)
        self._judge_again(again)
        said = f"{ended.code}\n{ended.said}\n" + "".join(f"beside:\n{o.said}\n" for o in others)
        if self.problems:
            why = "\n".join([*self.problems, said, f"again: {again.code}", again.said])
            return CaseVerdict(case=self.case, outcome=Outcome.FAILURE, why=why)
        return CaseVerdict(case=self.case, outcome=outcome, why=said)

    def _strike(self, fault: Fault, running: Running) -> None:
        """Let the fault happen at its moment, unless the command is over by then."""
        end = time.monotonic() + self.case.moment * self.command.seconds
        while time.monotonic() < end and running.process.poll() is None:
            time.sleep(0.01)
        assert fault.strike
        fault.strike(running)

    def _state(self) -> _Before:
        stopped = self.case.kind == "engine stopped"
        return _Before(
            image="" if stopped else image_id(self.site, IMAGE),
            tags=tags_of(self.site, REPOSITORY),
            mounts=mounts(self.site),
            networks=[] if stopped else networks(self.site),
            containers=[] if stopped else containers(self.site),
        )

    def _judge(self, ended: Ended, others: Sequence[Ended]) -> Outcome:
        """What became of the command; whatever is wrong becomes one of the problems."""
        partly = self._is_partly_moved(ended)
        if partly:
            remove_broken_tags(self.site, REPOSITORY)
        self.problems += self._said_wrong(ended)
        self.problems += self._wrong_state()
        if ended.code == 0:
            self.problems += self.command.done(self.site)
            return Outcome.SUCCEEDED
        if not (partly or self._is_done()):
            self.problems += self._changed(others)
        if not self.kind.kills:
            self.problems += [f"left: {each}" for each in left_over(self.site)]
        if partly:
            return Outcome.PARTLY
        return Outcome.STOPPED if self.kind.stops else Outcome.REFUSED

    def _is_done(self) -> bool:
        """Whether the command was stopped when it had done everything."""
        return self.kind.stops and not [*self.command.done(self.site)]

    def _said_wrong(self, ended: Ended) -> Iterator[str]:
        if self.kind.stops and not _PROGRAM.search(ended.said):
            return  # Python itself was still starting
        if "Traceback (most recent call last)" in ended.said or "Fatal Python error" in ended.said:
            yield "traceback"
        if ended.code in (0, -9 if self.kind.kills else 0):
            return
        message = ended.said[ended.said.find(_OWN) :] if _OWN in ended.said else ""
        if not message:
            yield f"no message, exit code {ended.code}"
        elif not re.search(self.kind.cause, ended.said):
            yield f"the message does not name the cause ({self.kind.cause})"
        # A shell shows both as 130. Python ends itself by SIGINT if one came while it compiled.
        if self.kind.stops and ended.code not in (130, -2):
            yield f"exit code {ended.code}"

    def _wrong_state(self) -> Iterator[str]:
        yield from wrong_in_registry(self.site, REPOSITORY)
        yield from half_written(self.site)
        assert self.before
        if (now := mounts(self.site)) != self.before.mounts:
            yield f"mounts: {now}"
        if self.before.networks and (now := networks(self.site)) != self.before.networks:
            yield f"networks: {now}"
        if "engine" not in self.case.kind and not self.kind.kills:
            new = {*containers(self.site)} - {*self.before.containers}
            yield from (f"container: {each}" for each in new)

    def _is_partly_moved(self, ended: Ended) -> bool:
        """Whether tags moved, the registry kept them from being put back, and that was said."""
        assert self.before
        if not self.command.moves or tags_of(self.site, REPOSITORY) == self.before.tags:
            return False
        return self.kind.kills or _MOVED in ended.said

    def _changed(self, others: Sequence[Ended]) -> Iterator[str]:
        """What has changed although the command failed, and no run beside it says so."""
        assert self.before
        said = [each.said for each in others if each.code == 0]
        kept = self.before.image if not (said and self.command.builds) else ""
        if kept and image_id(self.site, IMAGE) != kept:
            yield f"{IMAGE} names another image"
        now = tags_of(self.site, REPOSITORY)
        lost = self.before.tags.keys() - now.keys()
        moved = {
            tag: digest
            for tag, digest in now.items()
            if digest != self.before.tags.get(tag)
            and not any(f":{tag} names {digest}" in each for each in said)
        }
        if lost or moved:
            yield f"tags: {self.before.tags} became {now}"

    def _tidy_after_kill(self) -> None:
        """Nobody can remove the temporary files of a killed run but the next run or the system."""
        if self.kind.kills:
            _empty_tmp(self.site)

    def _judge_again(self, again: Ended) -> None:
        if again.code:
            self.problems.append(f"the same command fails then: {again.code}")
            return
        if "Traceback" in again.said:
            self.problems.append("traceback of the same command")
        self.problems += self.command.done(self.site)
        self.problems += [f"then: {each}" for each in self._wrong_state()]
        self.problems += [f"container left: {each}" for each in containers(self.site)]
        self.problems += [f"left then: {each}" for each in left_over(self.site)]


class Campaign:
    """Runs cases at ``site``."""

    def __init__(self, site: Site, seed: int) -> None:
        self.seed = seed
        self._site = site

    def run(self, numbers: Iterable[int]) -> Iterator[CaseVerdict]:
        """Every case in ``numbers`` with its outcome."""
        for number in numbers:
            yield self.judge(make_case(self.seed, number))

    def judge(self, case: Case) -> CaseVerdict:
        """What becomes of ``case``."""
        try:
            return _Trial(site=self._site, case=case).run()
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            return CaseVerdict(case=case, outcome=Outcome.FAILURE, why=traceback.format_exc())
        finally:
            self._repair(case)

    def _repair(self, case: Case) -> None:
        """Leave the place as the next case expects it, whatever this one has done."""
        site = self._site
        site.line.faults.clear()
        site.line.seen.clear()
        shutil.rmtree(site.folder / "logs")
        (site.folder / "logs").mkdir()
        _empty_tmp(site)
        if case.number % 10 == 9:
            site.engine.docker("image", "prune", "--force")
            site.engine.docker("builder", "prune", "--force", "--all")


def _empty_tmp(site: Site) -> None:
    """Remove the temporary files of a killed run, which only the system removes."""
    for path in (site.folder / "tmp").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
