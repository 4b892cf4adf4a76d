# SPDX-License-Identifier: Apache-2.0
"""Logs of every form are read, or refused with what they are."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_doctor.command import main
from ascend_doctor.log_files import lines_near
from ascend_doctor.log_report import examine_logs
from ascend_doctor.packed import LogError
from tests.test_log_reader import GOOD, OOM, root

TEXT = GOOD * 5 + OOM


def in_tar(folder: Path, text: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in (("debug/plog/plog-1.log", GOOD), ("debug/plog/plog-2.log", text)):
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    return stream.getvalue()


def in_zip(folder: Path, text: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/train.log", text)
    return stream.getvalue()


FORMS: dict[str, Callable[[Path, str], bytes]] = {
    "gz": lambda _, text: gzip.compress(text.encode()),
    "bz2": lambda _, text: bz2.compress(text.encode()),
    "xz": lambda _, text: lzma.compress(text.encode()),
    "tar.gz": in_tar,
    "zip": in_zip,
    "utf-16": lambda _, text: text.encode("utf-16"),
    "utf-16 without a mark": lambda _, text: text.encode("utf-16-le"),
    "utf-16 of the other order": lambda _, text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "lines that end in CR": lambda _, text: text.replace("\n", "\r").encode(),
    "lines that end in CR LF": lambda _, text: text.replace("\n", "\r\n").encode(),
    "a hole of zeros": lambda _, text: bytes(1 << 13) + b"\n" + text.encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_log_of_this_form_is_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(FORMS[form](tmp_path, TEXT))
    found = root(examine_logs([str(path)]))
    assert found["id"] == "card-memory"
    assert found["message"] == [OOM.strip()]


FOREIGN = {
    "a program": (b"\x7fELF\2\1\1" + bytes(99), "a program"),
    "zstd": (b"\x28\xb5\x2f\xfd" + b"x" * 99, "unzstd"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"x" * 99, "picture"),
    "zeros and numbers": (bytes(range(4)) * 999, "binary data"),
    "a cut gz": (gzip.compress(TEXT.encode() * 99)[:80], "broken|ended"),
    "nothing": (b"", "empty"),
    "nothing, packed": (gzip.compress(b""), "empty"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_log_is_refused_with_what_it_is(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, says = FOREIGN[what]
    path = tmp_path / "a.log"
    path.write_bytes(content)
    with pytest.raises(LogError, match=says):
        examine_logs([str(path)])
    assert main(["--log", str(path)]) == 9
    assert str(path) in capsys.readouterr().err


def test_a_folder_is_read_without_what_is_no_log_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.log").write_bytes(b"\x7fELF" + bytes(99))
    (tmp_path / "c.log").touch()
    document = examine_logs([str(tmp_path)])
    assert root(document)["id"] == "card-memory"
    assert len(document["logs"]["left_out"]) == 2
    assert main(["--log", str(tmp_path)]) == 8
    said = capsys.readouterr().out
    assert "Not read:" in said
    assert "b.log is no log but a program" in said


@pytest.mark.parametrize("number", [1, 2, 4000, 7999, 8000])
def test_the_lines_around_a_line_have_their_numbers(number: int, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"line {n} {'x' * 40}\n" for n in range(1, 8001)), encoding="utf-8")
    found = [(at, text) for at, text in lines_near(str(path), number, 3, 2) if text]
    assert [at for at, _ in found] == [*range(max(1, number - 3), min(8000, number + 2) + 1)]
    assert all(text.startswith(f"line {at} ") for at, text in found)


def test_a_chinese_log_in_gb18030_is_shown_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("2026-03-01 10:00:00 错误 加载模型失败:文件不存在\n".encode("gb18030"))
    found = root(examine_logs([str(path)]))
    assert "文件不存在" in found["message"][0]
