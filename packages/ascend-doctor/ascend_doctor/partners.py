# SPDX-License-Identifier: Apache-2.0
"""Versions that belong together: those of a log that do not, and the partners of those it names."""

from __future__ import annotations

import json
import pkgutil
import re
from typing import Any, Iterator, NamedTuple

from .lazy import once
from .owners import Values

_BASE = re.compile(r"v?(\d+(?:\.\d+)+)")
_SHOWN = 5
_ANY_WITH_ANY = (8, 5)
"""From this CANN on, torch_npu runs on each release, as its maker's table says."""


@once
def packed_facts() -> dict[str, Any]:
    """The facts that were packed with the program; none if there are none."""
    try:
        data = pkgutil.get_data(__name__.rpartition(".")[0], "facts.json")
    except OSError:
        return {}
    facts: dict[str, Any] = json.loads(data.decode("utf-8")) if data else {}
    return facts


class Misfit(NamedTuple):
    """Two versions of a log that are no pair, and the command that mends it."""

    one: str
    other: str
    mend: str


def misfits(known: Values) -> Iterator[Misfit]:
    """The versions in ``known`` that do not belong together, by the names of their packages."""
    torch, npu, cann = (known.get(name, "") for name in ("torch", "torch_npu", "CANN"))
    vllm, plugin = known.get("vllm", ""), known.get("vllm_ascend", "")
    if torch and npu and _base(torch) != _base(npu):
        yield Misfit(f"torch {torch}", f"torch_npu {npu}", _pip(_base(npu), npu))
    if vllm and plugin and "dev" not in vllm + plugin and _base(vllm) != _base(plugin):
        mend = f"pip install vllm=={_base(plugin)} vllm-ascend=={plugin}"
        yield Misfit(f"vllm {vllm}", f"vllm-ascend {plugin}", mend)
    rows = [row for row in _table("torch_npu") if row[1] == npu]
    if rows and cann and not any(_fits(row[2], cann) for row in rows):
        own = next(
            (row for row in _table("torch_npu") if row[0] == rows[0][0] and _same(row, cann)), None
        )
        pair = own or next((row for row in _table("torch_npu") if _same(row, cann)), None)
        mend = _pip(*pair[:2]) if pair else ""
        yield Misfit(f"torch_npu {npu}", f"CANN {cann}", mend or f"install CANN {rows[0][2]}")
    python = known.get("python", "")
    spans = {row[3] for row in rows} - {"-"}
    if python and spans and not any(_within(python, span) for span in spans):
        span = max(spans, key=len)
        mend = f"uv venv --python {span.partition('-')[2] or span}"
        yield Misfit(f"torch_npu {npu} (for Python {span})", f"Python {python}", mend)
    vision = known.get("torchvision", "")
    pins = dict(_table("torchvision"))
    if torch and vision and pins.get(_base(torch), _base(vision)) != _base(vision):
        mend = f"pip install torchvision=={pins[_base(torch)]} --no-deps"
        yield Misfit(f"torch {torch}", f"torchvision {vision}", mend)
    spore = known.get("mindspore", "")
    canns = [row[1] for row in _table("mindspore") if row[0] == spore]
    if cann and canns and not any(_fits(each, cann) for each in canns):
        yield Misfit(f"mindspore {spore}", f"CANN {cann}", f"install CANN {canns[0]}")


def partners(known: Values) -> tuple[str, str]:
    """The version in ``known`` that says most, and its partners with the command for them."""
    plugin, vllm = known.get("vllm_ascend", ""), known.get("vllm", "")
    for row in _table("vllm_ascend"):
        if row[0] == plugin or (not plugin and vllm and _base(row[0]) == _base(vllm)):
            npu, base = row[1].partition("+")[0], _base(row[0])
            triton = f", triton-ascend {row[4]}" if row[4] != "-" else ""
            parts = f"vllm {base}, torch_npu {npu}, CANN {row[2]}{triton}, Python {row[3]}"
            mend = f"pip install vllm=={base} vllm-ascend=={row[0]}"
            return f"vllm-ascend {row[0]}", f"{parts}: {mend}"
    npu, torch, cann = (known.get(name, "") for name in ("torch_npu", "torch", "CANN"))
    for row in _table("torch_npu"):
        if row[1] == npu or (not npu and cann and row[0] == _base(torch) and _same(row, cann)):
            parts = f"torch {row[0]}, CANN {row[2]}, Python {row[3]}".replace(", Python -", "")
            return f"torch_npu {row[1]}", f"{parts}: {_pip(row[0], row[1])}"
    pairs = {row[2]: row[1] for row in reversed(_table("torch_npu")) if row[0] == _base(torch)}
    if pairs and not npu:
        each = [f"torch_npu {pair} (CANN {of})" for of, pair in [*pairs.items()][-_SHOWN:]]
        return f"torch {torch}", ", ".join(each)
    canns = {row[0]: row[1] for row in _table("mindspore")}
    spore = known.get("mindspore", "")
    return (f"mindspore {spore}", f"CANN {canns[spore]}") if spore in canns else ("", "")


def _table(name: str) -> list[list[str]]:
    return [row.split() for row in packed_facts().get("partners", {}).get(name, ())]


def _pip(torch: str, npu: str) -> str:
    vision = dict(_table("torchvision")).get(torch, "")
    also = f" torchvision=={vision}" if vision else ""
    return f"pip install torch=={torch} torch_npu=={npu.partition('+')[0]}{also}"


def _base(version: str) -> str:
    match = _BASE.match(version)
    return match[1] if match else version


def _same(row: list[str], cann: str) -> bool:
    return not cann or row[2].lower() == cann.lower()


def _fits(made_for: str, cann: str) -> bool:
    """Whether what is made for one CANN runs on the other."""
    one, other = (tuple(map(int, _base(each).split("."))) for each in (made_for, cann))
    return one[:2] == other[:2] or min(one, other) >= _ANY_WITH_ANY


def _within(python: str, span: str) -> bool:
    low, _, high = span.partition("-")
    minors = [int(each.split(".")[1]) for each in (low, python, high or low)]
    return minors[0] <= minors[1] <= minors[2]
