# SPDX-License-Identifier: Apache-2.0
"""Writes the results as a page of docs/."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from conformance.releases.profiles import Firsts
from conformance.releases.scan import Reading
from conformance.releases.tables import (
    PASS,
    Exports,
    Release,
    Runs,
    looked_up,
    missing,
    operators,
    outcome,
)
from conformance.releases.wheels import PYTHONS

NO_SOURCE = "no source"
HEADING = """\
# Releases of torch_npu on the software device

`nox -s releases` wrote this page. It reads every wheel of torch_npu in the package index for Python
3.9 to 3.13 and both architectures, and runs those for x86_64 where this machine has the Python.

- **Read**: the symbols that the wheel's libraries leave undefined are compared with those that the
  device exports. *all* means that the loader finds each symbol that `import torch_npu` needs. A
  name in a library's texts counts as looked up at run time if it has the form of an operator
  (`aclnn…`), or is a function in the headers of CANN that torch_npu brings. A name that is put
  together at run time is not seen.
- **Run**: in the environment of `ascend-sim run --cards 2`, with the torch of the package index:
  `torch.npu.is_available()`, a matrix product against the CPU, eight steps of AdamW against the
  CPU, an all-reduce of two ranks, and `npu-smi info`. That torch is built for CUDA; NVIDIA's
  libraries are replaced by empty ones, since there is no GPU. *read* means that the wheel was read
  and not run; nothing was run on aarch64.
- **CANN, named**: the oldest release that a row of compat.yaml has for it, from a maker's source
  if there is one. A release of torch_npu without a row is run with the newest CANN.
- **CANN, at least**: the first release that has all symbols that the import needs, as far as
  sources tell. Below it, the simulated CANN lacks some, and the import ends in `undefined symbol`.

"""
PROFILES = """\
## Symbols by release of CANN

The first release of which a source says that it has a symbol. Sources are the symbols and the
headers of CANN in the wheels of torch_npu, by the CANN that compat.yaml names for them, CANN's own
headers from 8.5.0 on (hicann/runtime), and what the plugin of MindSpore 2.7.1, which is for
8.3.RC1, imports. **No source tells that an older release lacks a symbol**: it may have had it
before. A simulated CANN offers what a source says that it has, so the import of a torch_npu that is
too new for it ends in `undefined symbol`, as on a real one; on which release a real one begins to
work, no source tells. One such error of a real CANN was reported:
`undefined symbol: MsprofSysCycleTime` (triton-lang/triton-ascend#328). C++ functions have their
mangled names.

"""


def page(
    releases: Sequence[Release], exports: Exports, runs: Runs, found: Firsts, machine: str
) -> str:
    """The page of docs/."""
    declared = frozenset(
        name for each in releases for wheel in each.wheels for name in wheel["declared"]
    )
    parts = [
        f"{HEADING}Run on {machine}.\n",
        f"{counts(releases, runs)}\n## Releases\n\n{overview(releases, exports, runs)}",
        f"## Checks that fail\n\n{failures(releases, runs)}",
        f"## Symbols that the device lacks\n\n{lacks(releases, exports, declared)}",
        f"{PROFILES}{profiles(found)}",
    ]
    return "\n".join(parts)


def counts(releases: Sequence[Release], runs: Runs) -> str:
    """How much there is, in a sentence."""
    wheels = sum(len(each.wheels) for each in releases)
    results = [result for found in runs.values() for result in found.values()]
    passed = sum(outcome(result) == PASS for result in results)
    return (
        f"{len(releases)} releases with {wheels} wheels were read. {len(results)} wheels were run, "
        f"and all checks pass with {passed} of them.\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), ["--"] * len(head), *([*row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def overview(releases: Sequence[Release], exports: Exports, runs: Runs) -> str:
    """A row for each release."""
    head = ["torch_npu", "CANN, named", "CANN, at least", "read: aarch64", "read: x86_64"]
    head += ["operators", *(f"run: {python}" for python in PYTHONS)]
    return table(head, (_row(each, exports, runs) for each in releases))


def _row(each: Release, exports: Exports, runs: Runs) -> list[str]:
    named, found = max(operators(wheel, exports) for wheel in each.wheels)
    machines = ["aarch64", "x86_64"]
    return [
        each.name,
        str(each.made_for or NO_SOURCE),
        str(each.least or NO_SOURCE),
        *(_loads([w for w in each.wheels if w["machine"] == name], exports) for name in machines),
        f"{found} of {named}",
        *(_ran(each, python, runs) for python in PYTHONS),
    ]


def _loads(wheels: Sequence[Reading], exports: Exports) -> str:
    lacking = [wheel["python"] for wheel in wheels if missing(wheel, exports, importing=True)]
    if not wheels:
        return "no wheel"
    return f"not for {', '.join(lacking)}" if lacking else "all"


def _ran(each: Release, python: str, runs: Runs) -> str:
    found = {wheel["machine"] for wheel in each.wheels if wheel["python"] == python}
    if "x86_64" not in found:
        return "read" if found else "no wheel"
    return outcome(runs.get(python, {}).get(each.name))


def failures(releases: Sequence[Release], runs: Runs) -> str:
    """Each check that does not pass, with the reason."""
    rows = [
        [each.name, python, check.replace("_", "-"), _cell(reason)]
        for each in releases
        for python in PYTHONS
        for check, reason in runs.get(python, {}).get(each.name, {}).items()
        if reason != PASS
    ]
    return table(["torch_npu", "Python", "check", "reason"], rows) if rows else "None.\n"


def _cell(reason: str) -> str:
    """The reason without the folders of this run."""
    return re.sub(r"/\S+/(?=[^/\s]+\.so)", "", reason).replace("|", r"\|")


def lacks(releases: Sequence[Release], exports: Exports, declared: frozenset[str]) -> str:
    """What is missing, by the kind of need, with the releases that need it."""
    kinds: dict[str, Callable[[Reading], list[str]]] = {
        "the import": lambda wheel: missing(wheel, exports, importing=True),
        "a library that is loaded later": lambda wheel: missing(wheel, exports, importing=False),
        "looked up": lambda wheel: looked_up(wheel, exports, declared),
    }
    rows: list[list[str]] = []
    for kind, of in kinds.items():
        users: dict[str, list[str]] = {}
        for each in releases:
            for name, files in _files(each.wheels, of).items():
                whole = kind != "the import" or len(files) == len(each.wheels)
                users.setdefault(name, []).extend([each.name] if whole else files)
        for who, names in _by_users(users).items():
            rows.append([kind, ", ".join(f"`{name}`" for name in names), who])
    return table(["needed by", "symbols", "torch_npu"], rows) if rows else "None.\n"


def _files(wheels: Sequence[Reading], of: Callable[[Reading], list[str]]) -> dict[str, list[str]]:
    """What the wheels lack to the files that lack it."""
    found: dict[str, list[str]] = {}
    for wheel in wheels:
        for name in of(wheel):
            found.setdefault(name, []).append(wheel["file"])
    return found


def _by_users(users: dict[str, list[str]]) -> dict[str, list[str]]:
    """The releases as text to the symbols that these need."""
    groups: dict[str, list[str]] = {}
    for name, each in sorted(users.items()):
        groups.setdefault(_span(each), []).append(name)
    return groups


def _span(names: Sequence[str]) -> str:
    few = 3
    return ", ".join(names) if len(names) <= few else f"{names[0]} to {names[-1]} ({len(names)})"


def profiles(found: Firsts) -> str:
    """A row for each release of CANN and library."""
    ordered = sorted(found.items(), key=lambda item: (item[1], item[0]))
    rows = [
        [str(cann), library, ", ".join(f"`{line.split()[1]}`" for line, _ in lines)]
        for (cann, library), lines in groupby(ordered, lambda i: (i[1], i[0].split()[0]))
        if cann > ordered[0][1]
    ]
    return table(["CANN", "library", "symbols"], rows)
