# SPDX-License-Identifier: Apache-2.0
"""Judges what on_cards.py printed."""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

from ascend_doctor.untrusted import parse_json

from .limits import Limits, limits_of
from .model import Check, Device, Standing, device_of

MARK = "cannery-smoke: "
NOTICE = "cannery: simulated Ascend device"
"""What the simulated device says on stderr in each process."""

_LOW = 0.5
"""The share of a bandwidth below which a result is called low. It is this tool's own."""

_NEAR = 0.02
"""How much the first loss may differ from the CPU's, of the latter."""

_STEPS = ("matmul", "memory", "training", "all-reduce")

Item = Mapping[str, Any]


class NoDeviceError(Exception):
    """The script found no device; the text says why."""


def read_items(said: str) -> list[Item]:
    """What the script printed, besides what others did."""
    found = []
    for line in said.splitlines():
        if line.startswith(MARK):
            try:
                item = parse_json(line[len(MARK) :])
            except ValueError:  # it was stopped in the middle of a line
                continue
            found.append(item)
    return found


def device_in(items: Sequence[Item], *, simulated: bool) -> Device:
    """The device of the container; ``simulated`` if something else says that it is.

    Raises:
        NoDeviceError: there is none.
    """
    for item in items:
        if item["item"] == "device":
            return device_of({**item, "simulated": item["simulated"] or simulated})
    whys = [str(item["why"]) for item in items if item["item"] == "error"]
    raise NoDeviceError(whys[0] if whys else "the script ended without a word")


def judge_items(items: Sequence[Item], device: Device) -> tuple[Check, ...]:
    """The checks of a run on ``device``. One without a result has failed."""
    limits = None if device.simulated else limits_of(device.name)
    checks = [_judge(item, device, limits) for item in items if item["item"] in _JUDGES]
    checks += _ranks([item for item in items if item["item"] == "all-reduce"])
    cards = next((item["cards"] for item in items if item["item"] == "end"), 0)
    for step in _STEPS:
        whys = [str(i["why"]) for i in items if i["item"] == "error" and i["step"] == step]
        done = any(each.name.partition("/")[0] == step for each in checks)
        if step == "all-reduce" and cards == 1:
            text = "It needs two cards, and one was used."
            checks.append(Check(name=step, standing=Standing.NOT_RUN, text=text))
        elif whys or not done:
            text = f"{'; '.join(dict.fromkeys(whys)) or 'It was not reached in time'}."
            checks.append(Check(name=step, standing=Standing.FAILED, text=text))
    return tuple(checks)


def _judge(item: Item, device: Device, limits: Limits | None) -> Check:
    return _JUDGES[item["item"]](item, device, limits)


def _standing(fine: object) -> Standing:
    return Standing.PASSED if fine else Standing.FAILED


def _matmul(item: Item, _device: Device, _limits: Limits | None) -> Check:
    error, limit = float(item["error"]), float(item["limit"])
    text = f"The product differs from the CPU's by {error:.1e}; {limit:.0e} is allowed."
    fine = math.isfinite(error) and error <= limit
    return Check(name=f"matmul/{item['type']}", standing=_standing(fine), text=text)


def _matmul_speed(item: Item, _device: Device, _limits: Limits | None) -> Check:
    value = float(item["tflops"])
    text = f"{value:.1f} TFLOPS with matrices of 4096 x 4096."
    name = f"matmul-speed/{item['type']}"
    return Check(name=name, standing=Standing.UNKNOWN, text=text, value=value, unit="TFLOPS")


def _memory(item: Item, _device: Device, _limits: Limits | None) -> Check:
    text = "A copy on the card equals its source." if item["right"] else "A copy differs."
    return Check(name="memory", standing=_standing(item["right"]), text=text)


def _memory_speed(item: Item, _device: Device, limits: Limits | None) -> Check:
    text = f"{float(item['gb_s']):,.0f} GB/s read and written"
    return _speed("memory-speed", text, float(item["gb_s"]), limits, limits.memory if limits else 0)


def _training(item: Item, _device: Device, _limits: Limits | None) -> Check:
    first, last, cpu = (float(item[key]) for key in ("first", "last", "first_on_cpu"))
    text = f"The loss went from {first:.4g} to {last:.4g} in {item['steps']} steps"
    falls = math.isfinite(last) and last < first
    if not abs(first - cpu) <= _NEAR * abs(cpu):
        return Check(
            name="training",
            standing=Standing.FAILED,
            text=f"{text}; the first one is {cpu:.4g} on the CPU.",
        )
    return Check(name="training", standing=_standing(falls), text=f"{text}.")


def _all_reduce_speed(item: Item, _device: Device, limits: Limits | None) -> Check:
    cards, value = int(item["cards"]), float(item["gb_s"])
    bus = value * 2 * (cards - 1) / cards
    text = f"{bus:,.1f} GB/s bus bandwidth ({value:,.1f} GB/s of data) with {cards} cards"
    most = limits.all_reduce(cards) if limits else 0
    return _speed(f"all-reduce-speed/{cards}", text, bus, limits, most)


def _speed(name: str, text: str, value: float, limits: Limits | None, most: float) -> Check:
    """A bandwidth in GB/s, beside ``most``, which the hardware has; 0 for unknown."""
    if not limits or not most:
        text = f"{text}; the bandwidth of the hardware is unknown."
        return Check(name=name, standing=Standing.UNKNOWN, text=text, value=value, unit="GB/s")
    text = f"{text}, {value / most:.0%} of the {most:,.0f} GB/s of the hardware."
    standing = Standing.LOW if value < _LOW * most else Standing.PASSED
    if value > most:
        standing = Standing.UNKNOWN
        text += " It cannot be more; the source or the measurement is wrong."
    return Check(
        name=name, standing=standing, text=text, value=value, unit="GB/s", source=limits.source
    )


_JUDGES = {
    "matmul": _matmul,
    "matmul-speed": _matmul_speed,
    "memory": _memory,
    "memory-speed": _memory_speed,
    "training": _training,
    "all-reduce-speed": _all_reduce_speed,
}


def _ranks(items: Sequence[Item]) -> list[Check]:
    """The check of the sums that each rank has."""
    if not items:
        return []
    cards = int(items[0]["cards"])
    wrong = sorted(int(item["rank"]) for item in items if not item["right"])
    text = f"{len(items)} of {cards} ranks have the sum of all."
    if wrong:
        text = f"Wrong sums on rank {', '.join(map(str, wrong))} of {cards}."
    fine = not wrong and len(items) == cards
    return [Check(name="all-reduce", standing=_standing(fine), text=text)]
