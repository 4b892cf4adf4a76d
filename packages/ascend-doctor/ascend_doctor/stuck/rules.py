# SPDX-License-Identifier: Apache-2.0
"""The frames by which a stack is recognised. The innermost frame that a rule fits decides.

``files`` are matched with the end of a frame's file, and ``functions`` with the whole name. A rule
names only functions that are called while the process waits: those that also stand in the stack
of a running model, such as torch/_dynamo/eval_frame.py, would hide what it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from cannery.stuck.model import Frame, State


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Frames that say what a process does; ``source`` is where their names were read."""

    state: State
    about: str
    files: str = ""
    functions: str = ""
    source: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        file = f"(?:.*/)?(?:{self.files})" if self.files else ".*"
        # Since Python 3.11 py-spy puts the class before the name of a method.
        function = rf"(?:.*[.:])?(?:{self.functions})" if self.functions else ".*"
        return re.compile(f"{file}\n{function}", re.DOTALL)

    def fits(self, frame: Frame) -> bool:
        """Whether ``frame`` is one of its frames."""
        return bool(self._pattern.fullmatch(f"{frame.file}\n{frame.function}"))


def _collective(about: str, files: str, source: str, functions: str = "") -> Rule:
    return Rule(
        state=State.COLLECTIVE, about=about, files=files, functions=functions, source=source
    )


def _data(about: str, files: str, source: str, functions: str = "") -> Rule:
    return Rule(state=State.DATA, about=about, files=files, functions=functions, source=source)


def _compile(about: str, files: str, source: str, functions: str = "") -> Rule:
    return Rule(state=State.COMPILE, about=about, files=files, functions=functions, source=source)


_COLLECTIVES = (
    _collective(
        "joins the process group",
        r"torch/distributed/rendezvous\.py|torch/distributed/distributed_c10d\.py",
        "pytorch 2.13, torch/distributed",
        r"_store_based_barrier|_new_process_group_helper|init_process_group|new_group"
        r"|_(env|tcp|file)_rendezvous_handler|_create_c10d_store",
    ),
    _collective(
        "a collective of torch.distributed",
        r"torch/distributed/(distributed_c10d|_functional_collectives|nn/functional)\.py",
        "pytorch 2.13, torch/distributed",
    ),
    _collective(
        "compares the parameters of DistributedDataParallel between ranks",
        r"torch/distributed/utils\.py",
        "pytorch 2.13, torch/distributed/utils.py",
        r"_verify_param_shape_across_processes|_sync_module_states|_sync_params_and_buffers",
    ),
    _collective(
        "a collective of torch_npu",
        r"torch_npu/distributed/distributed_c10d\.py",
        "torch_npu 2.13.0",
    ),
    _collective(
        "a collective of DeepSpeed", r"deepspeed/comm/(comm|torch)\.py", "microsoft/DeepSpeed"
    ),
    _collective(
        "sends or receives between pipeline stages",
        r"megatron/core/pipeline_parallel/(p2p|bridge)_communicat(ion|or)\.py",
        "NVIDIA/Megatron-LM",
    ),
    Rule(
        state=State.COLLECTIVE,
        about="a collective of HCCL",
        functions=r"Hccl[A-Z]\w*(\(.*)?|c10d_npu::.*|.*ProcessGroupHCCL.*",
        source="hccl.h in the torch_npu wheel; names of symbols, with --native",
    ),
)

_DATA = (
    _data(
        "waits for the workers of the data loader",
        r"torch/utils/data/dataloader\.py",
        "pytorch 2.13, torch/utils/data/dataloader.py",
        r"_try_get_data|_get_data|_next_data|__next__|_reset|_process_data|_shutdown_workers",
    ),
    _data(
        "makes a batch",
        r"torch/utils/data/_utils/(fetch|collate|worker|pin_memory)\.py",
        "pytorch 2.13, torch/utils/data/_utils",
    ),
    _data(
        "prepares a data set of Hugging Face",
        r"datasets/(arrow_dataset|iterable_dataset|dataset_dict|builder|load|table|fingerprint)\.py"
        r"|datasets/(formatting|packaged_modules|utils)/.*\.py",
        "huggingface/datasets, src/datasets",
    ),
    _data(
        "tokenizes",
        r"transformers/tokenization_\w+\.py|transformers/models/\w+/tokenization_\w+\.py",
        "huggingface/transformers, src/transformers",
    ),
    _data(
        "makes the index of a data set",
        r"megatron/(core|legacy)/(datasets|data)/.*\.py|megatron/data/.*\.py",
        "NVIDIA/Megatron-LM",
    ),
    _data(
        "waits for the data pipeline of MindSpore",
        r"mindspore/dataset/engine/.*\.py",
        "mindspore-ai/mindspore, mindspore/python/mindspore/dataset/engine",
    ),
)

_COMPILES = (
    _compile(
        "torch.compile traces or compiles",
        r"torch/_dynamo/(convert_frame|symbolic_convert|output_graph)\.py"
        r"|torch/_inductor/(async_compile|scheduler|graph|lowering)\.py",
        "pytorch 2.13, torch/_dynamo and torch/_inductor",
    ),
    _compile(
        "torch.compile compiles",
        r"torch/_inductor/compile_fx\.py",
        "pytorch 2.13, torch/_inductor/compile_fx.py",
        r"_?compile_fx\w*|fx_codegen_and_compile|codegen_and_compile",
    ),
    _compile(
        "builds a C++ extension",
        r"torch/utils/cpp_extension\.py|deepspeed/ops/op_builder/builder\.py",
        "pytorch 2.13, torch/utils/cpp_extension.py; microsoft/DeepSpeed",
        r"load|load_inline|jit_load|_jit_compile|_write_ninja_file_and_build_library"
        r"|_run_ninja_build",
    ),
    _compile(
        "waits until another process has built a C++ extension",
        r"torch/utils/file_baton\.py",
        "pytorch 2.13, torch/utils/file_baton.py",
    ),
    _compile(
        "CANN compiles operators",
        r"(tbe/(common|dsl|tikcpp|tvm)|te_fusion|te/(lang|platform|tvm))/.*\.py",
        "stacks in issues of vllm-ascend and MindFormers: tbe/common, te_fusion",
    ),
    _compile(
        "triton compiles",
        r"triton/(compiler|backends)/.*\.py|triton/runtime/build\.py",
        "triton-lang/triton, python/triton",
    ),
    _compile(
        "MindSpore compiles a graph",
        r"mindspore/common/api\.py",
        "mindspore-ai/mindspore, mindspore/python/mindspore/common/api.py",
        r"compile|_compile\w*",
    ),
    Rule(
        state=State.COMPILE,
        about="CANN compiles operators",
        functions=r"aclopCompile\w*|aclGenGraph\w*|ge::.*Compile.*|te_fusion::.*",
        source="acl_op_compiler.h in the torch_npu wheel; names of symbols, with --native",
    ),
)

_OTHERS = (
    Rule(
        state=State.DEVICE,
        about="waits until the device has carried out what was launched",
        files=r"torch_npu/npu/(utils|streams)\.py",
        functions="synchronize",
        source="torch_npu 2.13.0, npu/utils.py and npu/streams.py",
    ),
    Rule(
        state=State.DEVICE,
        about="waits until the device has carried out what was launched",
        functions=r"aclrtSynchronize\w*|aclrtMemcpy",
        source="acl_rt.h in the torch_npu wheel; names of symbols, with --native",
    ),
    Rule(
        state=State.WORKS,
        about="runs the backward pass",
        files=r"torch/autograd/(graph|__init__)\.py",
        functions=r"_engine_run_backward|backward",
        source="pytorch 2.13, torch/autograd/graph.py",
    ),
    Rule(
        state=State.WORKS,
        about="reads or writes a checkpoint",
        files=r"torch/serialization\.py|safetensors/torch\.py",
        source="pytorch 2.13, torch/serialization.py; huggingface/safetensors",
    ),
)

RULES = (*_COLLECTIVES, *_DATA, *_COMPILES, *_OTHERS)
BACKWARD = _OTHERS[2]
"""The rule of the backward pass, whose hooks run in threads of their own."""
