# SPDX-License-Identifier: Apache-2.0
"""``build.py config``: the settings, and where the value of each is from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cannery.cli import results
from cannery.cli.command import Command
from cannery.cli.defaults import find, unknown
from cannery.common.console import columns
from cannery.common.errors import Span
from cannery.common.option import Declared, OptionSet
from cannery.matrix.project import Project
from cannery.matrix.settings import Settings
from cannery.options import FORMAT, all_settings


@dataclass(frozen=True, kw_only=True)
class ConfigOptions(OptionSet):
    """How the settings are shown."""

    format: str = FORMAT.field()


COMMAND = Command(
    description="Shows the value that each setting has where no option is typed, and where it is "
    "from: a variable, a line of cannery.toml, or the default. Shows no secrets. Names every "
    "mistake of the file and of the variables at once. See docs/settings.md.",
    reads="cannery.toml and the environment",
    writes="nothing",
    example="config",
    options=ConfigOptions,
    quick=True,
)


def run(options: ConfigOptions, project: Project) -> None:
    """Print every setting with its value and its origin."""
    rows = [*_of_options(project), *_of_tables(project.settings())]
    if options.format == "json":
        problems = [problem.what for problem in unknown()]
        results.show({"settings": rows, "unknown": problems})
        return
    cells = [(row["key"], _text(row["value"]), _place(row)) for row in rows]
    print("\n".join(columns([("setting", "value", "from"), *cells])))


def _of_options(project: Project) -> Iterator[dict[str, Any]]:
    settings = all_settings()
    found = find(settings.values(), project.root)
    for key, declared in settings.items():
        value: Any = declared.option.default_text or _plain(declared, declared.default)
        where: Span | str = ""
        if key in found:
            value, where = _plain(declared, found[key].value), found[key].origin
        names = {"option": declared.label, "variable": declared.variable}
        yield {"key": key, "value": value, **_origin(where), **names}


def _of_tables(settings: Settings) -> Iterator[dict[str, Any]]:
    values: dict[str, Any] = {
        "servers": [server.url for server in settings.servers],
        "images": settings.images,
        "mirrors": settings.mirrors,
        "stand-ins": {name: str(path) for name, path in settings.stand_ins.items()},
    }
    for key, value in values.items():
        where: Span | str = (settings.place(key) or "") if value else ""
        yield {"key": key, "value": value, **_origin(where), "option": "", "variable": ""}


def _plain(declared: Declared, value: Any) -> Any:
    """``value`` as JSON has it, without secrets."""
    if isinstance(value, tuple):
        return [_plain(declared, each) for each in value]
    return value if value is None or isinstance(value, int) else declared.option.shown(str(value))


def _origin(where: Span | str) -> dict[str, Any]:
    if isinstance(where, Span):
        return {"from": "file", "file": where.file, "line": where.line}
    return {"from": "variable" if where else "default", "file": "", "line": 0}


def _place(row: dict[str, Any]) -> str:
    places: dict[str, str] = {"file": f"{row['file']}:{row['line']}", "variable": row["variable"]}
    return places.get(str(row["from"]), "default")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in ("", None) else str(value)
