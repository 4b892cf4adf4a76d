# SPDX-License-Identifier: Apache-2.0
"""A package index of the wheels and sdists in a folder, on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from tests.unit.http_servers import Handler, answering


def _package(name: str) -> str:
    is_wheel = name.endswith(".whl")
    return (parse_wheel_filename(name) if is_wheel else parse_sdist_filename(name))[0]


@contextmanager
def index_of_folder(folder: Path) -> Iterator[str]:
    """The address of an index that has all files of ``folder``."""

    class Index(Handler):
        def answer(self) -> None:
            kind, _, name = self.path.strip("/").partition("/")
            if kind == "files" and (folder / name).is_file() and "/" not in name:
                self.reply(200, (folder / name).read_bytes())
                return
            files = [
                path for path in folder.iterdir() if _package(path.name) == canonicalize_name(name)
            ]
            links = "".join(
                f'<a href="/files/{path.name}#sha256='
                f'{hashlib.sha256(path.read_bytes()).hexdigest()}">{path.name}</a>\n'
                for path in files
            )
            self.reply(200 if files else 404, links.encode(), Content_Type="text/html")

    with answering(Index) as address:
        yield f"{address}/simple"
