# SPDX-License-Identifier: Apache-2.0
"""Makes pydantic models of YAML and TOML files; every problem has its place in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from cannery import __version__
from cannery.common import documents
from cannery.common.documents import Key, Map, Steps
from cannery.common.errors import MatrixError, Problem, Span, did_you_mean
from cannery.common.outside import parse_toml

T = TypeVar("T")
_M = TypeVar("_M", bound=BaseModel)

_AT = re.compile(r" *\(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)")


class Model(BaseModel):  # noqa: PLW1641 (pydantic adds __hash__)
    """A mapping with certain keys. ``place`` is where it or one of its values was written."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,
        str_strip_whitespace=True,
        str_min_length=1,
    )
    _map: Map | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _with_places(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        model = handler(data)
        if isinstance(data, Map):
            model._map = data  # noqa: SLF001
        return model

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def place(self, *path: Key) -> Span | None:
        return self._map.place(*path) if self._map is not None else None


Mistake = tuple[Steps, str, str]
"""The path below what is validated, what is wrong, and what to do about it."""


class MistakesError(ValueError):
    """Raised by a validator that finds several mistakes, or one of a certain value."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = [*mistakes]
        super().__init__(" ".join(what for _, what, _ in self.mistakes))


def raise_mistakes(mistakes: Iterable[Mistake]) -> None:
    """Raise MistakesError with ``mistakes``, if there are any."""
    if found := [*mistakes]:
        raise MistakesError(found)


@dataclass(frozen=True)
class Parsed:
    """Marks a type whose values are of the type ``of`` in the file; ``parse`` makes the value.

    ``parse`` raises ValueError with a sentence for people. With ``info``, it also gets pydantic's
    ValidationInfo, which has the context.
    """

    parse: Callable[..., Any]
    of: Any = str
    info: bool = False

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = handler.generate_schema(self.of)
        if self.info:
            return core_schema.with_info_after_validator_function(self.parse, written)
        return core_schema.no_info_after_validator_function(self.parse, written)


@dataclass(frozen=True)
class OneOf:
    """Marks a text that is one of ``names``."""

    names: Collection[str]

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        return core_schema.literal_schema([*self.names])


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("this must be a number.")  # noqa: TRY004
    return value


NUMBER = BeforeValidator(_no_truth)
"""Marks an int: pydantic takes true for 1."""


def fitting(
    fits: Callable[[Any], object], message: str, shown: Callable[[Any], object] = lambda text: text
) -> AfterValidator:
    """Marks a value that ``fits``; ``message`` may have ``{text!r}``, which is what is shown."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise ValueError(message.format(text=shown(value)))
        return value

    return AfterValidator(check)


def matching(pattern: str, message: str) -> AfterValidator:
    """Marks a text that matches the whole ``pattern``; the message is as that of ``fitting``."""
    return fitting(re.compile(pattern).fullmatch, message)


def of_newer(schema: str, ours: int) -> str:
    """What is wrong with the text ``schema`` of a file if it is later than ``ours``, else ""."""
    is_later = schema.isascii() and schema.isdigit() and int(schema) > ours
    text = f"schema {schema} is of a newer cannery; version {__version__} reads {ours}."
    return text if is_later else ""


def upgrade(needed: str = f"cannery>{__version__}") -> str:
    """How one gets the version ``needed`` of cannery."""
    return (
        f"Install a matching version, as with: pip install --upgrade '{needed}'; "
        "or uv tool upgrade cannery."
    )


@dataclass(frozen=True)
class SchemaVersion:
    """Marks the text of the key ``schema`` of a file; ``fix`` says what to do with others."""

    number: int
    fix: str = ""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(str))

    def __get_pydantic_json_schema__(self, *_: Any) -> JsonSchemaValue:
        return {"const": self.number}

    def _check(self, text: str) -> str:
        if text != str(self.number):
            what = of_newer(text, self.number)
            fix = self.fix or (upgrade() if what else f"Write {self.number}.")
            what = what or f"this version of cannery reads schema {self.number} only."
            raise MistakesError([((), what, fix)])
        return text


Sha256 = Annotated[str, matching(r"[0-9a-f]{64}", "a sha256 has 64 digits, 0 to 9 and a to f.")]


def _unique(texts: tuple[T, ...]) -> tuple[T, ...]:
    raise_mistakes(
        ((number,), f"{str(text)!r} is there twice.", "Keep one of them.")
        for number, text in enumerate(texts)
        if text in texts[:number]
    )
    return texts


Unique = Annotated[
    tuple[T, ...], AfterValidator(_unique), Field(json_schema_extra={"uniqueItems": True})
]
"""A list in which nothing is twice."""


def read_yaml(
    kind: type[_M], path: Path, name: str = "", context: Mapping[str, Any] | None = None
) -> _M:
    """What ``kind`` makes of the YAML file ``path``.

    Raises:
        FileError: the file cannot be read.
        MatrixError: with every problem of the file.
    """
    name = name or path.name
    return parse_yaml(kind, documents.read_text(path, name), name, context)


def parse_yaml(
    kind: type[_M], text: str, name: str, context: Mapping[str, Any] | None = None
) -> _M:
    """What ``kind`` makes of ``text``, the content of the YAML file ``name``."""
    problems: list[Problem] = []
    return validate(kind, documents.load_yaml(text, name, problems), context, problems)


def parse_toml_as(
    kind: type[_M], text: str, name: str, context: Mapping[str, Any] | None = None
) -> _M:
    """What ``kind`` makes of ``text``, the content of the TOML file ``name``."""
    try:
        parse_toml(text)
    except ValueError as error:
        match = _AT.search(str(error))
        where = documents.end_of(text, name)
        if match and match[1]:
            where = Span(file=name, line=int(match[1]), column=int(match[2]))
        reason = str(error)[: match.start()] if match else str(error)
        problem = Problem(what=f"the file is not TOML: {reason.lower()}.", where=where)
        raise MatrixError(problem) from error
    return validate(kind, documents.toml_map(text, name), context)


def validate(
    kind: type[_M],
    data: Map,
    context: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
) -> _M:
    """What ``kind`` makes of ``data``, in which loading has found ``problems``.

    ``context`` is what validators get as ``info.context``.

    Raises:
        MatrixError: with every problem, in the order of the file.
    """
    try:
        made = kind.model_validate(data, context=context)
    except ValidationError as error:
        places = {each.where for each in problems}
        others = [each for each in problems_of(error, kind, data) if each.where not in places]
        raise MatrixError(in_order([*problems, *others])) from error
    if problems:
        raise MatrixError(in_order(problems))
    return made


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """``problems`` in the order of the file, each once."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda each: (each.where is None, each.where))


def _causes(error: ValidationError, data: Map) -> list[tuple[tuple[Key, ...], ErrorDetails]]:
    """The errors that are mistakes of the file, with their paths, and not due to another one."""
    errors = [
        (documents.locate(data, each["loc"])[0], each)
        for each in error.errors(include_url=False)
        if each["type"] != "default_factory_not_called"  # it follows from another error
    ]
    above_others = {path[:end] for path, _ in errors for end in range(len(path))}
    # Mappings whose form is not known, because the key that names it is wrong.
    undecided = {
        path[:-1]
        for path, each in errors
        if each["type"] in ("literal_error", "enum") and len(path) < len(each["loc"])
    }
    causes = []
    for path, each in errors:
        kind = each["type"]
        if kind in ("missing", "extra_forbidden"):
            follows = (path if kind == "missing" else path[:-1]) in undecided
        else:
            # Of the forms that a value may have, that which fits best has the deepest error.
            follows = len(path) < len(each["loc"]) and path in above_others
        if not follows:
            causes.append((path, each))
    return causes


def problems_of(error: ValidationError, kind: Any, data: Map) -> list[Problem]:
    """The problems of ``data`` that kept pydantic from making a ``kind`` of it."""
    causes = _causes(error, data)
    unknown: dict[Steps, list[Key]] = {}
    for path, each in causes:
        if each["type"] == "extra_forbidden":
            unknown.setdefault(path[:-1], []).append(path[-1])
    schema: dict[str, Any] = {}
    problems = []

    def add(path: Steps, what: str, fix: str) -> None:
        text = f"{_name(path)}: {what}" if path else what
        problems.append(Problem(what=text, fix=fix, where=data.place(*path)))

    for path, each in causes:
        if each["type"] == "extra_forbidden":
            schema = schema or json_schema(kind)
            *above, key = path
            known = _known_keys(schema, above)
            hint = "" if key in known else did_you_mean(str(key), known)
            what = f"unknown key {key!r}" + (f" in {_name(above)}." if above else ".")
            if key in known:
                what = f"{key!r} does not go with the other keys of {_name(above)}."
            place = _map_at(data, above).place_of_key(str(key))
            problems.append(Problem(what=what, fix=hint, where=place))
        elif each["type"] == "missing":
            key, where = str(each["loc"][-1]), data.place(*path)
            # A misspelt key is one mistake.
            others = (str(other) for other in unknown.get(path, ()))
            if not any(did_you_mean(other, [key]).startswith("Did") for other in others):
                what = f"{_name(path) or where.file} has no {key!r}."
                problems.append(Problem(what=what, fix="Add it.", where=where))
        elif isinstance(mistakes := each.get("ctx", {}).get("error"), MistakesError):
            for below, what, fix in mistakes.mistakes:
                add((*path, *below), what, fix)
        else:
            add(path, *_message(each))
    return problems


_MUST = {
    "string_type": "this must be text, not {kind}.",
    "bool_type": "this must be true or false.",
    "bool_parsing": "this must be true or false.",
    "list_type": "this must be a list.",
    "tuple_type": "this must be a list.",
    "dict_type": "this must be a mapping of keys to values.",
    "model_type": "this must be a mapping of keys to values.",
    "model_attributes_type": "this must be a mapping of keys to values.",
    "int_type": "this must be a number.",
    "int_parsing": "{value!r} is not a number.",
}


def _message(error: ErrorDetails) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    value, kind, context = error["input"], error["type"], error.get("ctx", {})
    if kind in ("string_too_short", "too_short"):
        return "this is empty.", "Write a value."
    if kind in ("literal_error", "enum") and not isinstance(value, str):
        kind = "string_type"
    if kind in _MUST:
        kinds = {dict: "a mapping", list: "a list", bool: "true or false"}
        named = next((name for each, name in kinds.items() if isinstance(value, each)), "a number")
        return _MUST[kind].format(kind=named, value=value), ""
    if kind in ("literal_error", "enum"):
        known = re.findall(r"'([^']*)'", str(context["expected"]))
        return f"there is no {value!r}.", did_you_mean(str(value), known)
    if kind == "value_error":
        return str(context["error"]).removesuffix(".") + ".", ""
    return error["msg"].replace("Input", repr(value), 1) + ".", ""


def _map_at(data: Any, path: Steps) -> Map:
    for step in path:
        data = data[step]
    assert isinstance(data, Map), "only a mapping has keys"
    return data


def _name(path: Steps) -> str:
    """A path as people write it: ``targets.small.packages[0]``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


class _Schema(GenerateJsonSchema):
    """Editors read 3.10 as a number, and know draft-07 best."""

    schema_dialect = "http://json-schema.org/draft-07/schema#"
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return {"type": ["string", "number"], "pattern": schema.get("pattern", r"\S")}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, _: Any) -> bool:
        return False


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of files that ``kind`` is made of."""
    made = TypeAdapter(kind).json_schema(schema_generator=_Schema)
    return {"$schema": _Schema.schema_dialect, **made}


def _known_keys(schema: Mapping[str, Any], path: Steps) -> list[str]:
    """The keys that the mapping at ``path`` may have."""

    def forms(part: Any) -> Iterator[Mapping[str, Any]]:
        if isinstance(part, Mapping):
            yield part
            if "$ref" in part:
                yield from forms(schema["$defs"][part["$ref"].rpartition("/")[2]])
            for key in ("anyOf", "oneOf", "allOf"):
                for inner in part.get(key, ()):
                    yield from forms(inner)

    parts = [*forms(schema)]
    for step in path:
        below = []
        for part in parts:
            free = part.get("additionalProperties"), *part.get("patternProperties", {}).values()
            named = part.get("properties", {})
            below += [part.get("items")] if isinstance(step, int) else [named.get(step), *free]
        parts = [form for each in below for form in forms(each)]
    return [key for part in parts for key in part.get("properties", ())]
