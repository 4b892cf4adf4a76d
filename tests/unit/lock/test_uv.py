# SPDX-License-Identifier: Apache-2.0
"""What uv chooses depends on nothing that its user has set for other work. uv is the real one."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex, package_index
from cannery.lock.uv import Job, compiled

CONSTRAINT = "demo<2\n"
LOWEST = '[pip]\nresolution = "lowest"\n'


@pytest.fixture
def index(tmp_path: Path) -> PackageIndex:
    """An index in a folder, with the package 'demo' in the versions 1 and 2."""
    folder = tmp_path / "simple" / "demo"
    folder.mkdir(parents=True)
    names = [wheel(folder, version) for version in "12"]
    links = "".join(f'<a href="{name}">{name}</a>\n' for name in names)
    (folder / "index.html").write_text(links, encoding="utf-8")
    return PackageIndex(ca=None, index_url=folder.parent.as_uri())


def wheel(folder: Path, version: str) -> str:
    name = f"demo-{version}-py3-none-any.whl"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / name, "w") as archive:
        for each, text in texts.items():
            archive.writestr(f"demo-{version}.dist-info/{each}", text)
    return name


def locked(index: PackageIndex, *requirements: str, options: tuple[str, ...] = ()) -> list[str]:
    inputs = {"a.in": "".join(f"{each}\n" for each in requirements)}
    job = Job(name="a test", inputs=inputs, options=options, more={}, output="lock.txt")
    lines = compiled(job, index).splitlines()
    return [line for line in lines if line and not line.lstrip().startswith("#")]


VARIABLES = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "PIP_CONSTRAINT")
WORDS = {
    "UV_RESOLUTION": "lowest",
    "UV_EXCLUDE_NEWER": "2000-01-01",
    "UV_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "UV_PYTHON": "3.99",
    "UV_PRERELEASE": "allow",
    "UV_INDEX": "file:///none",
    "UV_INDEX_URL": "file:///none",
    "UV_FIND_LINKS": "/none",
}


def test_variables_of_the_user_change_nothing(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "constraints.txt").write_text(CONSTRAINT, encoding="utf-8")
    for name in VARIABLES:
        monkeypatch.setenv(name, str(tmp_path / "constraints.txt"))
    (tmp_path / "other.toml").write_text(LOWEST, encoding="utf-8")
    monkeypatch.setenv("UV_CONFIG_FILE", str(tmp_path / "other.toml"))
    for name, value in WORDS.items():
        monkeypatch.setenv(name, value)
    assert locked(index, "demo") == ["demo==2"]


@pytest.mark.parametrize("place", ["home", "XDG_CONFIG_HOME", "above"])
def test_settings_files_of_the_user_change_nothing(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / place
    if place == "home":
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.setenv("HOME", str(folder))
        path = folder / ".config" / "uv" / "uv.toml"
    elif place == "above":
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        path = folder / "uv.toml"
    else:
        monkeypatch.setenv(place, str(folder))
        path = folder / "uv" / "uv.toml"
    path.parent.mkdir(parents=True)
    path.write_text(LOWEST, encoding="utf-8")
    assert locked(index, "demo") == ["demo==2"]


def test_the_documented_variable_names_the_index(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = package_index(None, "", {"UV_DEFAULT_INDEX": index.index_url})
    monkeypatch.setenv("UV_DEFAULT_INDEX", "file:///none")
    assert locked(found, "demo") == ["demo==2"]


@pytest.mark.slow
def test_markers_apply_to_the_target(index: PackageIndex) -> None:
    options = ("--python-version", "3.9.2", "--python-platform", "aarch64-manylinux_2_31")
    marked = ("demo; python_version < '3.9'", "demo; platform_machine == 'x86_64'")
    assert locked(index, *marked, options=options) == []
    assert locked(index, "demo; python_version < '3.10'", options=options) == ["demo==2"]
