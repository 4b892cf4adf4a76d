# SPDX-License-Identifier: Apache-2.0
"""Runs as a program of its own: measures the cards, and prints each result as a line of JSON.

Its argument has the settings: "cards" (0 for all) and the "seconds" in which it ends, with
"simulated_seconds" where the device is simulated. Python 3.7, torch and torch_npu.

This process imports no torch, so that it can fork; SIGALRM ends a child that hangs in a driver.
"""

import glob
import json
import os
import signal
import socket
import sys
import time
import traceback

# As in cannery/image/simulated.py.
MARK, MARKED = b"npusim", ("libascendcl.so", "libatb.so", "libascend_hal.so")
MARKER_FILES = ("simulated/*", "*/SIMULATED", "*/*/SIMULATED", "*/*/*/SIMULATED")


def is_simulated():
    if os.environ.get("CANNERY_SIMULATED") == "1":
        return True
    if any(glob.glob("/usr/local/Ascend/" + each) for each in MARKER_FILES):
        return True
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for path in [os.path.join(folder, name) for folder in folders for name in MARKED]:
        try:
            with open(path, "rb") as stream:
                if MARK in stream.read():
                    return True
        except OSError:
            continue
    return False


SETTINGS = json.loads(sys.argv[1])
SMALL = is_simulated()
"""Whether everything is small, and no speed is measured."""
END = time.time() + SETTINGS["simulated_seconds" if SMALL else "seconds"]
CARDS_OF_SIMULATED = 2
VERSION = "/usr/local/Ascend/driver/version.info"
LIMITS = {"float32": 2e-3, "float16": 1e-2, "bfloat16": 5e-2}
"""The largest error of a product, of its largest value; HF32 has 10 bits of mantissa."""
STEPS = 40


def say(item, **values):
    line = "\ncannery-smoke: %s\n" % json.dumps(dict(values, item=item))
    os.write(1, line.encode())


def driver():
    try:
        with open(VERSION) as stream:
            lines = [line.strip() for line in stream]
    except OSError:
        return ""
    return next((line[8:] for line in lines if line.lower().startswith("version=")), "")


def device():
    import torch
    import torch_npu

    count = torch.npu.device_count()
    if not count:
        raise RuntimeError("torch_npu finds no card (torch.npu.device_count() is 0)")
    torch.npu.set_device(0)
    say(
        "device",
        name=torch.npu.get_device_name(0),
        count=count,
        simulated=SMALL,
        driver=driver(),
        torch=torch.__version__,
        torch_npu=torch_npu.__version__,
        python=sys.version.split()[0],
    )
    return count


def seconds_of(repeats, work):
    """The time of one of ``repeats`` calls of ``work``, after two that do not count."""
    import torch

    for _ in range(2):
        work()
    torch.npu.synchronize()
    begun = time.time()
    for _ in range(repeats):
        work()
    torch.npu.synchronize()
    return (time.time() - begun) / repeats


def matmul():
    import torch

    size, large = 32 if SMALL else 512, 4096
    for name, limit in LIMITS.items():
        kind = getattr(torch, name)
        torch.manual_seed(1)
        left, right = (torch.randn(size, size).to(kind) for _ in range(2))
        # In double, because float32 on an emulated CPU is not exact either.
        expected = left.double() @ right.double()
        product = (left.npu() @ right.npu()).cpu().double()
        error = float((product - expected).abs().max() / expected.abs().max())
        say("matmul", type=name, error=error, limit=limit)
        if not SMALL:
            wide = torch.randn(large, large).to(kind).npu()
            took = seconds_of(20, lambda: torch.mm(wide, wide))
            say("matmul-speed", type=name, tflops=2 * large**3 / took / 1e12)


def memory():
    import torch

    count = (4 << 10) if SMALL else (128 << 20)
    source = torch.arange(count, dtype=torch.float32).npu()
    copy = torch.empty_like(source)
    copy.copy_(source)
    say("memory", right=bool(torch.equal(copy.cpu(), source.cpu())))
    if not SMALL:
        # Each byte is read and written.
        took = seconds_of(20, lambda: copy.copy_(source))
        say("memory-speed", gb_s=2 * 4 * count / took / 1e9)


def training():
    import torch

    torch.manual_seed(2)
    inputs = torch.randn(32, 8)
    wanted = inputs.sum(1, keepdim=True) / 4
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    on_cpu = float(torch.nn.functional.mse_loss(model(inputs), wanted).detach())
    model, inputs, wanted = model.npu(), inputs.npu(), wanted.npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach().cpu()))
    say("training", first=losses[0], last=losses[-1], first_on_cpu=on_cpu, steps=STEPS)


def all_reduce(rank, cards, port):
    import torch
    import torch.distributed as dist
    import torch_npu

    torch.npu.set_device(rank)
    address = "tcp://127.0.0.1:%d" % port
    dist.init_process_group("hccl", init_method=address, rank=rank, world_size=cards)
    count = (1 << 10) if SMALL else (64 << 20)
    values = torch.full((count,), float(rank + 1)).npu()
    dist.all_reduce(values)
    right = bool((values.cpu() == cards * (cards + 1) / 2).all())
    say("all-reduce", rank=rank, cards=cards, right=right)
    if not SMALL:
        took = seconds_of(10, lambda: dist.all_reduce(values))
        if not rank:
            say("all-reduce-speed", cards=cards, gb_s=4 * count / took / 1e9)
    dist.barrier()


def child(step, work):
    """Start ``work`` in a process of its own, which says how it failed; return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.alarm(max(1, int(END - time.time())))
        work()
        code = 0
    except BaseException as error:
        traceback.print_exc()
        say("error", step=step, why="%s: %s" % (type(error).__name__, str(error)[:2000]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Without the teardown of torch_npu, which can hang.
        os._exit(code)


def wait(step, pids):
    """Wait for the processes, and say which did not end well; return whether all did."""
    fine = True
    for pid in pids:
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            late = number == signal.SIGALRM
            why = "its time was over" if late else "it was ended by signal %d" % number
            say("error", step=step, why=why)
        fine = fine and status == 0
    return fine


def on_one_card(write):
    os.write(write, b"%d" % device())
    for step in (matmul, memory, training):
        try:
            step()
        except Exception as error:
            traceback.print_exc()
            why = "%s: %s" % (type(error).__name__, str(error)[:2000])
            say("error", step=step.__name__, why=why)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def main():
    read, write = os.pipe()
    wait("device", [child("device", lambda: on_one_card(write))])
    # A process that torch_npu has left may keep the pipe open.
    os.set_blocking(read, False)
    try:
        found = int(os.read(read, 10) or 0)
    except BlockingIOError:
        found = 0
    wanted = SETTINGS.get("cards") or (CARDS_OF_SIMULATED if SMALL else found)
    cards = min(found, wanted)
    if cards > 1:
        port = free_port()
        works = [lambda rank=rank: all_reduce(rank, cards, port) for rank in range(cards)]
        wait("all-reduce", [child("all-reduce", work) for work in works])
    say("end", cards=cards)


if __name__ == "__main__":
    # No file of the working directory stands in for a module.
    sys.path[:] = [path for path in sys.path if path]
    main()
