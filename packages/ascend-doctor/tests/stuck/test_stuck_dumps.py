# SPDX-License-Identifier: Apache-2.0
"""Dumps of py-spy in each of their forms, and files that are none."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ascend_doctor.problems import FileError
from ascend_doctor.stuck.dumps import parse_dump
from ascend_doctor.stuck.judge import group_processes, judge_run
from ascend_doctor.stuck.model import Frame
from ascend_doctor.stuck.report import to_json

TEXT = """Process 8653: /usr/bin/python3 train.py --lr 1e-4
Python v3.11.7 (/usr/bin/python3.11)

Thread 8700 (active+gil): "worker"
    collate (t.py:2)
    Thread.run (threading.py:982)
Thread 8653 (idle): "MainThread"
    clock_nanosleep (libc.so.6)
    0x7f2cd24a71f5 (libc.so.6)
    c10d_npu::ProcessGroupHCCL::wait(std::vector<at::Tensor>&) (libtorch_npu.so)
    main (/data/my code (2)/t.py:4)
        Arguments:
            x: 1
    <module> (t.py:5)
"""
FRAME = {
    "name": "main",
    "filename": "/work/train.py",
    "short_filename": "train.py",
    "line": 4,
    "locals": None,
}
THREADS: list[dict[str, Any]] = [
    {"pid": 7, "os_thread_id": 8, "thread_name": None, "frames": []},
    {"pid": 7, "os_thread_id": 7, "thread_name": None, "frames": [FRAME]},
]


def test_text() -> None:
    [found] = parse_dump(TEXT, "dumps/rank_12.txt")
    assert (found.pid, found.rank) == (8653, 12)
    assert [each.name for each in found.threads] == ["worker", "MainThread"]
    assert found.threads[0].frames[0] == Frame("collate", "t.py", 2)
    sleep, unknown, hccl, *_, last = found.main.frames
    assert sleep == Frame("clock_nanosleep", "libc.so.6", 0)
    assert unknown == Frame("?", "libc.so.6", 0)
    assert hccl.function == "c10d_npu::ProcessGroupHCCL::wait(std::vector<at::Tensor>&)"
    assert last == Frame("<module>", "t.py", 5)


def test_text_of_several_processes() -> None:
    found = parse_dump(TEXT + TEXT.replace("8653", "9000"), "rank0.txt")
    assert [(each.pid, each.rank) for each in found] == [(8653, None), (9000, None)]


def test_json() -> None:
    [found] = parse_dump(json.dumps(THREADS), "node-rank3.json")
    assert (found.pid, found.rank) == (7, 3)
    assert found.main.frames == (Frame("main", "/work/train.py", 4),)


def test_the_own_document_keeps_everything() -> None:
    before = parse_dump(TEXT, "rank_2.txt")
    groups = group_processes(before)
    [after] = parse_dump(to_json(groups, judge_run(groups), []), "node.json")
    assert (after.rank, after.threads) == (2, before[0].threads)


def test_names_of_any_length_are_cut() -> None:
    long = [{**THREADS[1], "frames": [{**FRAME, "name": "ProcessGroupHCCL" * 100_000}]}]
    [found] = parse_dump(json.dumps(long), "a.json")
    assert len(found.main.frames[0].function) == 500
    assert group_processes([found])[0].standing.state == "collective"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a dump of py-spy, or it has no threads"),
        ("Error: Permission Denied\n", "is not a dump of py-spy"),
        ("Process 1: python\nPython v3.11\n", "or it has no threads"),
        ("[", "a.json:1: this is not JSON, or it ends too early"),
        ("[]", "is not a dump of py-spy"),
        ("{}", "is not a dump of py-spy"),
        ('{"schema": 2, "processes": [1]}', "is not a dump of py-spy"),
        ('{"schema": 1, "processes": [1]}', "is not a dump of py-spy"),
        ('[{"pid": 1e999}]', "is not a dump of py-spy"),
        ('[{"pid": "x"}]', "is not a dump of py-spy"),
        ("[" * 100_000, "is not a dump"),
    ],
)
def test_invalid_dumps_are_refused(text: str, said: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_dump(text, "a.json")
    assert said in str(caught.value)
    assert "py-spy dump --pid PID --json" in str(caught.value)


def test_mangled_dumps_are_read_or_refused() -> None:
    chance = random.Random(5)
    groups = group_processes(parse_dump(TEXT, "rank_2.txt"))
    sources = (TEXT, json.dumps(THREADS), to_json(groups, judge_run(groups), []))
    for _ in range(600):
        text = chance.choice(sources)
        start = chance.randrange(len(text))
        end = start + chance.randrange(40)
        text = text[:start] + chance.choice(["", "null", "-1", "[", '"', "1e999"]) + text[end:]
        try:
            found = parse_dump(text, "a.json")
        except FileError:
            continue
        assert judge_run(group_processes(found)).what
