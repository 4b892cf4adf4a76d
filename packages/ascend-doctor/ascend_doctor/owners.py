# SPDX-License-Identifier: Apache-2.0
"""Whose a symbol, a library or a Python module is, and what it means that it is missing."""

from __future__ import annotations

import re
from typing import Dict, Match, Tuple

from .ini import read_ini, words
from .lazy import once
from .signs import pattern

Values = Dict[str, str]
Judged = Tuple[str, Values]
"""The id of a cause, and the values of its text."""


def values_of(match: Match[str]) -> Values:
    """The named groups that were found; those of alternatives end in ``__`` and a number."""
    return {name.partition("__")[0]: value for name, value in match.groupdict().items() if value}


@once
def _tables() -> dict[str, dict[str, tuple[str, ...]]]:
    """Kind to owner to names, in the order of owners.ini."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for section, row in read_ini(__name__, "owners.ini").items():
        kind, _, owner = section.partition(": ")
        found.setdefault(kind, {})[owner] = words(row["names"].replace("\n", ","))
    return found


def _owner(kind: str, name: str) -> str:
    """Whose a symbol or a library is; empty if unknown."""
    for owner, names in _tables()[kind].items():
        if any(re.match(each, name) for each in names):
            return owner.partition(" (2)")[0]
    return ""


TBE, MINDIE, PYTHON_PARTS, OF_CANN, CUDA_ONLY, NAMESPACES, OF_PROGRAMS, APEX, WELL_KNOWN = (
    {*_tables()["modules"][name]}
    for name in (
        *("TBE", "MINDIE", "PYTHON_PARTS", "OF_CANN", "CUDA_ONLY"),
        *("NAMESPACES", "OF_PROGRAMS", "APEX", "WELL_KNOWN"),
    )
)
CHECKOUTS = {*_tables()["modules"]["CHECKOUTS"]}
"""Names of folders that are checkouts of programs, or packages in them."""

(
    _UNDEFINED,
    _REFERENCE,
    _LOOKED_UP,
    _OF_VLLM_ASCEND,
    _OF_TORCH,
    _VERSION,
    _MISSING,
    _MINDIE_PROGRAM,
    _MODULE,
) = (
    pattern("owner-" + name)
    for name in (
        *("undefined", "reference", "looked-up", "of-vllm-ascend", "of-torch"),
        "version",
        *("missing", "mindie-program", "module"),
    )
)
_NAME, _CALL, _PLUGIN, _REFUSED, _OPTIONS, _FRAME, _OF_CANN_FILE, _GONE = (
    pattern("owner-" + name)
    for name in ("name", "call", "plugin", "refused", "options", "frame", "of-cann-file", "gone")
)
SITE = re.compile(r"site-packages|dist-packages")


def judge_line(text: str, before: tuple[str, ...] = ()) -> Judged | None:
    """What a line of the loader or of Python's import means; None if it is none.

    ``before`` are the lines before it, of which a traceback names files.
    """
    for judge in (_gone, _reference, _old_library, _library):
        judged = judge(text)
        if judged:
            return judged
    return (
        _symbol(text, before)
        or _operator(text, before)
        or _module(text, before)
        or _import(text)
        or _call(text, before)
        or _model_type(text, before)
        or _setting(text, before)
    )


def system_package(name: str) -> tuple[str, str]:
    """The packages of Debian and of openEuler with a header or a library; empty if unknown."""
    debian, _, openeuler = _owner("system", name).partition(" ")
    return debian, openeuler.strip("()")


def plugin_of(package: str) -> str:
    """The package that makes ``package`` run on NPUs; empty if it needs none, or none is known."""
    return " ".join(_tables()["plugin"].get(package, ()))


def program_of(text: str) -> str:
    """The program that writes such lines, by names of its own in them; empty if none is known."""
    for program, names in _tables()["logs"].items():
        if re.search("|".join(names), text):
            return program
    return ""


def owner_of(symbol: str) -> str:
    """Whose a symbol is; empty if unknown."""
    return _owner("symbols", symbol)


def _gone(text: str) -> Judged | None:
    """A name that other releases of a package have, by the table of them."""
    match = _GONE.search(text)
    if not match:
        return None
    parts = values_of(match)
    name = parts.get("module", "") + ("." + parts["name"] if "name" in parts else "")
    name = name or "{function}({argument})".format_map(parts)
    for pin, names in _tables()["pin"].items():
        if any(re.fullmatch(each, name) for each in names):
            package, _, version = re.split("(<|>=)", pin)
            values = {"name": name, "package": package, "pin": pin, "version": version}
            return "python-gone" if package == "python" else "package-gone", values
    return None


def _symbol(text: str, before: tuple[str, ...]) -> Judged | None:
    match = _UNDEFINED.search(text) if "symbol" in text else None
    if not match:
        return None
    earlier = re.search(r"([^\s:'\"(]+\.so[\d.]*): *$", before[-1]) if before else None
    by = match["by"] or match["by_2"] or (earlier[1] if earlier else "a library")
    symbol = match["symbol"] or match["symbol_2"]
    owner = owner_of(symbol)
    library = by.rpartition("/")[2]
    values = {"library": library, "symbol": symbol, "owner": owner or "unknown", "package": library}
    own = _class_of(symbol)
    if own and owner in ("torch", "NNAL", "ATB of NNAL") and by != "a library":
        return "extension-incomplete", {**values, "class": own}
    return _cause_of_symbol(by, owner), values


def _class_of(symbol: str) -> str:
    """The class or namespace of a member, if it is not of who has the types of its arguments."""
    match = re.match(r"_ZN?K?(\d+)(?=[A-Za-z_])", symbol) if symbol.startswith("_ZN") else None
    name = symbol[match.end() :][: int(match[1])] if match else ""
    return "" if not match or _owner("symbols", match[0] + name) else name


def _reference(text: str) -> Judged | None:
    """A function of CANN, or of what belongs to it, that the linker did not find."""
    match = _REFERENCE.search(text) if "undefined ref" in text else None
    library = _owner("link", match["symbol"]) if match else ""
    if not match or not library:
        return None
    owners = {"ascend_hal": "the driver", "torch_npu": "torch_npu", "atb": "NNAL"}
    values = {"symbol": match["symbol"], "library": f"lib{library}.so", "link": library}
    return "link-symbol", {**values, "owner": owners.get(library, "CANN")}


def _cause_of_symbol(by: str, owner: str) -> str:
    if any(f"/{name}" in by for name in CUDA_ONLY):
        return "cuda-package"
    if "/torchvision/" in by or "/torchaudio/" in by:
        return "torchvision"
    if "/nnal/" in by or "libatb" in by:
        return "torch-replaced" if owner == "torch" else "nnal-mixed"
    of = _owner("libraries", by.rpartition("/")[2])
    if owner == "CANN" and by != "a library" and of in ("", "CANN"):
        return "cann-mixed" if of else "symbol-missing"
    causes = {"CANN": "cann-torch-npu", "the driver": "driver-old", "torch": "torch-replaced"}
    causes.update(dict.fromkeys(("torch_npu", "protobuf", "Python", "triton"), "package-range"))
    return "nnal-old" if "NNAL" in owner else causes.get(owner, "symbol-missing")


def _operator(text: str, before: tuple[str, ...]) -> Judged | None:
    """A function of CANN that was looked up by name and not found."""
    match = _LOOKED_UP.search(text)
    if not match:
        return None
    torch = not before or any(_OF_TORCH.search(line) for line in (*before, text))
    library = "torch_npu" if torch else "The program"
    values = {"symbol": match["operator"] or match["function"], "library": library}
    own = match["operator"] and any(_OF_VLLM_ASCEND.search(line) for line in before)
    return "custom-operator" if own else "cann-torch-npu", values


def _old_library(text: str) -> Judged | None:
    match = _VERSION.search(text) if ": version " in text else None
    if not match:
        return None
    what = match["what"]
    values = {
        "version": f"{what}_{match['version']}",
        "library": (match["asks"] or match["by"]).rpartition("/")[2],
    }
    names = {"GLIBC": "glibc-old", "GLIBCXX": "glibcxx-old", "CXXABI": "glibcxx-old"}
    return names.get(what, "library-missing"), values


def _library(text: str) -> Judged | None:
    match = _MISSING.search(text) if ".so" in text else None
    if not match:
        return None
    library = next(filter(None, match.groups()))
    if "LD_PRELOAD" in text:
        return "preload-missing", {"library": library}
    if text.endswith("Permission denied", match.end()):
        return "workdir-not-writable", {"library": library}
    owner = _owner("libraries", library)
    if not owner and _MINDIE_PROGRAM.search(text):
        owner = "MindIE"
    causes = {
        "the host": "host-library",
        "driver": "hal-missing",
        "MindIE": "mindie-environment",
        "NNAL": "cann-library",
        "CANN": "cann-library",
        "MindSpore": "mindspore-plugin",
        "vllm-ascend": "vllm-ascend-kernels",
        "CUDA": "cuda-package",
        "torch": "torch-library",
        "torch_npu": "torch-library",
    }
    part = {"NNAL": "nnal/atb", "CANN": "cann"}.get(owner, "cann")
    values = {"library": library, "owner": owner, "part": part, "package": library}
    return causes.get(owner, "library-missing"), values


def _module(text: str, before: tuple[str, ...]) -> Judged | None:
    match = _MODULE.search(text)
    if not match:
        return None
    module = (match["module"] or match["package"] or match["listed"]).rstrip(".")
    root = module.partition(".")[0]
    package = module if root in NAMESPACES else root
    hidden = "is not a package" in text and root not in TBE
    shadow = "" if root in CUDA_ONLY else "source-shadow"
    context = (*before, text) if before else ()
    cause = shadow if hidden else _cause_of_module(module, context)
    wheels = _tables()["pip"].get(module) or _tables()["pip"].get(package) or (package,)
    return cause, {"module": module, "package": package, "pip": wheels[0]}


def _cause_of_own_module(root: str, before: tuple[str, ...]) -> str:
    """A part of torch or torch_npu is missing; the traceback says from which folder they came."""
    inside = [line for line in before if f"/{root}/" in line]
    if inside and not any(SITE.search(line) for line in inside):
        return "source-shadow"
    return "package-range" if inside or root == "torch" else "torch-npu-missing"


def _cause_of_module(module: str, before: tuple[str, ...]) -> str:
    root, _, rest = module.partition(".")
    if root in ("torch", "torch_npu") and rest:
        return _cause_of_own_module(root, before)
    exact = {
        "torch_npu": "torch-npu-missing",
        "transformer_engine": "transformer-engine",
        **dict.fromkeys(TBE, "tbe-missing"),
        **dict.fromkeys(OF_CANN, "decorator-missing"),
        **dict.fromkeys(CUDA_ONLY, "cuda-package"),
        **dict.fromkeys(APEX, "apex-missing"),
        **dict.fromkeys(MINDIE, "mindie-environment"),
        **dict.fromkeys(PYTHON_PARTS, "python-incomplete"),
    }
    if root in OF_CANN and not _asked_by_cann(before):
        return "python-package-missing"
    if root in exact or root in OF_PROGRAMS:
        return exact.get(root, "")
    if _importer(before) in CUDA_ONLY:
        return "cuda-package"
    if root == "triton":
        return "triton-ascend-version" if rest else "triton"
    compiled = root == "vllm_ascend" and rest.endswith("_C")
    # Python names the part only if it has found the package itself.
    found = "package-range" if rest and root not in NAMESPACES else "python-package-missing"
    return "vllm-ascend-kernels" if compiled else found


def _frames(before: tuple[str, ...]) -> list[str]:
    """The files of a traceback, the one that called first at the beginning."""
    return [frame["path"] for line in before for frame in [_FRAME.search(line)] if frame]


def _importer(before: tuple[str, ...]) -> str:
    """The installed package whose file the last frame of a traceback is of; empty if none."""
    parts = SITE.split(_frames(before)[-1]) if _frames(before) else []
    return parts[-1].strip("/").partition("/")[0] if len(parts) > 1 else ""


def _asked_by_cann(before: tuple[str, ...]) -> bool:
    """Whether CANN's Python asked for a package, or nothing can say who did."""
    frames = _frames(before)
    return not before or any(_OF_CANN_FILE.search(path) for path in frames or before)


def _import(text: str) -> Judged | None:
    match = _NAME.search(text)
    if not match:
        return None
    root = match["module"].partition(".")[0]
    values = {"module": match["module"], "name": match["name"], "package": root}
    path = match["path"] or ""
    if "circular import" in text:
        own_file = re.search(r"circular import\) \((?P<path>[^)]+)\)", text)
        hidden = (
            own_file and root in WELL_KNOWN | {"torch_npu"} and not SITE.search(own_file["path"])
        )
        return "source-shadow" if hidden else "", values
    if root == "triton":
        return ("triton-ascend-version" if "triton_patch" in text else "triton"), values
    if root == "accelerate":
        return "accelerate-range", values
    if path and not SITE.search(path) and "/cann" not in path and root not in WELL_KNOWN:
        return "", values
    return "package-range", values


def _model_type(text: str, before: tuple[str, ...]) -> Judged | None:
    """A kind of model that this release of transformers does not know."""
    match = re.search(r"KeyError: '(?P<kind>\w+)'", text) if "KeyError: " in text else None
    if not match or not any("models/auto/" in line for line in before):
        return None
    return "package-range", {"module": f"transformers (model type {match['kind']})"}


def _call(text: str, before: tuple[str, ...]) -> Judged | None:
    """A call that does not fit: packages if an installed one makes it, else the user's program."""
    plugin = _PLUGIN.search(text)
    if not plugin and not _CALL.search(text):
        return None
    paths = _frames(before)
    if not paths:
        return None
    if plugin:
        # vllm asks a class of vllm-ascend for what another release has.
        asked = "/vllm/" in paths[-1] and "/vllm_ascend/" not in paths[-1]
        return ("package-range", {}) if asked else None
    installed = SITE.search(paths[-1]) or WELL_KNOWN.intersection(paths[-1].split("/"))
    return ("package-range", {}) if installed else None


def _setting(text: str, before: tuple[str, ...]) -> Judged | None:
    """What a program says where it checks its options."""
    paths = _frames(before) if _REFUSED.search(text) else []
    return ("application-config", {}) if paths and _OPTIONS.search(paths[-1]) else None
