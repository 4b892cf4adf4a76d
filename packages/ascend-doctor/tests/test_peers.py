# SPDX-License-Identifier: Apache-2.0
"""What several ranks write together names the rank or card that the others wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_doctor.log_report import examine_logs
from tests.test_log_reader import root

LINK = "Wait links establish completed failed, local role is client. ret[9]"


def line(pid: int, text: str, level: str = "ERROR") -> str:
    return f"[{level}] HCCL({pid},python3):2026-01-01-10:00:00.000.001 [a.cc:1] [{pid}]{text}\n"


def together(folder: Path, *texts: str) -> dict[str, Any]:
    paths = [folder / f"{number}.log" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return root(examine_logs([str(each) for each in paths]))


def waits(pid: int, rank: int, collective: int) -> str:
    base = "Task run failed, base information is streamID:[3], taskType[Notify Wait], tag[a]"
    return line(pid, f"rankSize[4], rankId[{rank}].", "INFO") + line(
        pid, f"{base}, index[{collective}], AlgType."
    )


def row(peer: int, own: int) -> str:
    return f"| 192.0.2.{peer}({peer}) | 16666 | 192.0.2.{own}({own}) | 0 | client | time out |"


def test_the_rank_in_an_earlier_collective_is_behind(tmp_path: Path) -> None:
    found = together(tmp_path, waits(70, 0, 12), waits(71, 1, 9))
    assert "Rank 1 is behind" in found["what"]
    assert "collective 9" in found["what"]
    assert "rank 1 first" in found["mend"]


def test_an_index_is_not_taken_for_a_rank(tmp_path: Path) -> None:
    found = together(tmp_path, waits(70, 0, 3))
    assert "rank 3" not in found["what"] + found["mend"]


def test_a_card_that_all_wait_for_and_that_wrote_nothing_is_missing(tmp_path: Path) -> None:
    texts = [
        line(70 + card, f"SetupAgent rankNum[16], rank[{8 + card}], phydevId[{card}]", "INFO")
        + line(70 + card, "HCCL_CONNECT_TIMEOUT set by environment to [700]s", "INFO")
        + line(70 + card, LINK)
        + line(70 + card, f"Wait P2P failed, src devicePhyId[{card}], dst devicePhyId[5]")
        for card in (0, 2, 3)
    ]
    found = together(tmp_path, *texts)
    assert "card 5" in found["what"]
    assert "rank 13" in found["what"]
    assert "HCCL_CONNECT_TIMEOUT=1400" in found["mend"]


def test_a_rank_that_several_could_not_reach_is_named(tmp_path: Path) -> None:
    found = together(
        tmp_path, *[line(70 + own, row(7, own)) + line(70 + own, LINK) for own in (1, 2)]
    )
    assert "rank 7 (192.0.2.7)" in found["what"]
    assert "address 192.0.2.7" in found["mend"]


def test_two_ranks_that_wait_for_each_other_have_a_link_that_failed(tmp_path: Path) -> None:
    found = together(tmp_path, line(70, row(1, 0)) + line(70, LINK), line(71, row(0, 1)))
    assert "Rank 0 (192.0.2.0) could not connect to rank 1 (192.0.2.1)" in found["what"]


def test_a_rank_that_waits_for_the_root_names_both(tmp_path: Path) -> None:
    info = "Entry: ranks[8], rank[6], rootinfo: host ip[192.0.2.9] port[60004]"
    error = "Wait timeout for sockets recv, data[0x1]"
    found = together(tmp_path, line(70, info, "INFO") + line(70, error))
    assert "Rank 6 of 8" in found["what"]
    assert "192.0.2.9" in found["mend"]


def test_one_rank_alone_is_told_as_before(tmp_path: Path) -> None:
    found = together(tmp_path, line(70, LINK))
    assert found["what"] == "A card could not connect to another card."
