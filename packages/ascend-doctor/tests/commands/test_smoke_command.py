# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor smoke`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_doctor.commands import smoke
from ascend_doctor.smoke.model import parse_document, to_json
from tests.commands.exit_codes import main
from tests.smoke.smokes import Items, document_of, good_items

Said = pytest.CaptureFixture[str]


def document(path: Path, items: Items) -> str:
    path.write_text(to_json(document_of(items, path.stem)), encoding="utf-8")
    return str(path)


def use(monkeypatch: pytest.MonkeyPatch, items: Items) -> None:
    """Let the cards have these results."""
    monkeypatch.setattr(smoke, "smoke", lambda *_: document_of(items))


def test_the_cards_are_tested_and_compared(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, good_items())
    other = document(tmp_path / "node2.json", good_items(cards=1))
    made = tmp_path / "node1.json"
    assert main(["smoke", "--json", str(made), "--against", other]) == 0
    said = capsys.readouterr().out
    assert said.startswith("mine:1 on node1: passed\n8 cards Ascend910B3, driver 25.5.0, ")
    assert "\nnode1 and node2: 2 differences\n" in said
    assert parse_document(made.read_text(encoding="utf-8"), "a").host == "node1"
    assert main(["smoke", "--json", "-"]) == 0
    assert parse_document(capsys.readouterr().out, "a").host == "node1"


def test_a_failed_check(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [each for each in good_items() if each["item"] != "memory"])
    assert main(["smoke"]) == 8
    assert capsys.readouterr().out.startswith("mine:1 on node1: 1 check failed\n")


def test_files_are_compared_without_a_card(tmp_path: Path, capsys: Said) -> None:
    files = [document(tmp_path / f"node{n}.json", good_items()) for n in (1, 2, 3)]
    assert main(["smoke", "--compare", *files]) == 0
    said = capsys.readouterr().out
    assert "node1 and node2: 0 differences" in said
    assert "node1 and node3: 0 differences" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--compare", "good.json"], 2, "--compare needs two files"),
        (["--compare", "good.json", "good.json", "--json", "x"], 2, "--json has the results of"),
        (["--compare", "bad.json", "nothing.json"], 9, "bad.json is not a document of"),
        (["--against", "bad.json"], 9, "bad.json is not a document of"),
        (["--against", "a", "--compare", "b"], 2, "not allowed with"),
        (["--cards", "0"], 2, "invalid number '0'"),
        (["--python", "/nothing/python"], 9, "there is no Python /nothing/python"),
    ],
)
def test_wrong_words(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document(tmp_path / "good.json", good_items())
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["smoke", *words]) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
