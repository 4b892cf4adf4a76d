# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.errors import CanneryError, UsageError
from cannery.common.model import Target
from cannery.matrix.schema import load_matrix
from cannery.update.choice import NewOptions
from tests.unit.compat_targets import COMPAT
from tests.unit.examples import times
from tests.unit.proposals import TEXT, proposed, targets_of

REAL = (Path(__file__).resolve().parents[3] / "compat.yaml").read_text(encoding="utf-8")

# The same with its targets in a family, and two more there that are of another base.
FAMILY = """\
# belongs to the families
families:
  result:
    id: "{place}-{number}"
    axes:
      place:
        there: {base: debian-12, python: own-python}
      number:
        one: {cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, chip: 910b}}
        two: {cann: {toolkit: 8.0.RC2, kernels: 8.0.RC2, nnal: 8.0.RC2, chip: 910b}}
        three: {cann: {toolkit: 8.0.T39, kernels: 8.0.T39, chip: 910b}}
    common:
      summary: what a family has
      platform: linux/arm64
      torch: 2.1.0
      torch_npu: 2.1.0.post6
    overrides:
      there-three:
        torch_npu: {replace: 2.1.0.post8}
"""
BEFORE, TARGETS = TEXT.split("\ntargets:\n")
WITH_FAMILY = f"{BEFORE}\n{FAMILY}\ntargets:\n{TARGETS}"
ONLY_FAMILY = f"{BEFORE}\n{FAMILY}"
LAYOUTS = {"targets": TEXT, "families and targets": WITH_FAMILY, "families": ONLY_FAMILY}


def require_valid(folder: Path, text: str) -> Mapping[str, Target]:
    (folder / "compat.yaml").write_text(REAL, encoding="utf-8")
    (folder / "matrix.yaml").write_text(text, encoding="utf-8")
    return load_matrix(folder / "matrix.yaml").targets


@pytest.mark.parametrize("text", [WITH_FAMILY, ONLY_FAMILY])
def test_what_families_have_is_known(text: str) -> None:
    with pytest.raises(UsageError, match="target there-two exists already"):
        proposed(text, python="3.9", id="there-two")
    # Most of the targets have this base.
    result, after = proposed(text, python="3.10", torch="2.1.0", cann="8.0.RC2", apex=True)
    assert "  base: debian-12" in result.entries[-1][1]
    assert after.endswith("\n".join(f"  {line}" for line in result.entries[-1][1]) + "\n")
    assert "apex" not in {where[0] for where, _ in result.entries}


@pytest.mark.parametrize("text", [WITH_FAMILY, ONLY_FAMILY])
def test_a_section_that_is_missing_goes_before_the_families(text: str) -> None:
    without = text.replace(text[text.index("apex:") : text.index("# belongs to")], "")
    without = without.replace("    apex: 0.1+ascend\n", "")
    options: dict[str, str] = {"torch": "1.11.0", "cann": "8.0.RC2", "deepspeed": "0.6.0"}
    _, after = proposed(without, python="3.9", apex=True, **options)
    order = [line for line in after.splitlines() if re.match("[a-z#]", line)]
    place = order.index("# belongs to the families")
    assert order[place - 2 :] == [
        *("apex:", "deepspeed_plugins:"),
        *("# belongs to the families", "families:", "targets:"),
    ]


@st.composite
def some_options(draw: st.DrawFn) -> NewOptions:
    """Part of what one row of compat.yaml has, so that most of them can be fulfilled."""
    row = draw(st.sampled_from([row for row in COMPAT.pairings if row.pythons]))
    python = draw(st.sampled_from(row.pythons))
    return NewOptions(
        python=python,
        torch=draw(st.sampled_from(["", row.torch])),
        cann=draw(st.sampled_from(["", str(row.cann)])),
        chip=draw(st.sampled_from(["910b", "910b", "910", "a3", "310p"])),
        # apex is known for some Pythons only, and that is the user's to ask for.
        apex=python in ("3.8", "3.9", "3.10") and draw(st.booleans()),
        id="new",
    )


@given(some_options(), st.sampled_from([*LAYOUTS.values()]))
@times(0.5)
def test_every_proposal_loads_without_a_problem(
    tmp_path_factory: pytest.TempPathFactory, options: NewOptions, text: str
) -> None:
    try:
        result, after = proposed(text, **vars(options))
    except CanneryError as error:
        assert error.problems  # noqa: PT017 - nothing fits, which is an answer
        return
    targets = require_valid(tmp_path_factory.mktemp("proposal"), after)
    assert [*targets] == [*targets_of(text), result.id]
