# SPDX-License-Identifier: Apache-2.0
"""Judges targets by compat.yaml: what is known to work together, to fail, or not known at all.

reader parses compat.yaml into rows; rules turns a target and the rows into findings, and says
which findings keep a target from being built; nearest finds known combinations near to one that is
not known.
"""

from __future__ import annotations

from cannery.compat.facts import Compat, parse_compat
from cannery.compat.finding import Finding, Verdict
from cannery.compat.rules import Refusal, cxx_abi, judge, passes, refusals_of

__all__ = [
    "Compat",
    "Finding",
    "Refusal",
    "Verdict",
    "cxx_abi",
    "judge",
    "parse_compat",
    "passes",
    "refusals_of",
]
