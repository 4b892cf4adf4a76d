# SPDX-License-Identifier: Apache-2.0
"""What a layer keeps and loses of what a step did: folders of logs, equal dates, special files."""

from __future__ import annotations

import filecmp
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.programs import needs_root
from tests.unit.image.context_programs import DATE, Seal, write


def test_what_a_running_system_makes_again_is_left_out(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    before, after = trees
    for name in ("var/cache/apt/x.deb", "var/log/dpkg.log", "dev/null", "tmp/x/y", "run/secrets/x"):
        write(after / name, "x")
    write(after / "var" / "lib" / "dpkg" / "status", "x")
    assert seal("--before", before, "--after", after) == {"var/lib/dpkg/status": "x"}
    assert not [name for name in ("dev", "tmp", "run/secrets") if (layer / name).exists()]


@needs_root
def test_folders_of_logs_and_caches_stay_without_what_is_in_them(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    """Packages own them, and programs such as nginx do not start without them."""
    before, after = trees
    for name in ("var/log/nginx/a/access.log", "var/cache/nginx/x", "run/httpd/httpd.pid"):
        write(after / name, "x")
    (after / "var/log/nginx").chmod(0o750)
    os.chown(after / "var/log/nginx", 33, 4)
    (after / "var/log/latest").symlink_to("nginx")
    assert seal("--before", before, "--after", after) == {}
    found = layer / "var/log/nginx"
    info = found.stat()
    assert (stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid) == (0o750, 33, 4)
    assert all((layer / name).is_dir() for name in ("var/log/nginx/a", "var/cache/nginx"))
    assert (layer / "run/httpd").is_dir()
    assert (layer / "var/log/latest").readlink() == Path("nginx")


@pytest.mark.parametrize("options", [[], ["--link"]])
def test_equal_size_and_date_are_not_equal_content(
    seal: Seal, trees: tuple[Path, Path], options: list[str]
) -> None:
    before, after = trees
    write(after / "etc" / "passwd", "evil")
    assert seal("--before", before, "--after", after, *options) == {"etc/passwd": "evil"}


def test_a_file_that_both_systems_share_is_not_read(
    seal: Seal, trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of CANN's installers runs on top of gigabytes, which it leaves as they are."""
    before, after = trees
    read: list[Path] = []

    def compare(one: Path, _other: Path, *, shallow: bool) -> bool:
        assert not shallow
        read.append(one)
        return True

    monkeypatch.setattr(filecmp, "cmp", compare)
    (after / "etc" / "passwd").unlink()
    os.link(before / "etc" / "passwd", after / "etc" / "passwd")
    assert seal("--before", before, "--after", after) == {}
    assert read == [before / "usr" / "bin" / "sh"]


@pytest.mark.parametrize("options", [[], ["--link"]])
@needs_root
def test_special_files(
    seal: Seal, trees: tuple[Path, Path], layer: Path, options: list[str]
) -> None:
    """A pipe and a device stay, without rights for others; sockets are left out."""
    before, after = trees
    os.mkfifo(after / "pipe")
    (after / "pipe").chmod(0o666)
    for tree, device in ((before, (1, 3)), (after, (1, 5))):
        os.mknod(tree / "changed", 0o600 | stat.S_IFCHR, os.makedev(*device))
        os.mknod(tree / "same", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(after / "socket"))
    assert seal("--before", before, "--after", after, *options) == {}
    assert sorted(path.name for path in layer.iterdir()) == ["changed", "pipe"]
    assert (layer / "pipe").stat().st_mode == stat.S_IFIFO | 0o644
    assert (layer / "changed").stat().st_rdev == os.makedev(1, 5)
    assert {path.stat().st_mtime for path in layer.iterdir()} == {DATE}
