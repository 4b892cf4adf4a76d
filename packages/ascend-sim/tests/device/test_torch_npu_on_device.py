# SPDX-License-Identifier: Apache-2.0
"""torch_npu on the simulated device: the smoke test of ascend-doctor, NNAL's operators, torchair.

With CANNERY_TORCH_PYTHON, the path of a Python that has both; 'nox -s operators'.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conformance.operators.host import environment
from conformance.usage import first_use, ranks
from conformance.usage.checks import CHECKS

from .hosts import FOLDER

PYTHON = os.environ.get("CANNERY_TORCH_PYTHON")
DOCTOR = FOLDER.parent / "ascend-doctor"


@pytest.fixture(autouse=True, scope="module")
def _has_torch_npu() -> None:
    """Skip the tests where there is none."""
    if PYTHON is None:
        pytest.skip("CANNERY_TORCH_PYTHON is not set")
    find = "from importlib.util import find_spec; raise SystemExit(not find_spec('torch_npu'))"
    if subprocess.run([PYTHON, "-c", find], check=False).returncode:
        pytest.skip("CANNERY_TORCH_PYTHON has no torch_npu")


WAITING = (
    *(check for check in first_use.CHECKS if check is not first_use.forked_process),
    ranks.fully_sharded,
)
"""Checks that wait for the device with Python's lock. Other errors are told late by queue 2."""
LARGEST_ERROR = 1e-6
"""Of float32, where the sums are computed in double."""
GRAPH = """
import torch, torch_npu
import torch_npu.dynamo.torchair as torchair
twice = torch.compile(lambda x: x * 2, backend=torchair.get_npu_backend(), dynamic=False)
try:
    twice(torch.ones(3).npu())
except Exception as error:
    print(error)
"""
EXTERNAL_EVENT = """
import torch, torch_npu
total, step = torch.zeros(1).npu(), torch.ones(1).npu()
stream, other = torch.npu.Stream(), torch.npu.Stream()
event, graph = torch.npu.ExternalEvent(), torch.npu.NPUGraph()
with torch.npu.graph(graph, stream=stream):
    event.wait(torch.npu.current_stream())
    event.reset(torch.npu.current_stream())
    total.add_(step)
found = [int(total)]
for value in (5, 10):
    with torch.npu.stream(stream):
        graph.replay()
    found.append(stream.query())
    step.fill_(value)
    event.record(other)
    stream.synchronize()
    found.append(int(total))
print(str(found).lower())
"""

RECURRENT = """
import copy, torch, torch_npu
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
def padded(of, steps):
    output, state = of(pack_padded_sequence(steps, [6, 5, 3]))
    return [pad_packed_sequence(output)[0], *state]
def whole(of, steps):
    output, state = of(steps)
    return [output, *(state if isinstance(state, tuple) else [state])]
def gradients(of, steps, run):
    results = run(of, steps)
    # torch_npu takes the gradient of the last states of a reverse direction from the wrong end.
    used = results[:1] if of.bidirectional and run is padded else results
    sum((part ** 2).sum() for part in used).backward()
    # Of sequences of different lengths, PyTorch itself reads the input's gradient at wrong places.
    inputs = [steps] if run is whole else []
    return [*results, *(each.grad for each in (*inputs, *of.parameters()))]
worst = 0.0
for kind, runs in ((torch.nn.LSTM, (whole, padded)), (torch.nn.GRU, (whole,))):
    for settings in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False}):
        ours = kind(4, 16, **settings)
        for run in runs:
            steps = torch.randn(6, 3, 4)
            theirs = copy.deepcopy(ours.eval()).npu()
            with torch.no_grad():
                pairs = [*zip(run(ours, steps), run(theirs, steps.npu()), strict=True)]
            ours.train(), theirs.train(), ours.zero_grad()
            inputs = [steps.clone().requires_grad_(), steps.npu().requires_grad_()]
            found = [gradients(of, at, run) for of, at in zip((ours, theirs), inputs)]
            pairs += zip(*found, strict=True)
            worst = max([worst, *(float((a - b.cpu()).abs().max()) for a, b in pairs)])
print(worst)
"""
USAGE = """
import runpy
runpy.run_module("conformance.usage.checks", run_name="__main__")
"""
INDEXED = """
import torch, torch_npu
places = torch.tensor([[0, 1]])
def chosen(x, at):
    return [x[at, :, at], x[at, ..., at], x[False], x[True]]
same = []
for shape in ((2, 3, 2, 4), (64, 40, 40, 6)):
    x = torch.randn(shape)
    pairs = zip(chosen(x, places), chosen(x.npu(), places.npu()), strict=True)
    same += [torch.equal(a, b.cpu()) for a, b in pairs]
print(str(same).lower())
"""
GRADIENTS = """
import torch, torch_npu
def gradients(device, of, inputs):
    inputs = [each.to(device).requires_grad_() for each in inputs]
    result = of(*inputs)
    result.square().sum().backward()
    return [result, *(each.grad for each in inputs)]
def error(of, *shapes):
    inputs = [torch.randn(shape) for shape in shapes]
    pairs = zip(gradients("npu", of, inputs), gradients("cpu", of, inputs), strict=True)
    differences = [(a.cpu() - b).abs() / (1 + b.abs()) for a, b in pairs]
    return max(float(each.max()) for each in differences if each.numel())
torch.manual_seed(1)
"""
DISTANCES = f"""{GRADIENTS}
shapes = [((5, 3), (4, 3)), ((2, 5, 3), (2, 4, 3)), ((5, 3), (0, 3)), ((0, 3), (4, 3))]
shapes += [((1, 5, 3), (2, 4, 3)), ((1, 5, 3), (0, 4, 3))]
print(max(
    error(lambda x, y: torch.cdist(x, y, p=p), *each)
    for each in shapes
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))
))
"""
REPEATED = f"""{GRADIENTS}
times = torch.tensor([1, 0, 3])
print(max(
    error(lambda x: x.repeat_interleave(times.to(x.device), dim), shape)
    for dim, shape in ((0, (3,)), (0, (3, 2)), (-1, (2, 3)), (1, (2, 3, 2)))
))
"""


CHIP = """
import json, torch, torch_npu
from torch import nn
def refused(action):
    try:
        action()
        torch.npu.synchronize()
    except RuntimeError as error:
        return "lets it pass here" in str(error)
    return False
def losses(device):
    torch.manual_seed(1)
    layers = nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5)
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    inputs, wanted = torch.randn(6, 8).to(device), torch.randint(0, 5, (6,)).to(device)
    found = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        found.append(float(loss))
    return found
def attended(device):
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).to(device)
    steps = torch.randn(2, 5, 16).to(device).requires_grad_()
    layer(steps).square().sum().backward()
    return steps.grad.cpu()
def attention():
    try:
        return float((attended("npu") - attended("cpu")).abs().max()) < 1e-4
    except RuntimeError as error:
        return "can not cast format when output is input" in str(error) and "torch_npu"
pairs = [*zip(losses("npu"), losses("cpu"))]
ones = [torch.ones(2, 2, dtype=kind).npu() for kind in (torch.bfloat16, torch.float64)]
image = torch.ones(1, 1, 3, 3, dtype=torch.float64).npu()
print(json.dumps({
    "name": torch.npu.get_device_name(0),
    "memory": torch.npu.get_device_properties(0).total_memory >> 20,
    "compiles": not torch_npu.npu.is_jit_compile_false(),
    "bfloat16": torch.npu.is_bf16_supported(),
    "random": str(torch.randn(3).npu()).startswith("tensor(["),
    "largest": max(abs(a - b) for a, b in pairs),
    "falls": pairs[-1][0] < pairs[0][0],
    "attention": attention(),
    "refused": [refused(lambda: each @ each) for each in ones],
    "refuses convolution": refused(lambda: nn.functional.conv2d(image, image)),
}))
"""


def run(
    built: Path, folder: Path, script: str, *arguments: str, chip: str = "910b", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Runs ``script`` on the device; its output and errors are one text."""
    assert PYTHON is not None
    return subprocess.run(
        [PYTHON, "-W", "ignore", "-c", script, *arguments],
        env={**environment(built, folder, chip=chip), "NPUSIM_LENIENT": "1", **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2400,
        check=True,
    )


def smoke(built: Path, folder: Path, **changes: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code of 'ascend-doctor smoke', and its checks by name."""
    assert PYTHON is not None
    own = {**environment(built, folder), "NPUSIM_LENIENT": "1", **changes}
    own["PYTHONPATH"] = f"{DOCTOR}:{own.get('PYTHONPATH', '')}"
    results = folder / "smoke.json"
    words = ("smoke", "--cards", "2", "--seconds", "240", "--json", str(results))
    done = subprocess.run(
        [PYTHON, "-m", "ascend_doctor", *words],
        env=own,
        timeout=300,
        check=False,
    )
    document = json.loads(results.read_text(encoding="utf-8"))
    assert document["simulated"] is True
    return done.returncode, {each["name"]: each for each in document["checks"]}


def test_every_check_passes(built: Path, tmp_path: Path) -> None:
    code, checks = smoke(built, tmp_path)
    assert code == 0
    assert {*checks} == {
        *("matmul/float32", "matmul/float16", "matmul/bfloat16"),
        *("memory", "training", "all-reduce"),
    }
    assert {each["standing"] for each in checks.values()} == {"passed"}
    assert checks["all-reduce"]["text"] == "2 of 2 ranks have the sum of all."


def test_wrong_products_are_found(built: Path, tmp_path: Path) -> None:
    code, checks = smoke(built, tmp_path, NPUSIM_FAULT="matmul")
    assert code == 8
    wrong = {name for name, each in checks.items() if each["standing"] == "failed"}
    assert wrong >= {"matmul/float32", "training"}
    assert checks["memory"]["standing"] == "passed"


@pytest.mark.parametrize(
    "cases",
    [
        ["rotary, halves", "cache", "paged attention", "linear", "prompts", "prompts, masked"],
        ["rotary, neighbours", "cache in a graph"],
    ],
)
def test_operators_of_nnal(built: Path, tmp_path: Path, cases: list[str]) -> None:
    script = Path(__file__).with_name("atb_values.py").read_text(encoding="utf-8")
    done = run(built, tmp_path, script, *cases)
    errors = json.loads(done.stdout.splitlines()[-1])
    assert {*errors} == {*cases}
    assert max(errors.values()) < LARGEST_ERROR


def test_recurrent_networks(built: Path, tmp_path: Path) -> None:
    """With their gradients, outside of training, and sequences of different lengths."""
    done = run(built, tmp_path, RECURRENT)
    assert json.loads(done.stdout.splitlines()[-1]) < 10 * LARGEST_ERROR


@pytest.mark.parametrize(("queue", "checks"), [("1", CHECKS), ("2", WAITING)])
def test_common_usage_computes_as_on_the_cpu(
    built: Path, tmp_path: Path, queue: str, checks: Sequence[Callable[[], None]]
) -> None:
    """With the types that the card takes. The second queue plans operators on its own thread."""
    settings = {
        "NPUSIM_LENIENT": "0",
        "PYTHONPATH": str(FOLDER),
        "ASCEND_RT_VISIBLE_DEVICES": "0,1",
        "TASK_QUEUE_ENABLE": queue,
    }
    names = [check.__name__ for check in checks]
    done = run(built, tmp_path, USAGE, *names, **settings)
    lines = [line for line in done.stdout.splitlines() if line.startswith("check: ")]
    found = dict(json.loads(line[len("check: ") :]) for line in lines)
    assert found == dict.fromkeys(names, "pass")


@pytest.mark.parametrize(
    ("chip", "name", "memory", "first"),
    [
        ("310p", "Ascend310P3", 44280, True),
        ("910", "Ascend910A", 32768, True),
        ("950", "Ascend950PR_9579", 131072, False),
    ],
)
def test_another_chip(
    built: Path, tmp_path: Path, chip: str, name: str, memory: int, first: bool
) -> None:
    """The first chips compute with the older interface, in float16, and without bfloat16."""
    settings = {"NPUSIM_LENIENT": "0", "ASCEND_LAUNCH_BLOCKING": "1"}
    done = run(built, tmp_path, CHIP, chip=chip, **settings)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer.pop("largest") < (0.01 if first else LARGEST_ERROR * 10)
    assert answer == {
        "name": name,
        "memory": memory,
        "compiles": first,
        "bfloat16": not first,
        "random": True,
        "falls": True,
        "attention": "torch_npu" if first else True,
        "refused": [first, True],
        "refuses convolution": chip != "910",
    }


def test_an_index_beside_whole_dimensions(built: Path, tmp_path: Path) -> None:
    """Small tensors are indexed by the device itself, and large ones by PyTorch."""
    done = run(built, tmp_path, INDEXED)
    assert {*json.loads(done.stdout.splitlines()[-1])} == {True}


@pytest.mark.parametrize("chip", ["910b", "910", "950"])
def test_gradients_of_distances(built: Path, tmp_path: Path, chip: str) -> None:
    """The first chips compute them with the older interface, of most norms the 910B too."""
    done = run(built, tmp_path, DISTANCES, chip=chip)
    assert json.loads(done.stdout.splitlines()[-1]) < 10 * LARGEST_ERROR


def test_gradients_of_repeated_elements(built: Path, tmp_path: Path) -> None:
    """How often each is repeated is a tensor."""
    done = run(built, tmp_path, REPEATED)
    assert json.loads(done.stdout.splitlines()[-1]) < LARGEST_ERROR


def test_torchair_reports_the_missing_graph_engine(built: Path, tmp_path: Path) -> None:
    """Its libraries load: vllm-ascend imports it even where it runs no graph."""
    done = run(built, tmp_path, GRAPH)
    assert "CANN's graph engine is not simulated" in done.stdout


def test_a_replay_waits_for_an_external_event(built: Path, tmp_path: Path) -> None:
    """What the program changes before it records the event is what the replay computes with."""
    done = run(built, tmp_path, EXTERNAL_EVENT)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, False, 5, False, 15]
