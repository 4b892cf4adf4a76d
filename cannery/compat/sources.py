# SPDX-License-Identifier: Apache-2.0
"""Sources, and rows that cite them: what all rows of compat.yaml have in common."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from cannery.common.errors import Span, did_you_mean
from cannery.common.models import MistakesError, Model, Parsed, raise_mistakes
from cannery.compat import values

OWN_ROWS = "compat.yaml"
"""The file of a project, beside its matrix.yaml, with rows that are added to ours."""


class Kind(StrEnum):
    """What it means that something is missing from a source."""

    MAKER = "maker"
    """Complete: what it leaves out is not made."""
    PROJECT = "project"
    """Complete only for what that project does."""
    REPORT = "report"
    """One environment that somebody ran."""


class Source(Model):
    """Who says something. ``rank`` 1 is believed first; ``date`` is YYYY, YYYY-MM or a day.

    ``address`` is where it can be read, without a scheme; "" where it is not on the network.
    ``state_of`` is the source that has an earlier state of the same document. ``read`` is the day
    on which a document that changes was read.
    """

    name: SkipJsonSchema[str] = Field(default="", alias=":name")  # the key, which :name cannot be
    rank: values.Rank
    kind: Kind
    date: values.Date
    cite: str
    about: str = ""
    address: values.Address = ""
    state_of: str = ""
    read: values.Day = ""

    @property
    def read_at(self) -> Span | None:
        """The place of ``read`` in the file."""
        return self.place("read")

    @property
    def is_own(self) -> bool:
        """Whether a project has it, and not cannery."""
        return (place := self.place()) is not None and place.file == OWN_ROWS

    @property
    def document(self) -> str:
        """What all states of one document have in common."""
        return self.state_of or self.name

    def __str__(self) -> str:
        return f"{self.cite}, {self.date}"


def _cite(names: tuple[str, ...], info: ValidationInfo) -> tuple[Source, ...]:
    """The sources called ``names``, the best one first; without those that could not be read."""
    context = info.context or {}
    raise_mistakes(
        ((number,), f"there is no source {name!r}.", did_you_mean(name, context["names"]))
        for number, name in enumerate(names)
        if name not in context["names"]
    )
    context["cited"] |= {*names}
    sources = context.get("sources", {})
    return tuple(sorted((sources[name] for name in names if sources), key=lambda s: s.rank))


Cited = Annotated[tuple[Source, ...], Parsed(_cite, of=values.Names, info=True)]


class Row(Model):
    """One row, with its sources, the best one first.

    Two rows are never the same row, even if they say the same. ``absent``: it is about what
    something lacks, as a wheel of an index, and a source of it has the day on which it was read.
    """

    sources: Cited = Field(alias="source")
    note: str = ""
    absent: bool = False

    @model_validator(mode="after")
    def _was_read(self) -> Self:
        if self.absent and self.sources and not any(source.read for source in self.sources):
            what = "what is absent now may come: none of these sources has a day of reading."
            raise MistakesError([(("source",), what, "Give one of them 'read', as 2026-11-28.")])
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def line(self) -> int:
        """Its line in compat.yaml, counted from 1."""
        # Rows are sorted by it, and a place takes ten times as long.
        return self._map.mark.line + 1 if self._map is not None else 0

    @property
    def says(self) -> str:
        """The rest of it as it is written, without the note."""
        return ", ".join(
            f"{key}: {_flat(value)}"
            for key, value in (self._map or {}).items()
            if key not in ("source", "note")
        )

    @property
    def rank(self) -> int:
        """The rank of its best source."""
        return self.sources[0].rank

    @property
    def is_makers(self) -> bool:
        """Whether a source that is complete says it."""
        return any(source.kind is Kind.MAKER for source in self.sources)

    @property
    def cited(self) -> str:
        """Every source with its date, and the line; with ``./`` in the project's own file."""
        named = "; ".join(str(source) for source in self.sources)
        is_own = self._map is not None and self._map.mark.name == OWN_ROWS
        return f"{named}, {'./' if is_own else ''}compat.yaml:{self.line}"


R = TypeVar("R", bound=Row)


def _different(rows: tuple[R, ...]) -> tuple[R, ...]:
    lines: dict[tuple[object, ...], int] = {}
    raise_mistakes(
        ((number,), f"this says the same as the row in line {first}.", "Remove one of them.")
        for number, row in enumerate(rows)
        if (first := lines.setdefault(_content(row), row.line)) != row.line
    )
    return rows


def _content(row: Row) -> tuple[object, ...]:
    return *sorted(row.says.split(", ")), row.note, *(source.name for source in row.sources)


Rows = Annotated[tuple[R, ...], AfterValidator(_different)]


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_flat, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def named(
    written: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> dict[str, Source]:
    """Sources that know their names; rows find them in ``info.context``.

    Those of ``info.context["ours"]``, rows that these are added to, can be cited, too.
    """
    context = info.context if info.context is not None else {}
    known: Mapping[str, Source] = context["ours"].sources if "ours" in context else {}
    names = [*known, *(written if isinstance(written, dict) else ())]
    context |= {"names": names, "cited": set()}
    read: dict[str, Source] = handler(written)
    mistakes = [
        ((name, "state_of"), f"there is no source {each.state_of!r}.", hint)
        for name, each in read.items()
        if each.state_of and each.state_of not in names
        for hint in [did_you_mean(each.state_of, names)]
    ]
    what, fix = "cannery has a source of this name.", "Cite it as it is, or choose another name."
    raise_mistakes([*mistakes, *(((name,), what, fix) for name in read if name in known)])
    own = {name: each.model_copy(update={"name": name}) for name, each in read.items()}
    context["sources"] = {**known, **own}
    return own
