# SPDX-License-Identifier: Apache-2.0
"""The document of a smoke test, which can be compared with that of another host."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Mapping

from ascend_doctor.plain_text import TextEnum
from ascend_doctor.problems import FileError, Problem
from ascend_doctor.untrusted import parse_json

SCHEMA = 1


class Standing(TextEnum):
    """What a check says."""

    PASSED = "passed"
    FAILED = "failed"
    LOW = "low"
    UNKNOWN = "unknown"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Check:
    """One check. ``value`` is a speed in ``unit``; None if no speed was measured."""

    name: str
    standing: Standing
    text: str
    value: float | None = None
    unit: str = ""
    source: str = ""


@dataclass(frozen=True)
class Device:
    """The cards of a host as torch sees them, and the versions with which they were tested."""

    name: str
    count: int
    simulated: bool
    driver: str
    torch: str
    torch_npu: str
    python: str


@dataclass(frozen=True)
class Document:
    """A smoke test: where it ran, on what, and what it found."""

    host: str
    hardware: str
    where: str
    device: Device
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(each for each in self.checks if each.standing is Standing.FAILED)


def to_json(document: Document) -> str:
    """``document`` as JSON; each check says whether its device was simulated."""
    found = asdict(document)
    kind = "simulated" if document.device.simulated else "npu"
    found["checks"] = [{**each, "device": kind} for each in found["checks"]]
    whole = {"schema": SCHEMA, "simulated": document.device.simulated, **found}
    return json.dumps(whole, indent=2) + "\n"


def parse_document(text: str, name: str) -> Document:
    """The document in ``text``, which was read from the file ``name``."""
    try:
        found = parse_json(text)
        return _document(found)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        what = f"{name} is not a document of 'ascend-doctor smoke', or ends too early."
        fix = "Make it with 'ascend-doctor smoke --json FILE'."
        raise FileError(Problem(what=what, fix=fix)) from error


def _document(found: Mapping[str, Any]) -> Document:
    if found["schema"] != SCHEMA:
        raise ValueError(found["schema"])
    return Document(
        host=str(found["host"]),
        hardware=str(found["hardware"]),
        where=str(found["where"]),
        device=device_of(found["device"]),
        checks=tuple(_check(each) for each in found["checks"]),
    )


def device_of(found: Mapping[str, Any]) -> Device:
    """The device that a document describes."""
    texts = ("name", "driver", "torch", "torch_npu", "python")
    return Device(
        **{key: str(found[key]) for key in texts},
        count=int(found["count"]),
        simulated=bool(found["simulated"]),
    )


def _check(found: Mapping[str, Any]) -> Check:
    value = found["value"]
    if value is not None and not math.isfinite(float(value)):
        raise ValueError(value)
    return Check(
        name=str(found["name"]),
        standing=Standing(found["standing"]),
        text=str(found["text"]),
        value=None if value is None else float(value),
        unit=str(found["unit"]),
        source=str(found["source"]),
    )
