# SPDX-License-Identifier: Apache-2.0
"""``build.py cache``: list or prune the fetched files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import counted
from cannery.fetch.store import Store, Stored, store_folder
from cannery.matrix.project import Project
from cannery.options.fetch import CacheOptions
from cannery.options.given import Given


def run(given: Given, project: Project) -> int:
    """List the files of the store, or remove those that are no longer used.

    Raises:
        MatrixError, FileError: cannery.toml is wrong; the store cannot be read or written.
    """
    options = read(CacheOptions, given, project)
    store = Store(store_folder(options.cache, project.settings().cache, os.environ))
    if options.action == "list":
        found = store.files()
        print("\n".join([*(_told(each) for each in found), _total(found, str(store.root))]))
        return 0
    gone = store.prune(options.days)
    for each in gone:
        print(_told(each))
    console.say(f"removed {_total(gone, str(store.root))}", "ok")
    return 0


def _told(stored: Stored) -> str:
    """A file, and below it where it is from."""
    record = stored.record
    name = record.name if record else "(its record is missing)"
    lines = [f"{name}  {stored.size / 1e6:,.1f} MB  used {stored.days:.0f} days ago"]
    lines.append(f"  sha256 {stored.sha256}")
    if record:
        lines.append(f"  from {record.url} at {record.fetched}")
        if record.accepted_by:
            lines.append(f"  licence {record.eula} accepted by {record.accepted_by}")
        if record.signature:
            lines.append(f"  signature {record.signature}")
        if record.first_use:
            lines.append("  trusted on first use: nobody publishes its sha256")
    return "\n".join(lines)


def _total(files: Sequence[Stored], folder: str) -> str:
    size = sum(each.size for each in files)
    return f"{counted(len(files), 'file')}, {size / 1e6:,.1f} MB, in {folder}"
