# SPDX-License-Identifier: Apache-2.0
"""What a real build needs, on one screen."""

from __future__ import annotations

from pathlib import Path

from cannery.common.bases import Address, File
from cannery.fetch.needs import Missing, Need, Supply, real_needs, screen, summary, supply_of
from tests.unit.matrices import Checkout

SERVED = (Address(url="https://files.example.com/a.run"),)
HASHED = File(name="a.run", origin="the vendor", sha256="1" * 64, size=1_100_000_000)
UNHASHED = File(name="b.run", origin="the vendor", addresses=SERVED, eula="https://eula.example")


def test_the_screen_has_files_licence_and_the_whole_command() -> None:
    needs = [Need(file=file, supply=supply_of(file)) for file in (HASHED, UNHASHED)]
    told = screen(needs, Path("/files"), "python build.py build full").splitlines()
    assert told[:6] == [
        "2 files missing for a real build:",
        "",
        "  file   size           sha256         how",
        "  a.run  1.1 GB         known          download",
        "  b.run  not published  not published  first use",
        "",
    ]
    facts = dict(line.split(maxsplit=1) for line in told[6:])
    assert {*facts} == {"from", "licence", "sha256", "disk", "time", "command"}
    assert facts["licence"].startswith("https://eula.example ")
    assert facts["sha256"].startswith("of 1 file nobody publishes it")
    wanted = "python build.py build full --accept-eula NAME --trust-first-use"
    assert facts["command"] == wanted


def test_local_and_listed_files_are_not_shown() -> None:
    here = Need(file=HASHED, supply=Supply.HERE)
    assert screen([here], Path("/files"), "x") == ""
    alone = Need(file=UNHASHED, supply=Supply.BY_HAND)
    told = screen([here, alone], Path("/files"), "x", listed=["b.run"])
    assert "b.run" not in told
    assert "  by hand  put 1 file into /files yourself" in told.splitlines()
    assert told.splitlines()[-1] == "  command  x"


def test_many_files_are_one_screen() -> None:
    needs = [
        Need(file=File(name=f"{n}.run", origin="x"), supply=Supply.BY_HAND) for n in range(1, 31)
    ]
    told = screen(needs, Path("/files"), "x")
    assert "20.run" in told
    assert "21.run" not in told
    assert "  and 10 more: 'build.py list --format json' has all" in told.splitlines()
    assert len(told.splitlines()) < 40


def test_where_the_files_of_a_target_are(checkout: Checkout, tmp_path: Path) -> None:
    target = checkout.matrix.targets["full"]
    (tmp_path / target.toolkit_file.name).touch()
    found = real_needs([target], tmp_path, stored=lambda file: file.name.startswith("apex"))
    assert {*found} == {file.name for file in target.artifacts.values()}
    assert found[target.toolkit_file.name].supply is Supply.HERE
    assert [each.supply for name, each in found.items() if name.startswith("apex")] == ["here"]
    assert found[target.kernels_file.name].supply is Supply.BY_HAND
    served = real_needs([target], tmp_path, served=lambda _: True)
    assert served[target.kernels_file.name].supply is Supply.FIRST_USE
    assert served[target.kernels_file.name].fields["sha256"] == "unpublished"


def test_targets_are_counted_by_their_hardest_step() -> None:
    first, known = (Need(file=file, supply=supply_of(file)) for file in (UNHASHED, HASHED))
    one, two = summary([[known], [known, first], [first]])
    assert one == "  1 target: --accept-eula NAME downloads all files"
    assert two.startswith("  2 targets: --accept-eula NAME --trust-first-use downloads all files")


FILES = {f"file-{number}": f"origin {number}" for number in range(1, 11)}


def test_a_shared_missing_file_has_one_number() -> None:
    found = Missing([{"a.run": "the vendor"}, {}, {"b.whl": "its makers", "a.run": "the vendor"}])
    assert found.needs(["a.run"]) == "needs file 1"
    assert found.needs(["b.whl", "a.run"]) == "needs files 2, 1"
    assert found.legend("missing:") == [
        "missing:",
        "  1  a.run (the vendor)",
        "  2  b.whl (its makers)",
    ]


def test_numbers_are_aligned() -> None:
    lines = Missing([FILES]).legend("missing:")
    assert (lines[1], lines[10]) == ("   1  file-1 (origin 1)", "  10  file-10 (origin 10)")


def test_nothing_is_missing() -> None:
    assert Missing([{}, {}]).legend("missing:") == []
