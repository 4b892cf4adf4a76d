# SPDX-License-Identifier: Apache-2.0
"""The first operator that makes inf or NaN is found, in one dump and over ranks and steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.problems import FileError
from ascend_doctor.training.nan_hunt import Hunt, hunt
from ascend_doctor.training.operators import Level
from ascend_doctor.training.trace import Kind
from tests.training.precision_dumps import (
    INF,
    NAN,
    OVERFLOW,
    Json,
    backward,
    dump,
    forward,
    group,
    module,
    scalar,
    tensor,
    text,
)

LARGEST = 3.4028234663852886e38


def hunted(tmp_path: Path, data: Json, **companions: Json) -> Hunt:
    return hunt(dump(tmp_path / "step0" / "rank0", data, **companions).parent)


def found(result: Hunt) -> tuple[str, Kind, Level] | None:
    """The first operator, where its value came from, and the value."""
    if result.first is None:
        return None
    event = result.first.event
    return event.operator.name, event.kind, event.level


def test_where_a_value_is_born_and_where_it_is_passed_on(tmp_path: Path) -> None:
    result = hunted(tmp_path, OVERFLOW)
    assert found(result) == ("Torch.exp.0.forward", Kind.BORN, Level.INF)
    assert [each.operator.name for each in result.dumps[0].trace.events] == [
        "Torch.exp.0.forward",
        "Tensor.sub.0.forward",
        "Functional.linear.1.backward",
    ]
    assert result.dumps[0].trace.passed == 1
    [(api, _, reason)] = result.dumps[0].trace.left_out
    assert (api, "not initialized" in reason.text) == ("torch.empty", True)


def test_a_value_is_born_in_the_backward_pass(tmp_path: Path) -> None:
    data = {
        "Torch.sqrt.0.forward": forward(0.0),
        "Torch.sqrt.0.backward": backward(1.0, output=INF),
    }
    assert found(hunted(tmp_path, data)) == ("Torch.sqrt.0.backward", Kind.BORN, Level.INF)


MASK = {
    "Torch.full.0.forward": forward(scalar(-INF), output=-INF),
    "Tensor.masked_fill.0.forward": forward(1.0, {"type": "float", "value": "-inf"}, output=-INF),
    "Torch.add.0.forward": forward(1.0, -INF, output=-INF),
}
HARMLESS = {
    "a mask, which is passed on": MASK,
    "memory that is not initialized": {
        f"{api}.0.forward": forward(output=NAN)
        for api in ("Torch.empty", "Torch.empty_like", "Torch.empty_strided", "Tensor.new_empty")
    },
    "buffers of communication": {
        "Distributed.all_gather_into_tensor.0.forward": forward(NAN, 1.0),
        "Distributed.irecv.0.forward": {
            "input_args": [],
            "input_kwargs": {"tensor": tensor(NAN), "src": {"type": "int", "value": 1}},
            "output": [],
        },
        "Distributed.all_gather.0.forward": {
            "input_args": [[tensor(INF), tensor(NAN)], tensor()],
            "output": [[tensor(), tensor()]],
        },
    },
    "outputs that are not used": {
        "NPU.npu_fusion_attention.0.forward": {
            "input_args": [tensor()],
            "output": [*[tensor()] * 4, tensor(NAN), tensor(INF)],
        }
    },
    "what masked_fill_ replaces": {"Tensor.masked_fill_.0.forward": forward(NAN, 0.5)},
}


@pytest.mark.parametrize("name", HARMLESS)
def test_where_inf_and_nan_are_normal(name: str, tmp_path: Path) -> None:
    result = hunted(tmp_path, HARMLESS[name])
    assert found(result) is None
    assert result.dumps[0].trace.left_out
    assert all(reason.source for *_, reason in result.dumps[0].trace.left_out)


def test_nan_of_a_mask_is_born(tmp_path: Path) -> None:
    """The softmax of a row in which all is masked."""
    data = {**MASK, "Functional.softmax.0.forward": forward(-INF, output=NAN)}
    assert found(hunted(tmp_path, data)) == ("Functional.softmax.0.forward", Kind.BORN, Level.NAN)


def test_nan_in_data_or_weights_came_from_before(tmp_path: Path) -> None:
    data: Json = {"Functional.embedding.0.forward": forward(NAN, output=NAN)}
    first = ("Functional.embedding.0.forward", Kind.ARRIVED, Level.NAN)
    assert found(hunted(tmp_path, data)) == first
    name = "Module.head.Linear.forward.0"
    data = {name: module(forward(1.0, output=NAN), weight=NAN)}
    result = hunted(tmp_path, data)
    assert found(result) == (name, Kind.ARRIVED, Level.NAN)
    assert result.first
    assert result.first.event.tensor.place == "parameters.weight"


def test_a_dump_of_outputs_only(tmp_path: Path) -> None:
    data = {"Torch.log.0.forward": {"output": [tensor(NAN)]}, "Torch.exp.0.forward": {}}
    assert found(hunted(tmp_path, data)) == ("Torch.log.0.forward", Kind.UNKNOWN, Level.NAN)
    checked = {
        "Torch.log.0.forward": {"output": [], "is_nan": 1},
        "Torch.abs.0.forward": {"is_nan": 0},
    }
    assert found(hunted(tmp_path, checked)) == ("Torch.log.0.forward", Kind.UNKNOWN, Level.NAN)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(LARGEST, "torch.float32"), (-65504.0, "Float16"), (3.3895313892515355e38, "torch.bfloat16")],
)
def test_the_largest_number_of_a_type_may_stand_for_inf(
    value: float, dtype: str, tmp_path: Path
) -> None:
    data = {
        "Torch.exp.0.forward": {"input_args": [tensor()], "output": [tensor(value, dtype)]},
        "Torch.abs.0.forward": forward(tensor(value, dtype), output=1.0),
    }
    result = hunted(tmp_path, data)
    assert found(result) is None
    assert [event.operator.name for event in result.saturated] == ["Torch.exp.0.forward"]
    masked = {
        "Torch.full.0.forward": {
            "input_args": [scalar(value)],
            "output": [tensor(value, dtype)],
        }
    }
    assert not hunted(tmp_path, masked).saturated


def test_of_modules_the_innermost_is_the_cause(tmp_path: Path) -> None:
    """Before msprobe 26 a module stands before what it calls; construct.json has the nesting."""
    outer, inner, last = (
        f"Module.{name}.forward.0" for name in ("net.Net", "net.mlp.Mlp", "end.E")
    )
    bad = forward(1.0, output=NAN)
    data = {outer: bad, inner: bad, "Torch.log.0.forward": bad, last: bad}
    construct: dict[str, Any] = {outer: None, inner: outer, "Torch.log.0.forward": [inner, 3]}
    stack = {"0": [["Torch.log.0.forward"], ["File train.py, line 7, in step, \n y = x.log()"]]}
    result = hunted(tmp_path, data, construct=construct, stack=stack)
    assert found(result) == ("Torch.log.0.forward", Kind.BORN, Level.NAN)
    assert result.modules == (inner, outer)
    assert result.called_by == ("File train.py, line 7, in step, y = x.log()",)
    del data["Torch.log.0.forward"]
    assert found(hunted(tmp_path, data, construct={}, stack={})) == (inner, Kind.BORN, Level.NAN)


REDUCE = "Distributed.all_reduce.0.forward"


def ranks(tmp_path: Path, *data: Json, step: int = 0) -> Path:
    for rank, each in enumerate(data):
        dump(tmp_path / f"step{step}" / f"rank{rank}", each)
    return tmp_path


def test_the_sending_rank_is_named_as_the_origin(tmp_path: Path) -> None:
    received = {REDUCE: forward(1.0, output=NAN, group=group(0, 1))}
    sent = {
        "Torch.abs.0.forward": forward(1.0),
        "Torch.log.0.forward": forward(1.0, output=NAN),
        REDUCE: forward(NAN, output=NAN, group=group(0, 1)),
    }
    result = hunt(ranks(tmp_path, received, sent))
    assert found(result) == ("Torch.log.0.forward", Kind.BORN, Level.NAN)
    assert result.first
    assert result.first.traced.dump.rank == 1
    assert [(each.event.kind, each.senders) for each in result.ranks] == [
        (Kind.RECEIVED, (1,)),
        (Kind.BORN, ()),
    ]


def test_an_overflowing_sum_is_born_in_communication(tmp_path: Path) -> None:
    finite = {REDUCE: forward(1e38, output=INF, group=group(0, 1))}
    assert found(hunt(ranks(tmp_path, finite, finite))) == (REDUCE, Kind.BORN, Level.INF)


def test_ranks_without_a_dump_are_named(tmp_path: Path) -> None:
    result = hunt(ranks(tmp_path, {REDUCE: forward(1.0, output=NAN, group=group(0, 4))}))
    assert found(result) == (REDUCE, Kind.RECEIVED, Level.NAN)
    assert result.first
    assert result.first.missing == (4,)


@pytest.mark.parametrize("keyword", [True, False])
def test_recv_names_its_sender(keyword: bool, tmp_path: Path) -> None:
    src: Json = {"type": "int", "value": 3}
    call = forward(1.0, output=NAN, src=src) if keyword else forward(1.0, src, output=NAN)
    result = hunt(ranks(tmp_path, {"Distributed.recv.0.forward": call}))
    assert result.first
    assert result.first.senders == (3,)


def test_the_rank_with_fewer_communications_before_it_comes_first(tmp_path: Path) -> None:
    bad = {"Torch.log.0.forward": forward(1.0, output=NAN)}
    padding = {f"Torch.abs.{number}.forward": forward(1.0) for number in range(5)}
    result = hunt(ranks(tmp_path, {REDUCE: forward(1.0), **bad}, {**padding, **bad}))
    assert result.first
    assert result.first.traced.dump.rank == 1


def test_the_first_step_comes_first(tmp_path: Path) -> None:
    bad = {"Torch.log.0.forward": forward(1.0, output=NAN)}
    for step in (10, 9):
        ranks(tmp_path, bad, step=step)
    assert [each.traced.dump.step for each in hunt(tmp_path).ranks] == [9, 10]


def test_half_a_dump_is_read_to_its_end(tmp_path: Path) -> None:
    whole = text(OVERFLOW)
    path = tmp_path / "dump.json"
    for end in range(whole.index('"Functional.linear.1.forward"'), len(whole) - 3, 7):
        path.write_text(whole[:end], encoding="utf-8")
        result = hunt(path)
        assert found(result) == ("Torch.exp.0.forward", Kind.BORN, Level.INF)
        assert "it ends too early" in result.problems[0]


def test_a_broken_dump_does_not_hide_the_others(tmp_path: Path) -> None:
    ranks(tmp_path, OVERFLOW, OVERFLOW)
    (tmp_path / "step0" / "rank1" / "dump.json").write_bytes(b"\0\xff" * 1000)
    result = hunt(tmp_path)
    assert found(result) == ("Torch.exp.0.forward", Kind.BORN, Level.INF)
    assert len(result.problems) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "has no operators: it ends too early"),
        ("\0" * 100, "has no operators: it is not JSON"),
        ("[]", "has no operators: it is not JSON"),
        ("{}", "has no operators: it has no 'data'"),
        ('{"data": {"a": 5, "b": [1]}}', "has no operators."),
        ('{"data": {"a": {"input_args": [{"type": "torch.Tensor", "md5": "0"}]}}}', "Max and Min"),
        ('{"data": ' + "[" * 100_000, "has no operators: it is nested too deeply"),
        ('{"data": {"a": {"output": ' + "[" * 100_000, "it is nested too deeply"),
        ('{"data": {"a": ' + "9" * 10_000 + "}}", "huge number"),
    ],
)
def test_bad_dumps_are_refused(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        hunt(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_without_a_dump(tmp_path: Path) -> None:
    (tmp_path / "dump_tensor_data").mkdir()
    (tmp_path / "dump_tensor_data" / "dump.json").touch()
    with pytest.raises(FileError, match=r"has no dump\.json"):
        hunt(tmp_path)
