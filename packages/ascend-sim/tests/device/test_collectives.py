# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from .hosts import Host

PARAMETER, TIMEOUT, REMOTE_LOST = 1, 9, 21


def new_name() -> str:
    return f"npusim_test_{uuid.uuid4().hex}"


def run_ranks(host: Host, ranks: int, probe: str, *arguments: str, **changes: str) -> list[Any]:
    """What the probe returns in each rank of a new group."""
    name = new_name()
    started = [host.start(probe, name, str(rank), *arguments, **changes) for rank in range(ranks)]
    return [json.loads(rank.communicate(timeout=60)[0]) for rank in started]


def test_two_processes_exchange_data(host: Host) -> None:
    for rank, answer in enumerate(run_ranks(host, 2, "communicate")):
        assert answer == {
            "AllReduce": [3, 30],
            "AllGather": [1, 10, 2, 20],
            "ReduceScatter": [[3], [30]][rank],
            "Scatter": [[2], [20]][rank],
            "AlltoAll": [[1, 2], [10, 20]][rank],
            "Broadcast": [2, 20],
            "AlltoAllV": [[0, 0, 0], [20, 1, 10]][rank],
        }


def test_a_batch_of_sends_and_receives_goes_round(host: Host) -> None:
    assert run_ranks(host, 3, "exchange_with_the_next") == [[2], [0], [1]]


def test_the_calls_of_a_group_are_carried_out_at_its_end(host: Host) -> None:
    """Those of the outermost group; an end without a start is HCCL_E_NOT_SUPPORT."""
    answers = run_ranks(host, 2, "exchange_in_a_group")
    assert answers == [[[9], [1], [2], 5], [[9], [0], [2], 5]]


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("count", "parameter [count], local [2], remote [3] of rank 1"),
        ("type", "parameter [dataType], local [2], remote [4] of rank 1"),
        ("reduction", "parameter [op], local [0], remote [2] of rank 1"),
        ("root", "parameter [root], local [0], remote [1] of rank 1"),
        ("operation", "operation, local [AllReduce], remote [AllGather] of rank 1"),
    ],
)
def test_different_arguments_are_an_error_on_both_ranks(
    host: Host, what: str, complaint: str
) -> None:
    answers = run_ranks(host, 2, "disagree", what)
    assert [answer["code"] for answer in answers] == [PARAMETER, PARAMETER]
    assert (
        "EI0005: The arguments for collective communication are inconsistent"
        in (answers[0]["message"])
    )
    assert complaint in answers[0]["message"]


def test_a_message_of_another_size_is_an_error_for_its_receiver(host: Host) -> None:
    answer = run_ranks(host, 2, "disagree", "message")[1]
    assert answer["code"] == PARAMETER
    assert "rank 0 sends 12 bytes of type 2, rank 1 expects 8 of type 2" in answer["message"]


@pytest.mark.parametrize("present", ["0", "1"])
def test_an_absent_rank_is_an_error(host: Host, present: str) -> None:
    failure = host.ask("communicate", new_name(), present, HCCL_CONNECT_TIMEOUT="1")
    assert failure["code"] == TIMEOUT
    assert f"rank {present} waited in vain for all ranks to join" in failure["message"]


def test_a_late_rank_is_an_error_after_the_timeout(host: Host) -> None:
    answers = run_ranks(host, 2, "wait_for_a_late_rank", "4", HCCL_EXEC_TIMEOUT="1")
    assert answers[0]["code"] == TIMEOUT
    assert "EI0002" in answers[0]["message"]
    assert "rank 0 waited in vain for AllReduce (1 s" in answers[0]["message"]


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_killed_rank_ends_the_others(host: Host, victim: int) -> None:
    name = new_name()
    started = [host.start("work_until_an_error", name, str(rank), "3") for rank in range(3)]
    for rank in started:
        assert rank.stderr is not None
        while "working" not in rank.stderr.readline():
            pass
    time.sleep(random.random() / 2)  # any moment will do
    started[victim].kill()
    for number, rank in enumerate(started):
        out, _ = rank.communicate(timeout=60)
        if number != victim:
            answer = json.loads(out)
            assert answer["code"] == REMOTE_LOST
            assert "has ended" in answer["message"]
            assert answer["seconds"] < 10


def test_nothing_is_left_in_shared_memory(host: Host) -> None:
    before = set(Path("/dev/shm").iterdir())
    name = new_name()
    rank = host.start("communicate", name, "0")
    assert rank.stderr is not None
    rank.stderr.readline()
    made = set(Path("/dev/shm").iterdir()) - before
    rank.kill()
    rank.communicate()
    assert [path for path in made if name in path.name] == []


def test_all_ranks_of_one_process(host: Host) -> None:
    assert host.ask("all_ranks_in_one_process") == [[3, 3]] * 3


def test_a_captured_sum_is_replayed(host: Host) -> None:
    assert run_ranks(host, 2, "sum_in_a_graph") == [[[0], [4], [6]]] * 2
