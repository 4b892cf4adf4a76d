# SPDX-License-Identifier: Apache-2.0
"""Options that neither the command line nor the environment has are read from cannery.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from cannery import options as shared
from cannery.cli.cmd_build import BuildCommandOptions
from cannery.cli.cmd_push import PushCommandOptions
from cannery.cli.command import read
from cannery.cli.commands import SUMMARIES, load
from cannery.cli.defaults import OTHERS, find, unknown
from cannery.common.errors import MatrixError, UsageError
from cannery.common.option import OptionSet, number, option
from cannery.matrix import settings as matrix_settings
from cannery.matrix.settings import read_settings
from cannery.options import all_settings

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    text = 'jobs = 2\nfetch-jobs = 3\nsource = ["image"]\nartifacts = "cann"\n'
    (tmp_path / "cannery.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_an_option_goes_before_a_variable_and_that_before_the_file(root: Path) -> None:
    read_with = {"CANNERY_JOBS": "5", "CANNERY_CACHE_FROM": "a.test/one a.test/two"}
    given = read(BuildCommandOptions, {"check_jobs": 7}, root, read_with)
    assert (given.check_jobs, given.fetch_jobs) == (7, 3)
    assert given.cache_from == ("a.test/one", "a.test/two")
    assert read(BuildCommandOptions, {}, root, read_with).check_jobs == 5
    assert read(BuildCommandOptions, {}, root, {}).check_jobs == 2
    assert read(BuildCommandOptions, {}, root / "empty", {}).check_jobs == 1


def test_an_empty_variable_is_none(root: Path) -> None:
    assert read(BuildCommandOptions, {}, root, {"CANNERY_JOBS": ""}).check_jobs == 2


def test_relative_paths(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    assert read(BuildCommandOptions, {}, root, {}).artifacts == root / "cann"
    by_variable = read(BuildCommandOptions, {}, root, {"CANNERY_ARTIFACTS": "lib"})
    assert by_variable.artifacts == Path("/usr/lib")
    assert read(BuildCommandOptions, {}, root / "empty", {}).artifacts == root / "empty/artifacts"


def test_a_setting_gives_way_to_an_option_that_it_cannot_be_combined_with(root: Path) -> None:
    given = {"from_bundle": root / "cannery.toml"}
    assert read(BuildCommandOptions, given, root, {}).artifacts == root / "artifacts"


def test_only_a_typed_source_replaces_simulated_packages(root: Path) -> None:
    of_file = read(BuildCommandOptions, {"simulate": True}, root, {})
    assert (of_file.sources, of_file.with_cann) == (("image",), False)
    assert read(BuildCommandOptions, {"sources": ["image"]}, root, {}).with_cann


def test_a_required_option_may_be_a_setting(root: Path) -> None:
    given = {"targets": ["one"]}
    with pytest.raises(UsageError) as caught:
        read(PushCommandOptions, given, root, {})
    assert str(caught.value) == (
        "no registry is named. Add --registry REGISTRY, or set CANNERY_REGISTRY, or write "
        "'registry' in cannery.toml."
    )
    registry = {"CANNERY_REGISTRY": "registry.test/team"}
    assert read(PushCommandOptions, given, root, registry).registry == "registry.test/team"


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    text = 'jobs = 0\nregisty = "a.test"\n'
    (tmp_path / "cannery.toml").write_text(text, encoding="utf-8")
    environ = {"CANNERY_SOURCE": "foldr", "CANNERY_FETCH_JOBS": "many"}
    with pytest.raises(MatrixError) as caught:
        find(all_settings().values(), tmp_path, environ)
    assert str(caught.value).splitlines() == [
        "cannery.toml:1:1: jobs: invalid number '0'. Use a number from 1 to 999.",
        "cannery.toml:2:1: unknown key 'registy'. Did you mean 'registry'?",
        "CANNERY_SOURCE: invalid value 'foldr'. Did you mean 'folder'?",
        "CANNERY_FETCH_JOBS: invalid number 'many'. Use a number from 1 to 64.",
    ]


def test_what_a_setting_names_must_be_there(root: Path) -> None:
    with pytest.raises(UsageError, match=r"/ca.pem, named by ca \(CANNERY_CA\)\.$"):
        read(BuildCommandOptions, {}, root, {"CANNERY_CA": str(root / "ca.pem")})
    (root / "cannery.toml").write_text('ca = "ca.pem"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"/ca.pem, named by ca \(cannery.toml:1\)\.$"):
        read(BuildCommandOptions, {}, root, {})


def test_a_proxy_reaches_programs_and_build_steps(root: Path) -> None:
    url = "http://me:hunter2@proxy.test:3128"
    environ = {"CANNERY_PROXY": url, "CANNERY_NO_PROXY": "localhost,.test"}
    given = read(BuildCommandOptions, {}, root, environ)
    assert given.proxy_variables == {
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), url),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,.test"),
    }
    assert (given.index.proxy, given.index.no_proxy) == (url, "localhost,.test")
    assert read(BuildCommandOptions, {}, root, {}).proxy_variables == {}
    with pytest.raises(UsageError, match="CANNERY_PROXY: invalid address of a proxy") as caught:
        read(BuildCommandOptions, {}, root, {"CANNERY_PROXY": "me:hunter2@proxy.test"})
    assert "hunter2" not in str(caught.value)


def test_a_variable_that_means_nothing_is_named() -> None:
    environ = {"CANNERY_JOBZ": "1", "CANNERY_JOBS": "1", "CANNERY_GUARD": "off", "OTHER": ""}
    [problem] = unknown(environ)
    assert problem.what == "the variable CANNERY_JOBZ has no meaning."
    assert problem.fix == "Did you mean 'CANNERY_JOBS'?"


def test_variables_of_ci_are_known() -> None:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    known = OTHERS | {declared.variable for declared in all_settings().values()}
    words = {word.strip("`=|.,") for word in text.replace("=", " ").split()}
    named = {word for word in words if re.match(r"CANNERY_\w", word)}
    assert named
    assert named <= known


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_setting_of_a_command_is_one_for_all(name: str) -> None:
    """With the name and the kind of value that the shared declaration has."""
    for declared in load(name).declared:
        if key := declared.option.setting:
            shared_one = all_settings()[key]
            assert (declared.name, declared.kind) == (shared_one.name, shared_one.kind)
            assert declared.kind is not bool, "nothing could switch it off again"


def test_a_new_setting_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class MadeUp(OptionSet):
        retries: int = option("try N times", default=1, parse=number(1, 9), setting="retries")

    # Where dataclasses look for the types of fields.
    monkeypatch.setitem(MadeUp.__annotations__, "retries", int)
    monkeypatch.setattr(shared, "MadeUp", MadeUp, raising=False)
    for cached in (shared.all_settings, matrix_settings.settings_file):
        cached.cache_clear()
    try:
        (tmp_path / "cannery.toml").write_text("retries = 3\n", encoding="utf-8")
        assert read(MadeUp, {}, tmp_path, {}).retries == 3
        assert read(MadeUp, {}, tmp_path, {"CANNERY_RETRIES": "4"}).retries == 4
        (tmp_path / "cannery.toml").write_text("retris = 3\n", encoding="utf-8")
        with pytest.raises(MatrixError, match="Did you mean 'retries'"):
            read_settings(tmp_path)
    finally:
        for cached in (shared.all_settings, matrix_settings.settings_file):
            cached.cache_clear()


@pytest.mark.parametrize("page", ["docs/settings.md", "docs/zh/settings.md"])
def test_every_setting_is_on_the_page(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {key for key in all_settings() if f"`{key}`" not in text} == set()
