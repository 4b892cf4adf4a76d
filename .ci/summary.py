# SPDX-License-Identifier: Apache-2.0
"""Prints a table, in Markdown, of what a job has made.

python .ci/summary.py images TAG...   the images cannery:TAG that this machine has
python .ci/summary.py records         what was published and is not committed yet
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

_HEAD = ("image", "size", "digest")


def images(tags: Sequence[str]) -> list[tuple[str, str, str]]:
    """A row for each image: unpacked size, and the digest, or the id of what was never pushed."""
    rows = []
    for tag in tags:
        argv = ["docker", "image", "inspect", f"cannery:{tag}"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            rows.append((f"cannery:{tag}", "", "not built"))
            continue
        [image] = json.loads(done.stdout)
        digest = (image.get("RepoDigests") or [image["Id"]])[0]
        rows.append((f"cannery:{tag}", _size(image["Size"]), digest))
    return rows


def records() -> list[tuple[str, str, str]]:
    """A row for each platform of each record that git does not know: compressed size, digest."""
    argv = ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", "releases/*.json"]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
    rows = []
    for name in sorted(filter(None, names)):
        with open(name, encoding="utf-8") as stream:  # noqa: PTH123
            record = json.load(stream)
        image = f"{record['registry']}/{record['repository']}:{record['tag']}"
        for platform, made in record["platforms"].items():
            rows.append((f"{image} ({platform})", _size(made["size"]), record["digest"]))
    return rows


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB"


def main(arguments: Sequence[str]) -> int:
    """Print the table; see the usage above."""
    match arguments:
        case ["images", *tags]:
            rows = images(tags)
        case ["records"]:
            rows = records()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    for row in (_HEAD, ("--", "--:", "--"), *rows):
        print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
