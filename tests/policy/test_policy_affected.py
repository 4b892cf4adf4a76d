# SPDX-License-Identifier: Apache-2.0
"""What CI takes for harmless has no part in building and checking images."""

from __future__ import annotations

from cannery.building.affected import is_harmless, is_read
from tests.policy.test_policy_sources import ROOT
from tests.unit.test_import_direction import MODULES, imports

SIM = "packages/ascend-sim"
PACKER = f"{SIM}/ascend_sim/packages"
COMMANDS = ("cannery.cli", "cannery.cli.cmd_build", "cannery.cli.cmd_test", "cannery.cli.cmd_ci")


def needed() -> set[str]:
    """Every module that builds, checks, or says what is to be built."""
    found: set[str] = set()
    waiting = {*COMMANDS}
    while waiting:
        name = waiting.pop()
        found.add(name)
        parents = {name.rpartition(".")[0]} if "." in name else set()
        waiting |= ({*imports(MODULES[name])} | parents) & MODULES.keys() - found
    return found


def test_a_module_that_builds_or_checks_is_not_harmless() -> None:
    found = needed()
    assert {"cannery.engine.buildx", "cannery.building.ci_jobs", "cannery.common.model"} <= found
    files = {str(MODULES[name].relative_to(ROOT)) for name in found}
    assert not {name for name in files if is_harmless(name)}


def test_what_only_other_commands_use_is_harmless() -> None:
    files = {str(path.relative_to(ROOT)) for path in MODULES.values()}
    harmless = {name for name in files if is_harmless(name)}
    assert len(harmless) > 50
    assert {name.split("/")[1] for name in harmless} >= {"publish", "catalog", "cli"}


def test_what_images_are_checked_and_simulated_with_is_not_harmless() -> None:
    folders = ("tests/image", f"{SIM}/device", PACKER, "cannery/compat", "cannery/engine")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = [path for path in files if path.suffix not in (".md", ".pyc")]
    assert len(files) > 100
    assert not [path for path in files if is_harmless(str(path.relative_to(ROOT)))]


def test_keys_are_computed_from_what_is_rendered() -> None:
    names = {str(path.relative_to(ROOT)) for path in (ROOT / "images").rglob("*")}
    assert all(is_read(name) for name in names)
