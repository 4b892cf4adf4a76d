# SPDX-License-Identifier: Apache-2.0
"""The commands about hosts with NPUs, and about the training on them."""

from __future__ import annotations

from cannery.cli.command import Command

HOST_COMMANDS = (
    Command(
        name="doctor",
        summary="find what is wrong with this host, or with a failed run",
        description="Runs ascend-doctor, which every image has too, with the words that follow.",
        reads="this host, npu-smi and hccn_tool",
        writes="nothing; with --fix it shows what it changes, and asks",
        example="doctor --log train.log",
        options=(),
        passes_on=True,
    ),
    Command(
        name="ranktable",
        summary="generate, merge, check or show rank tables of HCCL",
        description="Generates the rank table of a run on several servers from their "
        "/etc/hccn.conf, from a list of hosts, or from a ConfigMap of Kubernetes; merges tables of "
        "single servers; checks tables, with all problems at once; or shows them. Needs no engine. "
        "See docs/rank-tables.md.",
        reads="the files that are named",
        writes="standard output, or the file of --out",
        example="ranktable generate --server node1=a.conf --out hccl.json",
        options=("ranktable.RankTableOptions",),
    ),
    Command(
        name="align",
        summary="compare the losses of a training run with a reference",
        description="Reads the training losses of two logs and compares the first ones: the first "
        "loss must be the same, the next ones close. Says at which step the runs part, what that "
        "hints at, and who says so, and draws both curves. Reads logs of HF Trainer, "
        "LLaMA-Factory, ms-swift, MindFormers and Megatron. Exits with code 8 if the runs part, "
        "and with 1 if too few losses are there. Needs no engine. See docs/training-checks.md.",
        reads="both logs",
        writes="nothing, or the file of --svg",
        example="align a800.jsonl 910b.jsonl --svg loss.svg",
        options=("align.AlignOptions",),
    ),
    Command(
        name="nan-hunt",
        summary="find the operator that made the first inf or NaN of a training run",
        description="Searches precision dumps of msprobe for the first operator whose inputs are "
        "finite and whose output is not, in each step and rank, and tells it apart from operators "
        "that only pass inf or NaN on and from those where they are normal. Exits with code 8 if "
        "one is found. Needs no engine. See docs/training-checks.md.",
        reads="dump.json, and construct.json and stack.json beside it",
        writes="nothing",
        example="nan-hunt dump_path",
        options=("nan_hunt.NanHuntOptions",),
    ),
    Command(
        name="stuck",
        summary="find out what a training run waits for",
        description="Takes the Python stacks of all ranks of a run with py-spy, shows which ranks "
        "stand together, and says whether the run waits for data, a collective, compilation or the "
        "device, or works. The ranks are the processes with RANK or LOCAL_RANK in their "
        "environment, below PID or in CONTAINER; the container needs no py-spy. Reads saved dumps "
        "with --dump. Changes nothing: each process stops for a moment. See "
        "docs/stuck-and-smoke.md.",
        reads="the memory of the processes, which needs root or the user of the run; or dumps",
        writes="nothing",
        example="stuck my-training",
        options=("stuck.StuckOptions",),
    ),
    Command(
        name="smoke",
        summary="test the cards of this host in a container, in a minute",
        description="In a container with cards: multiplies matrices of each type and compares them "
        "with the CPU, measures the memory and an all-reduce beside the bandwidth of the hardware "
        "where a source has it, and trains a tiny model. Writes a JSON document with which hosts "
        "are compared. On a simulated device no speed is measured. Exits with code 8 if a check "
        "fails. See docs/stuck-and-smoke.md.",
        reads="an image or a container of the engine, and the devices of this host",
        writes="nothing, or the file of --json",
        example="smoke --image mine:latest --json node1.json",
        options=("smoke.SmokeOptions",),
    ),
)
