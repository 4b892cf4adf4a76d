# SPDX-License-Identifier: Apache-2.0
"""Why a case did not pass: one table of rules, of which the first that fits decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.operators.run import Results


class Blame(StrEnum):
    """Where the reason lies."""

    ABSENT = "something that is not there"
    TEST = "the test"
    DEVICE = "the device"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Rule:
    """A group of failures: regular expressions of the result and of the case, and the reason."""

    group: str
    blame: Blame
    found: str
    reason: str
    case: str = ""

    def fits(self, case: str, found: str) -> bool:
        """Whether a case belongs to the group."""
        return bool(re.search(self.case, case) and re.search(self.found, found))


RULES = (
    Rule(
        "older operator",
        Blame.ABSENT,
        r"npusim: operator \w+ is not simulated in its aclop form",
        "torch_npu calls the operator in the older form (aclop), for which CANN compiles one of "
        "its own kernels. torch_npu may end the process after such an error.",
    ),
    Rule(
        "memory",
        Blame.ABSENT,
        r"^crash: exit -9\b|DefaultCPUAllocator: (?:can't|not enough)",
        "The case needs more memory than the machine has.",
    ),
    Rule(
        "compiler",
        Blame.ABSENT,
        r"(?i)ninja is required|error building extension|cmake|bisheng|ascendc|CompilerNotFound",
        "The case builds a program with CANN's headers or compilers.",
    ),
    Rule(
        "package",
        Blame.ABSENT,
        r"(?:ModuleNotFoundError|ImportError): No module named|(?i:please install)"
        r"|'' != \"torch\._native\.ops\.\w+\.triton",
        "The case needs a Python package that is not installed.",
    ),
    Rule(
        "network",
        Blame.ABSENT,
        r"URLError|ConnectionRefused|Name or service not known|name resolution|Max retries",
        "The case needs a network.",
    ),
    Rule(
        "NNAL",
        Blame.ABSENT,
        r"libatb\.so|OSError: \[Errno None\]",
        "The operator is one of NNAL's (libatb.so), which torch_npu does not find here.",
    ),
    Rule(
        "CANN's files",
        Blame.ABSENT,
        r"msprof|op_summary|kernel_details|libge_|aoe|FileNotFoundError.*(?:opp|Ascend)",
        "The case reads what CANN's profiler, graph engine or tuner writes, or files of CANN.",
    ),
    Rule(
        "crash",
        Blame.DEVICE,
        r"^crash(?![\s\S]*what\(\):\s+The Inner error)",
        "The process ended in the middle of the case.",
    ),
    Rule("hang", Blame.DEVICE, "^hang", "The process did nothing until the limit of a case."),
    Rule(
        "slow",
        Blame.DEVICE,
        "^slow|^not run",
        "The processor needs longer than the limit of a case or of a file.",
    ),
    Rule(
        "another torch",
        Blame.TEST,
        r"does not match \"Expected all tensors to be on the same device",
        "The test expects the words of another release of torch.",
    ),
    Rule(
        "another torch_npu",
        Blame.TEST,
        r"module 'torch(?:_npu)?[\w.]*' has no attribute|cannot import name"
        r"|has no attribute '\w*npu|unexpected keyword argument"
        r"|'_OpNamespace' '\w+' object has no attribute",
        "The test is for another commit of torch_npu than the wheel.",
    ),
    Rule(
        "the CPU's part",
        Blame.TEST,
        r"MKL FFT error|\"\w+\" not implemented for|addmv input tensors must have the same dtype",
        "The test compares with a call that fails on the CPU.",
    ),
    Rule(
        "approximate",
        Blame.TEST,
        "result error",
        "The wheel's gelu ignores `approximate`; the checkout's does not.",
        case=r"test_gelu\.py::.*tanh",
    ),
    Rule(
        "rounding",
        Blame.TEST,
        "result error",
        "The value is 0, and the test compares rounding errors of float32; the device sums in "
        "float64.",
        case=r"test_batchnorm_backward\.py::.*BatchNorm2D_float32",
    ),
    Rule(
        "rounding",
        Blame.TEST,
        "result error",
        "Several operators make a window and each rounds to half precision; the test expects the "
        "roundings of the CPU.",
        case=r"test_(?:hann|hamming)_window\.py::.*float16",
    ),
    Rule(
        "operator missing",
        Blame.DEVICE,
        r"not in libopapi\.so|npusim: .*(?:is|are) not simulated|no line of the table",
        "The device lacks an operator, or a form of its arguments.",
    ),
    Rule("error of the device", Blame.DEVICE, r"npusim: ", "The device refuses a call."),
    Rule(
        "no error",
        Blame.DEVICE,
        r"(?:Error|Exception) not raised",
        "The device accepts what the test expects CANN to refuse.",
    ),
    Rule(
        "wrong value",
        Blame.DEVICE,
        r"result error|not close|not less than|not equal|Mismatched|dtype error|shape error|!=",
        "A result differs from the expected one.",
    ),
)
UNKNOWN = Rule("other", Blame.UNKNOWN, "", "No rule fits.")


@dataclass(frozen=True)
class Failure:
    """A case that did not pass."""

    file: str
    case: str
    rule: Rule
    found: str

    @property
    def reason(self) -> str:
        """What it says, without what differs from case to case."""
        own = re.search(r"npusim: [^\n]*", self.found)
        text = own[0] if own else self.found.removeprefix("fail: ").partition("\n")[0]
        return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+|\b\d+\.\d+(?:e-?\d+)?", "…", text))[:160]


def failures(results: Results) -> Iterator[Failure]:
    """The cases that neither passed nor were skipped by the tests themselves."""
    for file, cases in sorted(results.items()):
        for case, found in cases.items():
            if found != "pass" and not found.startswith("skip"):
                name = f"{file}::{case}"
                rule = next((rule for rule in RULES if rule.fits(name, found)), UNKNOWN)
                yield Failure(file, case, rule, found)
