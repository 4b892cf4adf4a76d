# SPDX-License-Identifier: Apache-2.0
"""The command line: reads the spec, packs, and tells the user what is wrong."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .apex import apex_wheel
from .cann import build_package
from .errors import PackError
from .host import host_tree
from .layout import load_layout
from .runfile import write_run
from .spec import Spec, parse_spec

MODE_FILE = 0o644


def main() -> int:
    """The exit code: 0, or 1 after a message for the user on stderr."""
    arguments = parse_arguments()
    try:
        spec = parse_spec(read_json(arguments.spec))
        pack(spec, arguments.device, arguments.out)
    except PackError as error:
        print(f"pack.py: {error}", file=sys.stderr)
        return 1
    return 0


def parse_arguments() -> argparse.Namespace:
    """Exits with 2 and the usage when an option is missing or unknown."""
    parser = argparse.ArgumentParser(
        prog="pack.py", description="Pack a software Ascend device as the vendor packs CANN."
    )
    parser.add_argument("--spec", type=Path, required=True, help="what to pack (JSON)")
    parser.add_argument("--device", type=Path, required=True, help="the output of device/build.sh")
    parser.add_argument("--out", type=Path, required=True, help="a new or empty folder")
    return parser.parse_args()


def read_json(path: Path) -> object:
    """Raises PackError when there is no such file or it is not JSON."""
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PackError(f"cannot read the spec {path}: {error}") from error
    return content


def pack(spec: Spec, device: Path, out: Path) -> None:
    """Write artifacts/ and host/ below ``out``, which must be empty or not there yet.

    ``device`` is what device/build.sh compiled. Raises PackError when a part of it is missing or
    is for another architecture.
    """
    if out.exists() and any(out.iterdir()):
        raise PackError(f"{out} is not empty: give a new or empty folder")
    layout = load_layout(spec.layout)
    artifacts = out / "artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    for entry in spec.packages:
        package = build_package(spec, entry, layout, device)
        write_run(package, entry, artifacts / entry.file)
    if spec.apex is not None:
        write(artifacts / spec.apex, apex_wheel(spec.apex), MODE_FILE)
    if spec.driver is not None:
        host_tree(spec.driver, spec.arch, device).write_to(out / "host")


def write(path: Path, content: bytes, mode: int) -> None:
    """Write with these permission bits, whatever the umask is."""
    path.write_bytes(content)
    path.chmod(mode)


if __name__ == "__main__":
    sys.exit(main())
