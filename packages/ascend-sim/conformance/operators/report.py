# SPDX-License-Identifier: Apache-2.0
"""Writes results as a page of docs/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.operators.outcomes import Count, Failure, Outcome, count, failures
from conformance.operators.run import Results

HEADING = """\
# Operators on the software device

`python -m conformance.operators` wrote this page. It calls every operator of torch's OpInfo on a
simulated NPU, in torch_npu's default mode, and compares with the CPU, in the same type or float64.
Forward: float32, bfloat16, int64, bool, complex64; backward: float32; of each type up to 3 of
OpInfo's first 200 samples, which a seed draws with their values; their numbers are below. An
operator that draws random numbers is compared by shape; of indices that sort or select, the
elements are compared that they stand for. Operators run in processes of their own, so that a crash
or a hang counts for one case only.

Outcomes that are not the device's:

- *pass, other type*: shapes and values are right, but the type is not the CPU's. torch_npu chooses
  it before it calls CANN. Such a case passes.
- *refused by torch_npu*: torch_npu itself ends the call before it calls CANN, because it lacks the
  operator, or with its own error for parameters, types, values or features that it does not support
  (ERR01001, ERR01002, ERR01003, ERR01007).
- *refused as on the card*: an operator of CANN gets a type that its document denies for a 910B. The
  document is named, a file of a repository of https://github.com/hicann
  ([all that is known](../docs/accepted-types.md)). NPUSIM_LENIENT=1 measures these types, too.
- *wrong, explained*: torch_npu's own code makes the difference or the error, on every device. The
  source is named, a file of op-plugin, which has torch_npu's operators.

What is refused, by either, is neither a pass nor a failure. The last percentage leaves it out: it
is of the operators with a case that is not refused, and all such cases of an operator must pass.

"""


def share(part: int, whole: int) -> str:
    """A number and its percentage."""
    return f"{part} ({100 * part / whole:.1f} %)" if whole else str(part)


def summary(counts: Mapping[str, Count]) -> str:
    """One row a direction: operators, then cases."""
    operators = "operators | all cases pass | none passes | not wholly refused | of these, all pass"
    rows = [f"|  | {operators} |", "|--|--|--|--|--|--|"]
    for way, c in counts.items():
        every, accepted = share(c.every, c.operators), share(c.every_accepted, c.accepted)
        rows.append(f"| {way} | {c.operators} | {every} | {c.none} | {c.accepted} | {accepted} |")
    rows += ["", f"|  | cases | {' | '.join(Outcome)} |", "|--" * (len(Outcome) + 2) + "|"]
    for way, c in counts.items():
        rows.append(f"| {way} | {c.cases} | {' | '.join(str(c.outcomes[o]) for o in Outcome)} |")
    return "\n".join(rows) + "\n"


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return text.replace("|", r"\|")


def numbers(cases: Iterable[str]) -> str:
    """The names of cases with their type only once: `float32 0, 2; bool 1`."""
    types: dict[str, list[str]] = {}
    for case in cases:
        name, _, number = case.rstrip("]").partition("[")
        types.setdefault(name, []).append(number)
    return "; ".join(f"{name} {', '.join(found)}".strip() for name, found in types.items())


def not_passed(results: Results) -> str:
    """The operators of which a case has another outcome, with the cases and the reason."""
    rows: dict[tuple[str, Outcome, str], list[Failure]] = {}
    for failure in failures(results):
        key = (failure.operator, failure.outcome, failure.reason)
        rows.setdefault(key, []).append(failure)
    lines = ["| operator | cases | outcome | reason |", "|--|--|--|--|"]
    for (operator, kind, why), found in rows.items():
        cases = numbers(failure.case for failure in found)
        lines.append(f"| {operator} | {cases} | {kind} | {cell(why)} |")
    return "\n".join(lines) + "\n"


def passed(results: Results) -> str:
    """The operators of which all cases pass, by the types that they take."""
    types: dict[str, list[str]] = {}
    for operator, cases in sorted(results.items()):
        if cases and set(cases.values()) == {"pass"}:
            names = dict.fromkeys(case.partition("[")[0] for case in cases)
            types.setdefault(", ".join(names), []).append(operator)
    groups = sorted(types.items(), key=lambda group: -len(group[1]))
    return "\n".join(
        f"**{names}** ({len(operators)}): {', '.join(operators)}\n" for names, operators in groups
    )


def page(results: Mapping[str, Results], machine: str, versions: str) -> str:
    """The page of docs/."""
    counts = {way: count(found) for way, found in results.items()}
    text = f"{HEADING}Measured with {versions}, on {machine}.\n\n{summary(counts)}"
    for way, found in results.items():
        text += f"\n## Other outcomes than a plain pass, {way}\n\n{not_passed(found)}"
    for way, found in results.items():
        text += f"\n## Operators with plain passes only, {way}\n\n{passed(found)}"
    return text
