# SPDX-License-Identifier: Apache-2.0
"""The bench's own steps: what it reads from logs, locks and layers, and in which order it runs."""

from __future__ import annotations

import pytest

from bench import arguments
from bench.arguments import chosen
from bench.moves import NewVersion, locked_version, moved
from bench.steps import Step, longest, parse, reused
from cannery.common.errors import MatrixError, UsageError
from cannery.lock.lock_file import LockedFile, parse_lock

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


def test_an_unlocked_library_cannot_move() -> None:
    with pytest.raises(MatrixError, match="0 times"):
        moved(LOCK, NewVersion(name="numpy", version="1", file=OLDER))
    with pytest.raises(UsageError, match="numpy is not in the lock"):
        locked_version(LOCK, "numpy")
    assert locked_version(LOCK, "tqdm") == "4.70.1"


def test_figures_are_chosen_by_letter_and_measured_in_order() -> None:
    assert chosen("h,e,a") == ["h", "a", "e"]
    with pytest.raises(UsageError, match="no figure 'x'"):
        chosen("a,x")
    with pytest.raises(UsageError, match="names no figure"):
        chosen(",")
    with pytest.raises(UsageError, match="--runs must not be negative"):
        arguments.parse(["--runs", "-1"])
