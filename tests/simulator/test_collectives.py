# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import uuid
from pathlib import Path

from .conftest import Host


def test_two_processes_exchange_data(host: Host) -> None:
    name = f"npusim_test_{uuid.uuid4().hex}"
    ranks = [host.start("communicate", name, str(rank)) for rank in range(2)]
    answers = [json.loads(rank.communicate(timeout=60)[0]) for rank in ranks]
    for rank, answer in enumerate(answers):
        assert answer == {
            "AllReduce": [3, 30],
            "AllGather": [1, 10, 2, 20],
            "ReduceScatter": [[3], [30]][rank],
            "Broadcast": [2, 20],
        }
    assert not Path("/dev/shm", name).exists()


def test_a_rank_that_never_comes_is_an_error(host: Host) -> None:
    name = f"npusim_test_{uuid.uuid4().hex}"
    failure = host.ask("communicate", name, "0", HCCL_EXEC_TIMEOUT="1")
    Path("/dev/shm", name).unlink()
    assert failure["code"] == 9
    assert "rank 0 waited in vain for all ranks to join" in failure["message"]
