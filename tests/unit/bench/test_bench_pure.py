# SPDX-License-Identifier: Apache-2.0
"""The bench's own steps: what it reads from logs, locks and layers, and in which order it runs."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import arguments, storage
from bench.arguments import chosen
from bench.machine import name
from bench.moves import NewVersion, locked_version, moved
from bench.network import free_subnet
from bench.session import base_arguments
from bench.steps import Step, longest, parse, reused
from bench.timing import alternating, timed
from cannery.common.errors import MatrixError, UsageError
from cannery.lock.lock_file import LockedFile, parse_lock

ROOT = Path(__file__).parents[3]

LOG = """\
#1 [internal] load build definition from Dockerfile
#1 DONE 0.0s

#6 [build 1/4] FROM docker.io/library/debian:12
#6 CACHED

#7 [os 1/2] RUN --mount=type=secret,id=ca apt-get update
#7 0.5 Reading
#8 [wheels 1/1] RUN install-wheels
#8 DONE 9.5s
#7 [os 1/2] RUN --mount=type=secret,id=ca apt-get update
#7 DONE 73.9s
#9 exporting to image
#9 DONE 1.3s
#10 [image 1/2] COPY --link --from=wheels /wheels/ /
#10 CACHED
"""

OLDER = LockedFile(name="tqdm-4.70.0-py3-none-any.whl", sha256="ff" * 32)
LOCK = """\
torch==2.3.1 \\
    --hash=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \\
    --hash=sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    # via -r torch.in
tqdm==4.70.1 \\
    --hash=sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
    # file: tqdm-4.70.1-py3-none-any.whl
    # via deepspeed
tqdm-more==1.0 \\
    --hash=sha256:eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee
    # via deepspeed
"""


def test_a_log_is_read_step_by_step() -> None:
    steps = {step.name: step for step in parse(LOG.splitlines())}
    assert len(steps) == 6
    assert steps["exporting to image"].seconds == 1.3
    assert longest(steps.values()) == {
        "[os 1/2] RUN apt-get update": 73.9,
        "[wheels 1/1] RUN install-wheels": 9.5,
        "exporting to image": 1.3,
    }


def test_our_own_logs_are_read_too() -> None:
    log = """\
build 1/4 FROM: cached (0.0 s)
[build 3/4] COPY a /b
build 3/4 COPY: cached (0.0 s)
[os 1/1] RUN install-packages /base arm64
os 1/1 RUN | installing: done (3.0 s)
os 1/1 RUN: done (38.6 s)
exporting to image: done (1.4 s)
"""
    steps = parse(log.splitlines())
    assert [(step.seconds, step.cached) for step in steps] == [
        (0.0, True),
        (0.0, True),
        (38.6, False),
        (1.4, False),
    ]
    assert reused(steps) == ["build 3/4 COPY"]


def test_how_the_index_is_reached_does_not_name_a_step() -> None:
    text = "[stage-0 8/12] RUN --mount=type=secret,id=ca     if [ -s /ca ]; then A=1; fi;     pip x"
    step = Step(name=text, seconds=9, cached=False)
    assert longest([step]) == {"[stage-0 8/12] RUN pip x": 9}


def test_a_cached_step_is_found_and_a_base_is_none() -> None:
    assert reused(parse(LOG.splitlines())) == ["[image 1/2] COPY --link --from=wheels /wheels/ /"]
    base = Step(name="[os 1/2] FROM docker.io/x", seconds=0, cached=True)
    assert not reused([base])


def test_a_library_moves_in_the_lock_and_nothing_else_does() -> None:
    text = moved(LOCK, NewVersion(name="tqdm", version="4.70.0", file=OLDER))
    before, after = parse_lock(LOCK).wheels, parse_lock(text).wheels
    assert [wheel.version for wheel in after] == ["2.3.1", "4.70.0", "1.0"]
    assert after[1].files == (OLDER,)
    assert after[1].parents == before[1].parents
    assert (after[0], after[2]) == (before[0], before[2])


def test_a_library_that_is_not_locked_cannot_move() -> None:
    with pytest.raises(MatrixError, match="0 times"):
        moved(LOCK, NewVersion(name="numpy", version="1", file=OLDER))
    with pytest.raises(UsageError, match="numpy is not in the lock"):
        locked_version(LOCK, "numpy")
    assert locked_version(LOCK, "tqdm") == "4.70.1"


def test_layers_count_once_by_content() -> None:
    def image(*diffs: str) -> list[storage.Layer]:
        sizes = {"base": 100, "torch": 50, "a": 1, "b": 2}
        return [storage.Layer(diff=each, size=sizes[each]) for each in diffs]

    images = [image("base", "a", "torch"), image("base", "b", "torch")]
    assert storage.total(images) == 303
    assert storage.distinct(images) == 153


def test_our_bases_are_found_in_a_dockerfile() -> None:
    text = (
        "ARG BASE_IMAGE=ubuntu:24.04\nARG BUILD_IMAGE=debian:12@sha256:bb\n"
        "ARG APEX_SHA256=\nFROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build\n"
        "FROM ${BASE_IMAGE} AS os\nARG BASE_IMAGE\n"
    )
    assert base_arguments(text) == {
        "BASE_IMAGE": ("ubuntu:24.04", False),
        "BUILD_IMAGE": ("debian:12@sha256:bb", True),
    }


def test_sides_take_turns_and_the_one_with_fewer_runs_comes_last() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[], float]:
        def run() -> float:
            order.append(name)
            return float(len(order))

        return run

    samples = alternating((3, 1), (side("a"), side("b")))
    assert "".join(order) == "aaab"
    assert samples == ((1.0, 2.0, 3.0), (4.0,))
    order.clear()
    alternating((2, 2), (side("a"), side("b")))
    assert "".join(order) == "abab"


def test_a_command_s_time_and_that_of_the_processors(tmp_path: Path) -> None:
    script = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    done = timed([sys.executable, "-c", script], tmp_path / "log")
    assert done.seconds >= 0.3
    # In ticks of a hundredth, rounded for each kind of work.
    assert done.processor >= 0.25


def test_figures_are_chosen_by_letter_and_measured_in_order() -> None:
    assert chosen("h,e,a") == ["h", "a", "e"]
    with pytest.raises(UsageError, match="no figure 'x'"):
        chosen("a,x")
    with pytest.raises(UsageError, match="names no figure"):
        chosen(",")
    with pytest.raises(UsageError, match="--targets must not be negative"):
        arguments.parse(["--targets", "-1"])


def test_the_bridge_takes_a_network_that_nobody_uses() -> None:
    used = [ipaddress.IPv4Network("10.208.0.0/23"), ipaddress.IPv4Network("172.17.0.0/16")]
    assert str(free_subnet(used)) == "10.208.2.0/24"


def test_a_machine_is_named_by_its_processor() -> None:
    assert name({"cpu": "AMD EPYC 7B13 64-Core Processor", "cores": "2"}) == "amd-epyc-7b13-2-cores"
    assert name({"cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz", "cores": "4"}) == "intel-xeon-cpu-4-cores"
