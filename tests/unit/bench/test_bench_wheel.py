# SPDX-License-Identifier: Apache-2.0
"""README's commands of ascend-sim, as the bench gives them to a bare Debian."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.figures_wheel import lines
from cannery.common.errors import UsageError

README = Path(__file__).parents[3] / "packages" / "ascend-sim" / "README.md"


def test_the_readme_installs_and_tests() -> None:
    readme = README.read_text(encoding="utf-8")
    install, tests = lines(readme, "2.7.1")
    assert install.splitlines() == [
        "apt-get -q update",
        "apt-get install -q -y python3-venv",
        "python3 -m venv sim && . sim/bin/activate",
        "pip install ./ascend_sim-*.whl pytest",
        "ascend-sim install --torch 2.7.1",
    ]
    assert tests == "ascend-sim run --cards 2 -- pytest"


def test_a_readme_without_the_commands_is_refused() -> None:
    readme = README.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="does not begin with its commands"):
        lines(readme.replace("    ascend-sim run", "    pytest"), "2.7.1")
