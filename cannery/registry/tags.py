# SPDX-License-Identifier: Apache-2.0
"""Moves tags all or none: if one cannot be moved, those that were moved are put back."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread

from cannery.common import console
from cannery.common.errors import CanneryError, Problem, PublishError
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import Document

_ASK = "Find out who moved it, then push again."

UNMOVED = "This run moved no tag."
"""The last line of a failure before any tag was moved."""


def _changed(tag: str, sent: Document, stored: str) -> Problem:
    what = f"{tag} was set to {sent.digest}, and the registry has stored {stored}"
    fix = "Look for what changes the bytes on the way there, such as a proxy; then try again."
    return Problem(what=f"{what}: the bytes were changed on the way.", fix=fix)


@dataclass(frozen=True, kw_only=True)
class TagMove:
    """A tag to point at ``after``; ``before`` is what it named at first, None for a new tag."""

    tag: str
    before: Document | None
    after: Document

    @property
    def needed(self) -> bool:
        """False if the tag names ``after`` already."""
        return self.before is None or self.before.digest != self.after.digest


def read_tags(repository: Repository, tags: Iterable[str]) -> dict[str, Document]:
    """The manifest that each existing one of ``tags`` names now, so that it can be put back."""
    documents = {tag: repository.manifest(tag) for tag in dict.fromkeys(tags)}
    return {tag: document for tag, document in documents.items() if document}


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended."""
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

    ``new`` are the digests that this run has uploaded. If a registry cannot delete a single tag,
    only these may be deleted, which removes all of their tags.
    """

    repository: Repository
    new: frozenset[str] = frozenset()
    _tried: list[TagMove] = field(default_factory=list)
    _stored: dict[str, str] = field(default_factory=dict)
    """Tag to the digest that the registry has stored under it."""

    def move(self, moves: Sequence[TagMove]) -> None:
        """Do all of ``moves``, in their order, or none.

        The last problem of an error says what state the tags are in; for an error that is not ours,
        as KeyboardInterrupt, that state is printed.
        """
        try:
            for move in moves:
                if move.needed:
                    self._move(move)
            for move in moves:
                self._check(move)
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
                f"{self.repository.at(move.tag)} named {before or 'nothing'} at first and names "
                f"{now or 'nothing'} now: somebody else has moved it."
            )
            raise PublishError(Problem(what=what, fix=_ASK))
        self._tried.append(move)
        stored = self._stored[move.tag] = self.repository.put_manifest(move.tag, move.after)
        if stored != move.after.digest:
            raise RegistryError(_changed(self.repository.at(move.tag), move.after, stored))
        console.say(f"{self.repository.at(move.tag)} names {move.after.digest}")

    def _check(self, move: TagMove) -> None:
        now = self.repository.resolve(move.tag)
        if now != move.after.digest:
            what = (
                f"{self.repository.at(move.tag)} was set to {move.after.digest} but names "
                f"{now or 'nothing'}: somebody else has moved it, or the registry keeps tags fixed."
            )
            raise PublishError(Problem(what=what, fix=_ASK))

    def _put_back(self) -> str:
        """Undo the moves, and return a description of the state of all tags."""
        left: list[str] = []
        gone: RegistryError | None = None
        # New tags come last, because deleting one may delete its digest with other tags of it.
        for move in sorted(self._tried, key=lambda move: move.before is None):
            try:
                if gone:
                    # Nobody can interrupt this, so it does not wait for the registry again.
                    raise gone
                left += self._put_one_back(move)
            except RegistryError as error:
                gone = None if error.status else error
                left.append(f"{self._doubt(move)} ({str(error).splitlines()[0]})")
        if left:
            return "Some tags could not be put back:\n  " + "\n  ".join(left)
        if not self._tried:
            return UNMOVED
        names = ", ".join(self.repository.at(move.tag) for move in self._tried)
        return f"Every moved tag was put back: {names}."

    def _doubt(self, move: TagMove) -> str:
        """The possible state of a tag that could not be read again, and how to mend it."""
        tag, after = self.repository.at(move.tag), move.after.digest
        if not move.before:
            return f"{tag} is new and may name {after}"
        old = self.repository.at(move.before.digest)
        mend = f"python build.py promote {old} {tag} --allow unrecorded"
        return f"{tag} named {move.before.digest} and may name {after} now; to put it back: {mend}"

    def _put_one_back(self, move: TagMove) -> list[str]:
        now = self.repository.resolve(move.tag)
        if now not in (move.after.digest, self._stored.get(move.tag)):
            return []
        if move.before:
            stored = self.repository.put_manifest(move.tag, move.before)
            changed = _changed(self.repository.at(move.tag), move.before, stored)
            return [] if stored == move.before.digest else [str(changed)]
        if self.repository.delete(move.tag):
            return []
        # Nobody else has the bytes that were changed on their way from here.
        if (now in self.new or now != move.after.digest) and self.repository.delete(now):
            return []
        tag = self.repository.at(move.tag)
        state = f"{tag} is new and names {now}: this registry does not delete tags."
        return [f"{state} The image is complete and tested; the next push uses it as it is."]
