# SPDX-License-Identifier: Apache-2.0
"""The process that carries out operators: ``worker.py SOCKET FOLDER``.

SOCKET is an open file, FOLDER the one that the program has its torch from, or "". The worker ends
when the program has ended, or has closed its end of the socket.
"""

from __future__ import annotations

import array
import marshal
import mmap
import os
import signal
import socket
import struct
import sys
from importlib import import_module
from typing import Any

_HEADER = struct.Struct("=II")
_SIZE = struct.Struct("=I")
_AT_ONCE = 1 << 14
"""Bytes of nearly every call."""
_FILES = 256
"""At most, with one call."""


def _detach(connection: int) -> None:
    """Leave the program: its open files, its terminal, and its children."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != connection:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listdir itself had open
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)


def _set_path(folder: str) -> None:
    """Find this package, and the program's own torch before any other."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [place for place in sys.path if place != here]
    packages = [at for at, place in enumerate(places) if place.endswith("-packages")]
    if folder and folder not in places:
        places.insert(min(packages, default=len(places)), folder)
    sys.path[:] = [*places, os.path.dirname(here)]


def _answer(connection: socket.socket, result: Any) -> None:
    """Send what `calls.run` returned, as worker.cpp reads it."""
    if result is None:
        reply = b"N"
    elif isinstance(result, str):
        reply = b"E" + result.encode("utf-8", "replace")
    else:
        numbers = [number for index, shape in result for number in (index, len(shape), *shape)]
        reply = b"S" + struct.pack(f"={len(numbers)}q", *numbers)
    connection.sendall(_SIZE.pack(len(reply)) + reply)


def _serve(connection: socket.socket, run: Any, memory: dict[int, memoryview]) -> None:
    """Carry out one call after another, on files that become memory when they are sent."""
    room = socket.CMSG_SPACE(_FILES * array.array("i").itemsize)
    while True:
        message, ancillary, _, _ = connection.recvmsg(_AT_ONCE, room)
        if len(message) < _HEADER.size:
            return
        opened = array.array("i")
        for _, _, data in ancillary:
            opened.frombytes(data)
        missing = _HEADER.unpack_from(message)[0] + _HEADER.size - len(message)
        if missing > 0:
            message += connection.recv(missing, socket.MSG_WAITALL)
        name, arguments, attributes, files = marshal.loads(message[_HEADER.size :])  # noqa: S302 - the program's
        for number, file in zip(files, opened):
            memory[number] = memoryview(mmap.mmap(file, 0))
            os.close(file)
        _answer(connection, run(name, arguments, attributes))


def main() -> None:
    """Run as a program. The first answer says that calls can come, or why not."""
    number, folder = int(sys.argv[1]), sys.argv[2]
    _detach(number)
    _set_path(folder)
    with socket.socket(fileno=number) as connection:
        try:
            run = import_module("npusim_torch.calls").run
            memory = import_module("npusim_torch.views").FILES
        except BaseException as error:  # noqa: BLE001 - the program says it
            _answer(connection, f"{type(error).__name__}: {error}")
            return
        _answer(connection, None)
        _serve(connection, run, memory)


if __name__ == "__main__":
    main()
