# SPDX-License-Identifier: Apache-2.0
"""Prints a Markdown table of the images that a job has built or published.

python .ci/summary.py images [--simulate] TARGET...   the images of targets on this machine
python .ci/summary.py records                         images whose records are not committed yet
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_HEAD = ("image", "size", "digest")


def images(targets: Sequence[str], *, simulate: bool) -> list[tuple[str, str, str]]:
    """A row for each image: unpacked size, and the digest, or the id if it was never pushed."""
    # Python looks for modules beside this program, but the package is one folder up.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from cannery.common.references import image_name

    rows = []
    for name in (image_name(target, simulate=simulate) for target in targets):
        argv = ["docker", "image", "inspect", name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            rows.append((name, "", "not built"))
            continue
        [image] = json.loads(done.stdout)
        digest = (image.get("RepoDigests") or [image["Id"]])[0]
        rows.append((name, _size(image["Size"]), digest))
    return rows


def records() -> list[tuple[str, str, str]]:
    """A row for each platform of each record that is not in git: compressed size, digest."""
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
        case ["images", "--simulate", *targets]:
            rows = images(targets, simulate=True)
        case ["images", *targets]:
            rows = images(targets, simulate=False)
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
