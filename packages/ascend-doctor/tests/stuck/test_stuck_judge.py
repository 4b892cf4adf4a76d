# SPDX-License-Identifier: Apache-2.0
"""What stacks say of a run."""

from __future__ import annotations

import pytest

from ascend_doctor.stuck.judge import Group, group_processes, judge_process, judge_run, labels
from ascend_doctor.stuck.model import Frame, Missing, Process, State, Thread
from ascend_doctor.stuck.report import to_text

C10D = "torch/distributed/distributed_c10d.py"
LOADER = "torch/utils/data/dataloader.py"
TRAIN = Frame("main", "/work/train.py", 80)
HF_LOOP = Frame("_inner_training_loop", "transformers/trainer.py", 2470)


def process(rank: int | None, *frames: Frame, moved: bool | None = None) -> Process:
    main = Thread(name="MainThread", is_main=True, frames=(*frames, TRAIN))
    return Process(pid=100 + (rank or 0), rank=rank, threads=(main,), moved=moved)


def in_call(rank: int, function: str, file: str = C10D) -> Process:
    return process(rank, Frame(function, file, 1))


def groups(*processes: Process) -> tuple[Group, ...]:
    return group_processes(processes)


@pytest.mark.parametrize(
    ("function", "file", "state"),
    [
        ("all_reduce", C10D, State.COLLECTIVE),
        ("barrier", f"/usr/lib/python3.11/site-packages/{C10D}", State.COLLECTIVE),
        ("_store_based_barrier", C10D, State.COLLECTIVE),
        ("reduce_scatter_tensor", "deepspeed/comm/torch.py", State.COLLECTIVE),
        ("_communicate", "megatron/core/pipeline_parallel/p2p_communication.py", State.COLLECTIVE),
        ("HcclAllReduce", "/usr/local/Ascend/lib64/libhccl.so", State.COLLECTIVE),
        ("c10d_npu::ProcessGroupHCCL::allreduce(x)", "libtorch_npu.so", State.COLLECTIVE),
        ("_MultiProcessingDataLoaderIter._try_get_data", LOADER, State.DATA),
        ("default_collate", "torch/utils/data/_utils/collate.py", State.DATA),
        ("Dataset.map", "datasets/arrow_dataset.py", State.DATA),
        ("_encode", "transformers/tokenization_utils_fast.py", State.DATA),
        ("_compile", "torch/_dynamo/convert_frame.py", State.COMPILE),
        ("AsyncCompile.wait", "torch/_inductor/async_compile.py", State.COMPILE),
        ("FileBaton.wait", "torch/utils/file_baton.py", State.COMPILE),
        ("start", "/opt/site-packages/te_fusion/parallel_compilation.py", State.COMPILE),
        ("run", "tbe/common/repository_manager/utils/multiprocess_util.py", State.COMPILE),
        ("aclopCompileAndExecuteV2", "libacl_op_compiler.so", State.COMPILE),
        ("synchronize", "torch_npu/npu/utils.py", State.DEVICE),
        ("aclrtSynchronizeStreamWithTimeout", "libascendcl.so", State.DEVICE),
        ("_engine_run_backward", "torch/autograd/graph.py", State.WORKS),
        ("DataLoader.__iter__", LOADER, State.WORKS),
        ("compile_wrapper", "torch/_dynamo/eval_frame.py", State.WORKS),
        ("train", "/home/te/all_reduce.py", State.WORKS),
        ("all_reduce", "my_distributed_c10d.py", State.WORKS),
    ],
)
def test_a_frame_gives_the_state(function: str, file: str, state: State) -> None:
    assert judge_process(process(0, Frame(function, file, 1), HF_LOOP)).state is state


def test_the_innermost_frame_decides() -> None:
    compiling = Frame("_compile", "torch/_dynamo/convert_frame.py", 1)
    standing = judge_process(process(0, Frame("broadcast", C10D, 1), compiling))
    assert (standing.state, standing.frame) == (State.COLLECTIVE, Frame("broadcast", C10D, 1))


def test_the_hooks_of_the_backward_pass_run_in_other_threads() -> None:
    main = process(0, Frame("_engine_run_backward", "torch/autograd/graph.py", 1)).main
    hook = Thread(name="", is_main=False, frames=(Frame("all_gather", C10D, 1),))
    pins = Thread(name="", is_main=False, frames=(Frame("_next_data", LOADER, 1),))
    with_hook = Process(pid=1, rank=0, threads=(pins, hook, main))
    assert judge_process(with_hook).state is State.COLLECTIVE
    without = Process(pid=1, rank=0, threads=(pins, main))
    assert judge_process(without).about == "runs the backward pass"


def test_equal_stacks_are_one_group_and_the_largest_is_first() -> None:
    found = groups(in_call(0, "barrier"), *(in_call(n, "all_reduce") for n in (3, 1, 2, 7)))
    assert [each.label for each in found] == ["ranks 1-3, 7", "rank 0"]


def test_late_ranks_are_named() -> None:
    late = [in_call(2, "_next_data", LOADER), in_call(5, "synchronize", "torch_npu/npu/utils.py")]
    found = judge_run(groups(in_call(0, "barrier"), in_call(1, "barrier"), process(4), *late))
    assert found.state is State.DATA
    assert found.what == (
        "Ranks 0-1: in a collective, waiting for ranks 2, 4-5. "
        "Rank 2: waits for the workers of the data loader."
    )


def test_all_ranks_in_one_collective() -> None:
    found = judge_run(groups(in_call(0, "barrier"), in_call(1, "barrier")))
    assert found.what == "Ranks 0-1: all are in barrier."
    assert "doctor" in found.advice


def test_different_collectives() -> None:
    found = judge_run(groups(in_call(0, "barrier"), in_call(1, "all_reduce")))
    assert found.what == (
        "The ranks are in different collectives: barrier (rank 0), all_reduce (rank 1)."
    )


def test_no_rank_in_a_collective() -> None:
    loading = in_call(0, "_next_data", LOADER)
    assert judge_run(groups(loading, process(1), process(2))).state is State.DATA
    moving = judge_run(groups(process(1, moved=True), process(2, TRAIN, moved=False)))
    assert moving.what == "The run works: rank 1 moved between two samples."
    still = judge_run(groups(process(1, moved=False)))
    assert (still.state, still.what) == (State.WORKS, "Rank 1: runs other code.")


def test_processes_without_a_rank() -> None:
    own = Process(pid=7, rank=None, threads=process(0).threads, source="a.json")
    assert labels([own, process(None)]) == "a.json: process 7, process 100"


def test_the_report_is_short_and_names_missing_processes() -> None:
    deep = process(0, *(Frame("call", "a.py", line) for line in range(40)))
    missing = [Missing(pid=9, rank=3, why="it ended."), Missing(pid=8, rank=None, why="it hangs.")]
    found = groups(deep)
    said = to_text(found, judge_run(found), missing)
    assert said.count("call (a.py:") == 24
    assert "    and 16 calls further out\n" in said
    assert "not sampled: rank 3, 9: it ended.\n" in said
    assert said.endswith("not sampled: process 8: it hangs.\n")
    coloured = groups(process(0, Frame("\x1b[31mcall", "a.py", 1)))
    assert "    \\x1b[31mcall (a.py:1)\n" in to_text(coloured, judge_run(coloured), [])
    empty = Process(pid=1, rank=0, threads=(Thread(name="", is_main=True, frames=()),))
    assert "    no Python frames\n" in to_text(groups(empty), judge_run(groups(empty)), [])


def test_a_worker_without_a_step_does_not_wait_for_the_device() -> None:
    idle = process(
        0, Frame("acquire_read", "vllm/distributed/device_communicators/shm_broadcast.py", 1)
    )
    busy = process(1, Frame("synchronize", "torch_npu/npu/streams.py", 120))
    found = judge_run(groups(idle, busy))
    assert found.state is State.DEVICE
    assert "Rank 1: waits until the device" in found.what
    assert "Rank 0: waits for the next step of the engine" in found.what
    assert judge_run(groups(idle)).state is State.IDLE
