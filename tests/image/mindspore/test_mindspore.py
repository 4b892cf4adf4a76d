# SPDX-License-Identifier: Apache-2.0
"""MindSpore and MindFormers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]

ON_THE_CPU = """
import mindspore, numpy
mindspore.set_context(device_target='CPU')
ones = mindspore.Tensor(numpy.ones([2, 3], numpy.float32))
print('sum', float((ones + ones).sum()))
"""

CHECK = """
import mindspore
if hasattr(mindspore, 'set_device'):
    mindspore.set_device('Ascend')
else:
    mindspore.set_context(device_target='Ascend')
mindspore.run_check()
"""

TRAINING = """
import numpy, mindspore
from mindspore import mint, nn

mindspore.set_device('Ascend')
mindspore.set_seed(0)
Linear = mint.nn.Linear

class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = mint.nn.Embedding(64, 32), mint.nn.LayerNorm((32,))
        self.query, self.key, self.value = [Linear(32, 32, bias=False) for _ in range(3)]
        self.up, self.down, self.head = Linear(32, 64), Linear(64, 32), Linear(32, 64)
        self.mask = mindspore.Tensor(numpy.triu(numpy.full([8, 8], -1e4, numpy.float32), 1))

    def construct(self, tokens):
        hidden = self.embedding(tokens)
        normed = self.norm(hidden)
        scores = mint.matmul(self.query(normed), mint.transpose(self.key(normed), 1, 2)) / 32**0.5
        weights = mint.nn.functional.softmax(scores + self.mask, dim=-1)
        hidden = hidden + mint.matmul(weights, self.value(normed))
        hidden = hidden + self.down(mint.nn.functional.silu(self.up(hidden)))
        return self.head(hidden)

network, loss_of = Network(), mint.nn.CrossEntropyLoss()
parameters = list(network.trainable_params())
optimizer = mint.optim.AdamW(parameters, lr=1e-2)

def forward(tokens, following):
    logits = network(tokens)
    return loss_of(mint.reshape(logits, (-1, 64)), mint.reshape(following, (-1,)))

gradients_of = mindspore.value_and_grad(forward, None, parameters)
tokens = numpy.random.RandomState(0).randint(0, 64, [4, 9])
inputs, following = [mindspore.Tensor(tokens[:, a:a + 8], mindspore.int64) for a in (0, 1)]
for _ in range(6):
    loss, gradients = gradients_of(inputs, following)
    optimizer(gradients)
    print('loss', float(loss.asnumpy()))
"""

# Two servers of one card each, as hccl_tools.py writes them.
TABLES = """
import json, os, sys
os.makedirs('/tmp/tables', exist_ok=True)
for number in range(2):
    device = {'device_id': '0', 'device_ip': '10.0.0.%d' % number, 'rank_id': '0'}
    server = {'server_id': '10.0.1.%d' % number, 'device': [device], 'host_nic_ip': 'reserve'}
    table = {'version': '1.0', 'server_count': '1', 'server_list': [server], 'status': 'completed'}
    json.dump(table, open('/tmp/tables/hccl_%d.json' % number, 'w'))
"""


@pytest.mark.any_image
def test_imports(probe: Any, locked: Any) -> None:
    """MindSpore imports without a driver, in the target's version."""
    answer = probe("imports", "mindspore")["mindspore"]
    assert not answer["error"], answer["error"]
    assert answer["version"] in locked("mindspore")


@pytest.mark.any_image
def test_computes_on_the_cpu(host: Host) -> None:
    """MindSpore adds two tensors on the CPU."""
    result = host.run("python3 -c %s", ON_THE_CPU)
    assert result.rc == 0 and "sum 12.0" in result.stdout, result.stdout + result.stderr


@pytest.mark.inherited
def test_mindformers(facts: Facts, locked: Any) -> None:
    """MindFormers is installed, in its locked version."""
    found = facts["distributions"]["mindformers"]["version"]
    assert found in locked("mindformers")


def test_mindformers_finds_what_it_imports(probe: Any) -> None:
    """No module that MindFormers imports is missing, those in no package index either."""
    error = probe("imports", "mindformers")["mindformers"]["error"]
    assert "ModuleNotFoundError" not in error, error


def test_rank_tables_are_merged(host: Host, record: Facts) -> None:
    """MindFormers' merge_hccl.py makes one rank table of two."""
    tool = record["site_packages"] + "/mindformers/tools/merge_hccl.py"
    if not host.file(tool).exists:
        pytest.skip("this MindFormers has no rank-table tools")
    assert host.run("python3 -c %s", TABLES).rc == 0
    result = host.run("cd /tmp/tables && python3 %s hccl_0.json hccl_1.json", tool)
    assert result.rc == 0, result.stderr
    merged = json.loads(host.check_output("cat /tmp/tables/hccl_2s_2p.json"))
    ranks = [device["rank_id"] for server in merged["server_list"] for device in server["device"]]
    assert ranks == ["0", "1"]


@pytest.mark.any_image
@pytest.mark.device
def test_computes_on_the_npu(host: Host) -> None:
    """MindSpore's own check of an installation passes on the NPU."""
    result = host.run("python3 -c %s", CHECK)
    assert result.rc == 0 and "successfully" in result.stdout, result.stdout + result.stderr


@pytest.mark.any_image
@pytest.mark.device
def test_trains_on_the_npu(host: Host, record: Facts) -> None:
    """A network with attention learns on the NPU, with the operators of mindspore.mint."""
    if record["components"]["mindspore"].startswith(("1.", "2.0.")):
        pytest.skip("this MindSpore has no mindspore.mint")
    result = host.run("python3 -c %s", TRAINING)
    assert result.rc == 0, result.stdout + result.stderr
    losses = [float(line.split()[1]) for line in result.stdout.splitlines() if "loss " in line]
    assert len(losses) == 6
    assert losses[-1] < 0.7 * losses[0], losses
