# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: uses the device as people do, and prints what came out."""

import ast
import json
import os
import re

SNIPPET = """\
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu

torch.rand([100, 100]).cuda() @ torch.rand([100, 100]).cuda()
"""
"""What people paste into a new environment to see whether it works."""

answer = {}


def step(name, function):
    try:
        answer[name] = function()
    except BaseException as error:
        answer[name] = {"error": "%s: %s" % (type(error).__name__, error)}


def value_of_last_line(source):
    body = ast.parse(source).body
    last = body.pop()
    names = {}
    exec(compile(ast.Module(body=body, type_ignores=[]), "snippet", "exec"), names)
    torch.manual_seed(7)
    return eval(compile(ast.Expression(last.value), "snippet", "eval"), names)


def matmul():
    product = value_of_last_line(SNIPPET)
    torch.manual_seed(7)
    expected = torch.rand([100, 100]) @ torch.rand([100, 100])
    found = product.cpu()
    return {
        "device": str(product.device),
        "shape": list(found.shape),
        "largest_error": float((found - expected).abs().max()),
        "largest_value": float(expected.abs().max()),
    }


def random_tensor():
    tensor = torch.randn(10, device="npu:0")
    return {"device": str(tensor.device), "text": str(tensor), "shape": list(tensor.shape)}


def to_numpy():
    array = (torch.arange(6, dtype=torch.float32).reshape(2, 3).npu() * 2).cpu().numpy()
    return {"type": type(array).__name__, "values": array.tolist()}


def loaded_libraries():
    with open("/proc/self/maps") as stream:
        paths = {line.split()[-1] for line in stream if ".so" in line}
    wanted = re.compile(r"/lib(ascendcl|ascend_hal|hccl|opapi)\.so")
    return sorted(os.path.realpath(path) for path in paths if wanted.search(path))


import torch  # noqa: E402
import torch_npu  # noqa: E402, F401

step("available", lambda: bool(torch.npu.is_available()))
step("count", lambda: int(torch.npu.device_count()))
step("name", lambda: str(torch.npu.get_device_name(0)))
step("random", random_tensor)
step("numpy", to_numpy)
step("matmul", matmul)
step("libraries", loaded_libraries)
print(json.dumps(answer))
