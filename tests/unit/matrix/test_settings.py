# SPDX-License-Identifier: Apache-2.0
"""cannery.toml: what it says, and every problem of it at once, each with its key."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.bases import Address
from cannery.common.errors import CanneryError, MatrixError
from cannery.matrix.settings import Settings, read_settings, with_bases, with_settings
from cannery.options import all_settings
from tests.unit.matrices import DIGEST, edited, load

WHOLE = """
source = ["download", "folder"]
servers = [
    "https://files.example.com/ascend/",
    {url = "http://10.0.0.1:8080", headers = {X-Token = "${FILES_TOKEN}"}},
]
accept-eula = "Example Ltd"
cache = "/data/cannery"
artifacts = "cann"
jobs = 4

[images."8.0.T39"]
910b = "registry.example.com/cann:8.0.T39"

[mirrors]
"docker.io" = ["mirror.example.com", "mirror.example.com:5000/hub"]

[stand-ins]
"docker.io/library/debian" = "make-base"
"""


def read(root: Path, text: str) -> Settings:
    (root / "cannery.toml").write_text(text, encoding="utf-8")
    return read_settings(root)


def test_without_the_file_nothing_is_set(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings()
    empty = read(tmp_path, "")
    assert all(empty.value(key) is None for key in all_settings())
    assert not (empty.servers or empty.images or empty.mirrors or empty.stand_ins)


def test_every_kind_of_value(tmp_path: Path) -> None:
    (tmp_path / "make-base").touch()
    settings = read(tmp_path, WHOLE)
    assert settings.value("source") == ("download", "folder")
    assert settings.servers == (
        Address(url="https://files.example.com/ascend"),
        Address(url="http://10.0.0.1:8080", headers=(("X-Token", "${FILES_TOKEN}"),)),
    )
    assert settings.value("accept-eula") == "Example Ltd"
    assert settings.value("cache") == Path("/data/cannery")
    assert settings.value("artifacts") == tmp_path / "cann"
    assert settings.value("jobs") == 4
    assert settings.value("registry") is None
    assert settings.images == {"8.0.T39": {"910b": "registry.example.com/cann:8.0.T39"}}
    assert settings.mirrors == {"docker.io": ("mirror.example.com", "mirror.example.com:5000/hub")}
    assert settings.stand_ins == {"docker.io/library/debian": tmp_path / "make-base"}


def test_a_value_has_its_line(tmp_path: Path) -> None:
    settings = read(tmp_path, "# of this site\njobs = 2\n")
    assert str(settings.place("jobs")) == "cannery.toml:2:1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("registy = 1", "cannery.toml:1:1: unknown key 'registy'. Did you mean 'registry'?"),
        ('source = ["downlod"]', "source[0]: there is no 'downlod'. Did you mean 'download'?"),
        ("source = []", "source: this is empty."),
        ('source = ["image", "image"]', "'image' is there twice."),
        ("source = [1]", "source[0]: this must be text."),
        ('source = "download"', "source: this must be a list."),
        ('servers = ["ftp://a"]', "servers[0]: 'ftp://a' is not a web address."),
        ("servers = [{urls = 1}]", "unknown key 'urls' in servers[0]."),
        (
            'servers = [{url = "https://a.b", headers = {"a b" = "1"}}]',
            "servers[0].headers.a b: 'a b' is not a request header.",
        ),
        ('accept-eula = " "', "accept-eula: this is empty."),
        ('accept-eula = "a\\nb"', "accept-eula: invalid name"),
        ('index-url = "pypi"', "index-url: invalid address of a package index."),
        ("jobs = 0", "jobs: invalid number '0'. Use a number from 1 to 999."),
        ('jobs = "4"', "jobs: this must be a number."),
        ("jobs = true", "jobs: this must be a number."),
        (
            '[images."8.0"]\n910b = "cann"',
            "images.8.0.910b: 'cann' is not the reference of an image",
        ),
        (
            '[mirrors]\n"docker.io" = ["https://m"]',
            "mirrors.docker.io[0]: 'https://m' is not a registry.",
        ),
        ('[stand-ins]\n"a.test/b" = "none"', "stand-ins.a.test/b: there is no program "),
        (
            '[stand-ins]\ndebian = "x"',
            "'debian' is not a repository with its registry.",
        ),
        ('[stand-ins]\n"a.test/b:1" = "x"', "'a.test/b:1' is not a repository with its registry."),
        (
            '[sources]\norder = ["folder"]\ncache = "x"',
            "this table is gone. Write 'order' as 'source' and 'cache' as 'cache' at the head of",
        ),
        ("sources = 1", "sources: this table is gone."),
        ("[servers\n", "cannery.toml:1:9: the file is not TOML: "),
        ("\n\na = ", "cannery.toml:3:5: the file is not TOML: "),
    ],
)
def test_a_mistake_has_its_key_or_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(MatrixError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('registry = "me:hunter2@r.test/team"', "use docker login."),
        ('index-url = "https://me:hunter2@index.test/simple"', "variable CANNERY_INDEX_URL."),
        ('cache-to = ["type=s3,secret_access_key=hunter2"]', "variable CANNERY_CACHE_TO."),
        ('servers = ["https://me:hunter2@files.test"]', "Put it into ~/.netrc."),
        (
            'servers = [{url = "https://files.test", headers = {X-Token = "hunter2"}}]',
            "write ${NAME} here.",
        ),
    ],
)
def test_a_secret_is_refused_and_not_shown(text: str, fix: str, tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="a file is no place for one") as raised:
        read(tmp_path, text)
    assert fix in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["", "https://"])
def test_a_wrong_address_is_shown_without_its_login(tmp_path: Path, scheme: str) -> None:
    with pytest.raises(MatrixError, match=r"\*\*\*\*@") as raised:
        read(tmp_path, f'[mirrors]\n"docker.io" = ["{scheme}name:hunter2@mirror.test"]\n')
    assert "hunter2" not in str(raised.value)


def test_the_places_of_a_long_file_are_read_once(tmp_path: Path) -> None:
    """In a time that grows with the file: each part of it read again would take hours."""
    text = "".join(f"a{number} = 1\n" for number in range(5000))
    with pytest.raises(MatrixError) as raised:
        read(tmp_path, text)
    last = max(filter(None, (problem.where for problem in raised.value.problems)))
    assert (last.line, last.column) == (5000, 1)
    with pytest.raises(MatrixError, match=r"toml:2:1: this value goes on for more than 1,000 lin"):
        read(tmp_path, "# servers\nservers = [\n" + '"a",\n' * 2000 + "]\n")


def test_every_mistake_has_its_line(tmp_path: Path) -> None:
    text = """\
# a comment
servers = [
    # with [mirrors] in it
    "ftp://a",
]
  ordr = []
[[more]]
a = 1

[images."8.0.RC2"]
910b = \"\"\"
cann\"\"\"
[mirrors]
"docker.io" = ["https://m"]
"""
    with pytest.raises(MatrixError) as raised:
        read(tmp_path, text)
    assert [str(each.where) for each in raised.value.problems] == [
        f"cannery.toml:{place}" for place in ("2:1", "6:3", "7:1", "11:1", "14:1")
    ]


def test_a_table_among_several_has_its_own_line(tmp_path: Path) -> None:
    good = '[[servers]]\nurl = "https://a.example"\n'
    with pytest.raises(MatrixError) as raised:
        read(tmp_path, f"{good}\n{good}[[servers]]\nurl = 1\n")
    assert str(raised.value).startswith("cannery.toml:7:1: servers[2].url: ")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(MatrixError) as raised:
        read(tmp_path, 'source = ["x"]\nservers = [1]\nmore = 1\n[other]\n')
    assert len(raised.value.problems) == 4


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_text_leads_to_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    root = tmp_path_factory.getbasetemp()
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    (root / "cannery.toml").write_bytes(content)
    with suppress(CanneryError):
        read_settings(root)


@pytest.mark.parametrize(
    ("image", "program"),
    [
        ("debian:12", "make-base"),
        ("docker.io/library/debian:12-slim", "make-base"),
        ("registry.company.test/library/debian:12", None),
        ("docker.io/team/debian:12", None),
    ],
)
def test_a_stand_in_is_for_one_repository_of_one_registry(
    tmp_path: Path, image: str, program: str | None
) -> None:
    (tmp_path / "make-base").touch(0o755)
    settings = read(tmp_path, '[stand-ins]\n"docker.io/library/debian" = "make-base"\n')
    matrix = load(tmp_path, edited("image: debian:12@sha256:" + DIGEST, f"image: {image}"))
    base = with_settings(matrix, settings).targets["full"].build_base
    assert base.stand_in == (tmp_path / program if program else None)


@pytest.mark.parametrize(
    ("allowed", "stand_in", "only_mirrors"),
    [("any", True, False), ("pulled", False, False), ("mirrors", False, True)],
)
def test_bases_are_only_from_where_they_may_be(
    tmp_path: Path, allowed: str, stand_in: bool, only_mirrors: bool
) -> None:
    (tmp_path / "make-base").touch(0o755)
    settings = read(tmp_path, '[stand-ins]\n"docker.io/library/debian" = "make-base"\n')
    targets = with_settings(load(tmp_path), settings).targets.values()
    for target in with_bases(targets, allowed):
        for base in (target.base, target.build_base):
            assert (bool(base.stand_in), base.only_mirrors) == (stand_in, only_mirrors)


def test_deep_nesting_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="not TOML"):
        read(tmp_path, "a = " + "[" * 20_000)


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, "9223372036854775808", "1e400"])
def test_a_huge_number_is_a_mistake(number: str, tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="not TOML"):
        read(tmp_path, f"accept-eula = {number}\n")
