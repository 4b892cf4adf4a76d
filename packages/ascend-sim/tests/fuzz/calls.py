# SPDX-License-Identifier: Apache-2.0
"""Random calls of one thread: functions of the table, and operators in their two steps."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .arguments import HOST_BYTES, SHAPES, WILD_NUMBERS, Arguments
from .operators import c_function, own_operators, torch_operators

LINE = re.compile(r"(?:(\d+) )?(\w+)\((.*)\)")
POINTERS = re.compile(
    r"aclCreate|aclopCreateAttr|aclGetRecentErrMsg|aclrtGetSocName|HcclGetErrorS"
    r"|acltdtCreate|acltdtGet(DatasetName|DataItem|DataAddr)"
)
MADE_BY_RETURN = {
    "aclCreateTensor": "tensor",
    "aclCreateScalar": "scalar",
    "aclCreateIntArray": "ints",
    "aclCreateFloatArray": "floats",
    "aclCreateBoolArray": "bools",
    "aclCreateTensorList": "tensors",
    "aclCreateScalarList": "scalars",
    "aclCreateTensorDesc": "desc",
    "aclCreateDataBuffer": "buffer",
    "aclopCreateAttr": "attr",
    "acltdtCreateChannel": "channel",
    "acltdtCreateChannelWithCapacity": "channel",
    "acltdtCreateDataset": "dataset",
    "acltdtCreateDataItem": "item",
}
NOT_SHARED = re.compile(
    # Two threads must not change one object at once, nor take memory away that another one uses.
    r"acl\w*SetTensor|aclopSetAttr|aclrtUnmapMem|aclrtIpcMemClose|aclrtFreeHost|aclrtHostUnreg"
    r"|aclrtReleaseMem|acltdt(AddDataItem|ReceiveTensor)|aclnn(MaskedSelect|Nonzero|NonzeroV2|Unique2)\b"
)
OPERATORS, MEMORY_COPIES, WAITS = "Operators", "Memory", "Waiting streams"


@dataclass(frozen=True)
class Function:
    name: str
    kinds: tuple[str, ...]
    family: str


def functions() -> dict[Function, int]:
    """The functions of functions.txt, and how often each is called."""
    found: dict[Function, int] = {}
    family = ""
    for line in (Path(__file__).parent / "functions.txt").read_text().splitlines():
        if line.startswith("# "):
            family = line[2:]
        elif match := LINE.fullmatch(line):
            kinds = tuple(kind for kind in match[3].split(", ") if kind)
            found[Function(match[2], kinds, family)] = int(match[1] or 10)
    return found


class Caller:
    """Makes calls and counts how they end; tells each to `announce` before it is made."""

    def __init__(
        self, library: ctypes.CDLL, arguments: Arguments, announce: Callable[[str], None]
    ) -> None:
        self.library, self.arguments, self.announce = library, arguments, announce
        self.chance, self.pools = arguments.chance, arguments.pools
        self.ended: Counter[tuple[str, bool]] = Counter()
        self.total = 0

    def call(self, family: str, name: str, *arguments: object) -> int:
        function = self.library[name]
        function.restype = ctypes.c_void_p if POINTERS.match(name) else ctypes.c_int
        self.announce(name)
        self.total += 1
        result = function(*arguments) or 0
        is_pointer = function.restype is ctypes.c_void_p
        self.ended[family, bool(result) if is_pointer else result == 0] += 1
        return int(result)

    def table(self, function: Function) -> None:
        """A call of a function of the table, and what becomes of handles by it."""
        given = [self.arguments(kind) for kind in function.kinds]
        self.arguments.made[0] = None
        result = self.call(function.family, function.name, *given)
        if kind := MADE_BY_RETURN.get(function.name):
            if result:
                self._made(kind, result)
        elif result == 0:
            self._follow(function, given)
        if self.arguments.leak:
            ctypes.CDLL(None).free(self.arguments.leak)
            self.arguments.leak.value = None
        self.arguments.kept.clear()

    def _follow(self, function: Function, given: list[Any]) -> None:
        for kind, argument in zip(function.kinds, given, strict=True):
            if kind[0] == "+" and argument is not None and self.arguments.made[0]:
                self._made(kind[1:], self.arguments.made[0])
            elif kind[0] == "-" and argument.value:
                self.pools.remove(kind[1:], argument.value)
            elif kind == "key_place" and argument is not None:
                self.pools.key = argument.value

    def _made(self, kind: str, handle: int) -> None:
        self.pools.add(kind, handle)

    def operator(self, name: str, kinds: tuple[str, ...]) -> None:
        """Plans an operator, and mostly carries it out."""
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        places = [ctypes.byref(size), ctypes.byref(executor)]
        if self.chance.random() < 0.02:
            places[self.chance.randrange(2)] = None  # type: ignore[call-overload]  # null
        given = [self.arguments(kind) for kind in kinds]
        code = self.call(OPERATORS, f"{c_function(name)}GetWorkspaceSize", *given, *places)
        if code == 0 and executor.value:
            self.pools.add("executor", executor.value)
        if self.chance.random() < 0.9 and executor.value:
            handle: ctypes.c_void_p = executor
        else:
            handle = self.arguments("executor")
        code = self.call(OPERATORS, c_function(name), None, size, handle, self.arguments("stream"))
        if handle.value:
            self.pools.remove("executor", handle.value)
        self.arguments.kept.clear()

    def tensor(self) -> None:
        """A tensor that mostly fits its memory."""
        shape = list(self.chance.choice(SHAPES))
        if shape and self.chance.random() < 0.05:
            shape[self.chance.randrange(len(shape))] = self.chance.choice(WILD_NUMBERS)
        strides = [1] * len(shape)
        for index in range(len(shape) - 1, 0, -1):
            strides[index - 1] = max(-(1 << 62), min(1 << 62, strides[index] * shape[index]))
        if strides and self.chance.random() < 0.1:
            strides[self.chance.randrange(len(strides))] = self.arguments("int64").value
        dims = (ctypes.c_int64 * (len(shape) + 1))(*shape)
        steps = (ctypes.c_int64 * (len(shape) + 1))(*strides)
        offset = self.arguments("int64") if self.chance.random() < 0.1 else ctypes.c_int64(0)
        kind, rank = self.arguments("type"), ctypes.c_uint64(len(shape))
        memory = ctypes.c_void_p(self.pools.pick(self.chance, "memory"))
        tail = (ctypes.c_int64(2), dims, rank, memory)
        name = "aclCreateTensor"
        if handle := self.call(
            "Arguments of operators", name, dims, rank, kind, steps, offset, *tail
        ):
            self._made("tensor", handle)

    def copy(self) -> None:
        """A copy between host and device, whose part on the host is as large as it says."""
        direction = self.chance.randrange(-1, 5)
        host, size = ctypes.addressof(self.arguments.host), self.arguments.size()
        to = self.arguments.address() if direction in {1, 3} else host
        origin = self.arguments.address() if direction in {2, 3} else host
        capacity = self.arguments.size()
        if direction != 3:  # one end is the host's
            size = size % HOST_BYTES if size <= capacity else size
            capacity = min(capacity, HOST_BYTES) if to == host else capacity
        arguments: list[object] = [
            ctypes.c_void_p(to),
            ctypes.c_uint64(capacity),
            ctypes.c_void_p(origin),
            ctypes.c_uint64(size),
            ctypes.c_int64(direction),
        ]
        if self.chance.random() < 0.3:
            self.call(MEMORY_COPIES, "aclrtMemcpyAsync", *arguments, self.arguments("stream"))
        else:
            self.call(MEMORY_COPIES, "aclrtMemcpy", *arguments)

    def wait(self) -> None:
        """A stream that waits for a number, what follows it there, and then the number.

        The stream and the number belong to this call alone, so that nobody waits for ever.
        """
        made = [ctypes.c_void_p(), ctypes.c_void_p()]
        stream, number = made
        self.call(WAITS, "aclrtCreateStream", ctypes.byref(stream))
        self.call(WAITS, "aclrtMalloc", ctypes.byref(number), ctypes.c_uint64(8), 0)
        value, event = self.arguments("length"), self.arguments("event")
        self.call(WAITS, "aclrtValueWrite", number, ctypes.c_uint64(~value.value), 0, None)
        flag = self.chance.choice((0, 1, 1, 3, 4, -1))
        self.call(WAITS, "aclrtValueWait", number, value, flag, stream)
        for _ in range(self.chance.randrange(4)):
            self._follow_wait(stream, event)
        if self.chance.random() < 0.2:
            self.call(WAITS, "aclrtSynchronizeStreamWithTimeout", stream, 1)
        self.call(WAITS, "aclrtValueWrite", number, value, 0, None)
        self.call(WAITS, "aclrtStreamQuery", stream, self.arguments.place)
        self.call(WAITS, "aclrtDestroyStream", stream)
        self.call(WAITS, "aclrtFree", number)

    def _follow_wait(self, stream: ctypes.c_void_p, event: ctypes.c_void_p) -> None:
        """Something for a stream that waits."""
        memory, size = self.arguments("memory"), self.arguments("size")
        choice = self.chance.randrange(4)
        if choice == 0:
            self.call(WAITS, "aclrtMemsetAsync", memory, size, 1, size, stream)
        elif choice == 1:
            self.call(WAITS, "aclrtRecordEvent", event, stream)
        elif choice == 2:
            self.call(WAITS, "aclrtStreamWaitEvent", self.arguments("stream"), event)
        else:
            self.call(WAITS, "aclmdlRIExecuteAsync", self.arguments("graph"), stream)


class Run:
    """A thread's calls."""

    def __init__(self, caller: Caller, *, shared: bool) -> None:
        self.caller = caller
        table = {
            function: weight
            for function, weight in functions().items()
            if not (shared and NOT_SHARED.match(function.name))
        }
        self.functions, self.weights = [*table], [*table.values()]
        self.destroyers = {
            kind[1:]: function
            for function in table
            for kind in function.kinds
            if kind[0] == "-" and len(function.kinds) == 1
        }
        skipped = NOT_SHARED if shared else re.compile(r"(?!)")
        own, torch = own_operators(), torch_operators()
        self.own = [(n, k) for n, k in own.items() if not skipped.match(c_function(n))]
        self.torch = [(n, k) for n, k in torch.items() if n not in own]

    def prepare(self) -> None:
        """Memory with numbers that operators can use, and one of most kinds."""
        caller = self.caller
        caller.call("Devices and contexts", "aclrtSetDevice", ctypes.c_int64(0))
        by_name = {function.name: function for function in self.functions}
        for _ in range(8):
            caller.table(by_name["aclrtMalloc"])
            for _ in range(2):
                caller.tensor()
        for name in ("aclrtCreateStream", "aclrtCreateEvent", "HcclCommInitAll", "aclCreateScalar"):
            caller.table(by_name[name])

    def step(self) -> None:
        chance, caller = self.caller.chance, self.caller
        number = chance.random()
        if number < 0.45:
            caller.operator(*chance.choice(self.own))
        elif number < 0.47:
            caller.operator(*chance.choice(self.torch))
        elif number < 0.57:
            caller.tensor()
        elif number < 0.62:
            caller.copy()
        elif number < 0.63:
            caller.wait()
        else:
            caller.table(chance.choices(self.functions, self.weights)[0])
        self._clear()

    def _clear(self) -> None:
        """Destroys the oldest of what there is too much of."""
        for kind, destroyer in self.destroyers.items():
            if not self.caller.pools.full(kind):
                continue
            oldest = self.caller.pools.alive[kind][0]
            self.caller.call(destroyer.family, destroyer.name, ctypes.c_void_p(oldest))
            self.caller.pools.remove(kind, oldest)
