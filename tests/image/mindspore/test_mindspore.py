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
def test_imports(probe: Any, record: Facts) -> None:
    """MindSpore imports without a driver, in the target's version."""
    answer = probe("imports", "mindspore")["mindspore"]
    assert not answer["error"], answer["error"]
    assert answer["version"] == record["components"]["mindspore"]


@pytest.mark.any_image
def test_computes_on_the_cpu(host: Host) -> None:
    """MindSpore adds two tensors on the CPU."""
    result = host.run("python3 -c %s", ON_THE_CPU)
    assert result.rc == 0 and "sum 12.0" in result.stdout, result.stdout + result.stderr


@pytest.mark.inherited
def test_mindformers(facts: Facts, record: Facts) -> None:
    """MindFormers is installed, in its locked version."""
    found = facts["distributions"]["mindformers"]["version"]
    assert found == record["wheels"]["mindformers"]


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
def test_computes_on_the_npu(host: Host, device: str) -> None:
    """MindSpore's own check of an installation passes on the NPU."""
    if device == "simulated":
        pytest.skip("the software device has no stand-in for MindSpore's backend")
    program = "import mindspore; mindspore.set_device('Ascend'); mindspore.run_check()"
    result = host.run("python3 -c %s", program)
    assert result.rc == 0 and "successfully" in result.stdout, result.stdout + result.stderr
