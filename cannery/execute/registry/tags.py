# SPDX-License-Identifier: Apache-2.0
"""Moves tags all or none: what was moved is put back when the next one cannot be."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread

from cannery import console
from cannery.errors import CanneryError, Problem, PublishError
from cannery.execute.registry.client import Repository
from cannery.execute.registry.http import RegistryError
from cannery.publish.oci import Document

UNMOVED = "No tag was moved."
"""How a failure ends that came before the tags."""


@dataclass(frozen=True, kw_only=True)
class TagMove:
    """A tag that is to name ``after``. ``before`` is what it named when this began, if it did."""

    tag: str
    before: Document | None
    after: Document

    @property
    def needed(self) -> bool:
        return self.before is None or self.before.digest != self.after.digest


def read_tags(repository: Repository, tags: Iterable[str]) -> dict[str, Document]:
    """What each of ``tags`` that there is names now, whole, so that it can be put back.

    Raises:
        RegistryError: the registry does not say.
    """
    found = {tag: repository.manifest(tag) for tag in dict.fromkeys(tags)}
    return {tag: document for tag, document in found.items() if document}


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C until the block has ended."""
    signals = {signal.SIGINT, signal.SIGTERM}
    if current_thread() is not main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class TagMover:
    """Moves the tags of one repository.

    ``new`` are the digests that were not there before this run brought them: where a registry
    deletes no single tag, only those may be deleted with all of their tags.
    """

    repository: Repository
    new: frozenset[str] = frozenset()
    _tried: list[TagMove] = field(default_factory=list)

    def move(self, moves: Sequence[TagMove]) -> None:
        """Do all of ``moves``, in their order, or none.

        Raises:
            PublishError: somebody else has moved one of the tags meanwhile.
            CanneryError: one could not be moved; its last problem says how everything is now.
            KeyboardInterrupt: likewise, after saying so.
        """
        try:
            for each in moves:
                if each.needed:
                    self._move(each)
            for each in moves:
                self._check(each)
        except BaseException as error:
            with uninterrupted():
                state = self._put_back()
            if isinstance(error, CanneryError):
                error.problems = (*error.problems, Problem(what=state))
                raise
            console.say(state)
            raise

    def _move(self, move: TagMove) -> None:
        now = self.repository.resolve(move.tag)
        if now == move.after.digest:
            return
        before = move.before.digest if move.before else ""
        if now != before:
            what = (
                f"{self.repository.at(move.tag)} named {before or 'nothing'} when this began, and "
                f"names {now or 'nothing'} now: somebody else has moved it."
            )
            raise PublishError(Problem(what=what, fix="Find out who, then push again."))
        self._tried.append(move)
        self.repository.put_manifest(move.tag, move.after)
        console.say(f"{self.repository.at(move.tag)} is {move.after.digest}")

    def _check(self, move: TagMove) -> None:
        now = self.repository.resolve(move.tag)
        if now != move.after.digest:
            what = (
                f"{self.repository.at(move.tag)} was set to {move.after.digest}, and names "
                f"{now or 'nothing'}: somebody else has moved it, or the registry allows no change."
            )
            raise PublishError(Problem(what=what, fix="Find out who, then push again."))

    def _put_back(self) -> str:
        """Undo what was done, and say how everything is now."""
        left: list[str] = []
        gone: RegistryError | None = None
        # What has to be deleted comes last: it may take everything with it that names a digest.
        for each in sorted(self._tried, key=lambda move: move.before is None):
            try:
                if gone:
                    # It is not waited for again with each tag, since nobody can interrupt this.
                    raise gone
                left += self._put_one_back(each)
            except RegistryError as error:
                gone = None if error.status else error
                left.append(f"{self._doubt(each)} ({str(error).splitlines()[0]})")
        if left:
            return "Not everything could be put back:\n  " + "\n  ".join(left)
        if not self._tried:
            return UNMOVED
        names = ", ".join(self.repository.at(each.tag) for each in self._tried)
        return f"Every tag that had been moved was put back: {names}."

    def _doubt(self, move: TagMove) -> str:
        """What is known of a tag that could not be looked at again, and what mends it."""
        tag, after = self.repository.at(move.tag), move.after.digest
        if not move.before:
            return f"{tag} is new, and may name {after}"
        old = self.repository.at(move.before.digest)
        mend = f"python build.py promote {old} {tag} --allow unrecorded"
        return f"{tag} named {move.before.digest}, and may name {after} now; to put it back: {mend}"

    def _put_one_back(self, move: TagMove) -> list[str]:
        now = self.repository.resolve(move.tag)
        if now != move.after.digest:
            return []
        if move.before:
            self.repository.put_manifest(move.tag, move.before)
            return []
        if self.repository.delete(move.tag):
            return []
        if now in self.new and self.repository.delete(now):
            return []
        tag = self.repository.at(move.tag)
        said = f"{tag} is new and names {now}: this registry lets nobody delete a tag."
        return [f"{said} The image is whole and tested; the next push takes it as it is."]
