# SPDX-License-Identifier: Apache-2.0
"""What can be typed after ``run``."""

from __future__ import annotations

import argparse

_FORMATS = ("shell", "compose", "k8s", "volcano")
_RUNTIMES = ("devices", "ascend")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 999")
    return int(text)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add to ``parser`` what only ``run`` takes."""
    parser.description = (
        "Starts a container of one target's image with the devices, the driver and the shared "
        "memory that it needs, after a look whether this host has them. Or prints how to do so, "
        "here or elsewhere. docs/running.md explains it."
    )
    parser.add_argument("--print", action="store_true", help="print the command, do not run it")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="shell",
        help="docker on this host; or print a file for Compose, Kubernetes or Volcano elsewhere "
        "(default: shell)",
    )
    parser.add_argument(
        "--cards",
        type=_positive,
        metavar="N",
        help="on N cards of a host (default: all of this host; 1 in a file for elsewhere)",
    )
    parser.add_argument(
        "--nodes", type=_positive, default=1, metavar="N", help="on N hosts: k8s and volcano only"
    )
    parser.add_argument(
        "--runtime",
        choices=_RUNTIMES,
        default=_RUNTIMES[0],
        help="how cards are handed over: device by device, or by ascend-docker-runtime "
        "(default: devices)",
    )
    parser.add_argument(
        "--image", default="", metavar="NAME", help="this image in place of the local one"
    )
    parser.add_argument(
        "--shm-size", default="", metavar="SIZE", help="shared memory, as 64g (default: 16g)"
    )
    parser.add_argument(
        "-v",
        "--mount",
        action="append",
        default=[],
        metavar="HOST:CONTAINER",
        help="mount a folder of the host; may be given several times",
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="what to run in it")
