# SPDX-License-Identifier: Apache-2.0
"""One function for each kind of row in compat.yaml; it returns None for a row with a problem."""

from __future__ import annotations

import re
from typing import Any

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.specifiers import specifiers
from cannery.common.yaml_reader import Section
from cannery.compat import facts
from cannery.compat.lifetimes import NAMES
from cannery.compat.reader import (
    Reader,
    is_date,
    optional,
    python_range,
    value,
    wheel_version,
    when,
    wrong_chip,
)

_SUITE = ("suite", "distribution", "release", "glibc", "python")
_DAY = len("2026-08-21")
_BESIDE = ("driver", "deepspeed", "apex", "app", "triton_ascend")


def pairing(section: Section, reader: Reader) -> facts.Pairing | None:
    """A row of torch_npu."""
    torch = value(section, "torch", wheel_version)
    torch_npu = value(section, "torch_npu", wheel_version, "")
    cann = value(section, "cann", CannVersion.parse)
    pythons = optional(section, "pythons", python_range) or ()
    wheels = optional(section, "wheels_pythons", python_range) or ()
    branch = section.text("branch", required=False)
    beside = {key: section.text(key, required=False) for key in _BESIDE}
    if beside["triton_ascend"] not in ("", "N/A"):
        _check_version(section, "triton_ascend", beside["triton_ascend"])
    if (app := beside["app"]).startswith("vllm-ascend v"):
        _check_version(section, "app", app.removeprefix("vllm-ascend v"))
    beta = section.flag("beta")
    common = reader.common(section)
    if common is None or torch is None or torch_npu is None or cann is None:
        return None
    return facts.Pairing(
        **common,
        torch=torch,
        torch_npu=torch_npu,
        cann=cann,
        pythons=pythons,
        wheels_pythons=wheels,
        branch=branch,
        beta=beta,
        beside={key: text for key, text in beside.items() if text},
    )


def _check_version(section: Section, key: str, text: str) -> None:
    try:
        Version(text)
    except InvalidVersion as error:
        section.wrong(key, f"{key!r} cannot be read: {error}.")


def suite(section: Section, reader: Reader) -> facts.Suite | None:
    """A row of suites."""
    more: dict[str, Any] = {key: section.text(key) for key in _SUITE}
    common = reader.common(section)
    return facts.Suite(**common, **more) if common else None


def driver(section: Section, reader: Reader) -> facts.Driver | None:
    """A row of driver."""
    cann = value(section, "cann", CannVersion.parse)
    minimum = section.text("minimum")
    maximum, paired = (section.text(key, required=False) for key in ("maximum", "paired"))
    common = reader.common(section)
    if common is None or cann is None:
        return None
    return facts.Driver(**common, cann=cann, minimum=minimum, maximum=maximum, paired=paired)


def cxx_abi(section: Section, reader: Reader) -> facts.CxxAbi | None:
    """A row of cxx_abi."""
    conditions, abi = when(section), value(section, "abi", int)
    common = reader.common(section)
    if common is None or abi is None:
        return None
    if abi not in (0, 1):
        section.wrong("abi", f"unknown libstdc++ ABI {abi}.", "It is 0 or 1.")
    return facts.CxxAbi(**common, when=conditions, abi=abi)


def release(section: Section, reader: Reader) -> facts.Release | None:
    """A row of cann."""
    cann = value(section, "cann", CannVersion.parse)
    chips, nnal = section.texts("chips", wrong_chip), section.flag("nnal")
    common = reader.common(section)
    if common is None or cann is None:
        return None
    return facts.Release(**common, cann=cann, chips=chips, nnal=nnal)


def on_toolkit(section: Section, reader: Reader) -> facts.OnToolkit | None:
    """A row of on_toolkit."""
    component = section.choose(
        "component", {name: name for name in ("kernels", "nnal")}, "component"
    )
    version = value(section, "version", CannRange.parse)
    texts = section.texts("toolkits", _wrong_cann)
    common = reader.common(section)
    toolkits = [CannVersion.parse(text) for text in texts if text and not _wrong_cann(text)]
    if common is None or version is None or component is None:
        return None
    return facts.OnToolkit(**common, component=component, version=version, toolkits=tuple(toolkits))


def _wrong_cann(text: str) -> str:
    try:
        CannVersion.parse(text)
    except ValueError as error:
        return str(error)
    return ""


def file_name(section: Section, reader: Reader) -> facts.FileName | None:
    """A row of files."""
    component = section.choose(
        "component", {name: name for name in ("toolkit", "kernels", "nnal")}, "component"
    )
    cann, file = value(section, "cann", CannRange.parse), section.text("file")
    chips, common = section.texts("chips", wrong_chip), reader.common(section)
    try:
        file.format(version="", chip="", machine="")
    except (KeyError, IndexError, ValueError):
        section.wrong("file", "only {version}, {chip} and {machine} can be filled in.")
    if common is None or cann is None or component is None:
        return None
    return facts.FileName(**common, component=component, cann=cann, chips=chips, file=file)


def layout(section: Section, reader: Reader) -> facts.LayoutRow | None:
    """A row of layouts."""
    cann, name = value(section, "cann", CannRange.parse), section.text("layout")
    common = reader.common(section)
    if common is None or cann is None:
        return None
    return facts.LayoutRow(**common, cann=cann, layout=name)


def deepspeed(section: Section, reader: Reader) -> facts.DeepSpeed | None:
    """A row of deepspeed."""
    version = value(section, "version", specifiers)
    torch = optional(section, "torch", specifiers)
    pythons = optional(section, "pythons", python_range) or ()
    plugin = section.text("plugin", required=False)
    refused, advised = section.text("refused", required=False), section.flag("advised")
    if advised and version and not re.fullmatch(r"==[^,*]+", str(version)):
        what = "only one version can be advised."
        section.wrong("version", what, "Write it as in ==0.18.4.")
    common = reader.common(section)
    if common is None or version is None:
        return None
    return facts.DeepSpeed(
        **common,
        version=version,
        torch=torch,
        pythons=pythons,
        plugin=plugin,
        refused=refused,
        advised=advised,
    )


def apex(section: Section, reader: Reader) -> facts.Apex | None:
    """A row of apex."""
    version, torch = section.text("version"), value(section, "torch", specifiers)
    pythons = value(section, "pythons", python_range)
    common = reader.common(section)
    if common is None or torch is None or pythons is None:
        return None
    return facts.Apex(**common, version=version, pythons=pythons, torch=torch)


def package(section: Section, reader: Reader) -> facts.Package | None:
    """A row of packages."""
    name, conditions = section.text("package"), when(section)
    keys = ("bound", "pin", "seen", "refused")
    if sum(section.take(key, required=False) is not None for key in keys) != 1:
        what = f"{section.name} needs exactly one of bound, pin, seen and refused."
        section.problems.add(section.node, what)
    bound, pin, seen = (optional(section, key, specifiers) for key in keys[:3])
    refused, required = section.text("refused", required=False), section.flag("required")
    instead = section.text("instead", required=False)
    common = reader.common(section)
    if common is None:
        return None
    return facts.Package(
        **common,
        package=name,
        when=conditions,
        bound=bound,
        pin=pin,
        seen=seen,
        refused=refused,
        required=required,
        instead=instead,
    )


def mindspore(section: Section, reader: Reader) -> facts.MindSpore | None:
    """A row of mindspore."""
    version = value(section, "version", wheel_version)
    cann = value(section, "cann", CannVersion.parse)
    pythons = optional(section, "pythons", python_range) or ()
    common = reader.common(section)
    if common is None or version is None or cann is None:
        return None
    return facts.MindSpore(**common, version=version, cann=cann, pythons=pythons)


def known_bad(section: Section, reader: Reader) -> facts.KnownBad | None:
    """A row of known_bad."""
    conditions, why = when(section), section.text("why")
    below = section.text("python_below", required=False)
    if below:
        _check_version(section, "python_below", below)
    common = reader.common(section)
    if common is None:
        return None
    return facts.KnownBad(**common, when=conditions, python_below=below, why=why)


def ending(section: Section, reader: Reader) -> facts.Ending | None:
    """A row of endings."""
    cann, what = value(section, "cann", CannRange.parse), section.text("what")
    date, common = section.text("date"), reader.common(section)
    if common is None or cann is None:
        return None
    return facts.Ending(**common, cann=cann, what=what, date=date)


def lifetime(section: Section, reader: Reader) -> facts.Lifetime | None:
    """A row of lifetimes."""
    named = {name: name for name in NAMES}
    component, version = section.choose("component", named, "component"), section.text("version")
    released, ends = (section.text(key, required=False) for key in ("released", "ends"))
    for key, text in (("released", released), ("ends", ends)):
        if text and not (len(text) == _DAY and is_date(text)):
            section.wrong(key, f"{text!r} is not a day.", "Write it as in 2026-08-21.")
    if component == "cann" and version and (wrong := _wrong_cann(version)):
        section.wrong("version", wrong)
    common = reader.common(section)
    if common is None or component is None:
        return None
    return facts.Lifetime(
        **common, component=component, version=version, released=released, ends=ends
    )


def rejected(section: Section, reader: Reader) -> facts.Rejected | None:
    """A row of rejected."""
    torch, torch_npu = section.text("torch"), section.text("torch_npu")
    cann, why = section.text("cann"), section.text("why")
    # These are only shown.
    optional(section, "pythons", python_range)
    section.text("branch", required=False)
    common = reader.common(section)
    if common is None:
        return None
    return facts.Rejected(**common, torch=torch, torch_npu=torch_npu, cann=cann, why=why)
