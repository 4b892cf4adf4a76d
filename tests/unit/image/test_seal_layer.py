# SPDX-License-Identifier: Apache-2.0
"""seal-layer, which makes a layer of what a step did."""

from __future__ import annotations

import filecmp
import marshal
import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from tests.programs import needs_root
from tests.unit.image.context_programs import DATE, Seal, write

CAPABILITY = bytes.fromhex("0000000200200000000000000000000000000000")
"""The right to open raw sockets, as the file system has it."""


def test_a_layer_has_the_new_and_changed_files_of_a_step(
    seal: Seal, trees: tuple[Path, Path]
) -> None:
    before, after = trees
    write(after / "usr" / "lib" / "new.so", "new")
    write(after / "etc" / "passwd", "user", date=1_000_000_001)
    assert seal("--before", before, "--after", after) == {
        "usr/lib/new.so": "new",
        "etc/passwd": "user",
    }


def test_another_date_alone_is_no_change(seal: Seal, trees: tuple[Path, Path]) -> None:
    before, after = trees
    os.utime(after / "etc" / "passwd", (5, 5))
    assert seal("--before", before, "--after", after) == {}


def test_another_mode_is_a_change(seal: Seal, trees: tuple[Path, Path], layer: Path) -> None:
    before, after = trees
    (after / "usr" / "bin" / "sh").chmod(0o700)
    (after / "etc").chmod(0o700)
    assert seal("--before", before, "--after", after) == {"usr/bin/sh": "shell"}
    assert stat.S_IMODE((layer / "usr" / "bin" / "sh").stat().st_mode) == 0o700
    assert stat.S_IMODE((layer / "etc").stat().st_mode) == 0o700


def test_links_stay_links(seal: Seal, trees: tuple[Path, Path], layer: Path) -> None:
    before, after = trees
    (after / "latest").symlink_to("8.0.T39")
    (before / "same").symlink_to("x")
    (after / "same").symlink_to("x")
    (before / "moved").symlink_to("x")
    (after / "moved").symlink_to("y")
    os.link(write(after / "one", "1"), after / "other")
    seal("--before", before, "--after", after)
    assert sorted(path.name for path in layer.iterdir()) == ["latest", "moved", "one", "other"]
    assert (layer / "latest").readlink() == Path("8.0.T39")
    assert (layer / "moved").readlink() == Path("y")
    assert (layer / "one").stat().st_ino == (layer / "other").stat().st_ino


def test_compiled_files_stay_only_with_keep_compiled(seal: Seal, trees: tuple[Path, Path]) -> None:
    before, after = trees
    write(after / "lib" / "a.py", "a")
    write(after / "lib" / "__pycache__" / "a.cpython-311.pyc", "compiled")
    assert {*seal("--before", before, "--after", after)} == {"lib/a.py"}
    kept = seal("--before", before, "--after", after, "--keep-compiled")
    assert {*kept} == {"lib/a.py", "lib/__pycache__/a.cpython-311.pyc"}


def test_a_file_may_become_a_folder(seal: Seal, trees: tuple[Path, Path]) -> None:
    before, after = trees
    write(before / "place", "file")
    write(after / "place" / "inside", "x")
    assert seal("--before", before, "--after", after) == {"place/inside": "x"}


def test_only_some_places_count(seal: Seal, trees: tuple[Path, Path]) -> None:
    before, after = trees
    write(after / "usr" / "local" / "Ascend" / "x", "x")
    write(after / "etc" / "ld.so.cache", "of another system")
    only = ("--only", "/usr/local/Ascend", "--only", "/etc/Ascend")
    found = seal("--before", before, "--after", after, *only)
    assert found == {"usr/local/Ascend/x": "x"}


def test_a_layer_of_links_takes_no_space(seal: Seal, trees: tuple[Path, Path], layer: Path) -> None:
    """It has what a layer of copies has, and the step's own files stay where they are."""
    before, after = trees
    write(after / "opt" / "a" / "run.sh", "run").chmod(0o750)
    (after / "opt" / "a").chmod(0o700)
    (after / "opt" / "latest").symlink_to("a")
    os.link(after / "opt" / "a" / "run.sh", after / "opt" / "twin")
    write(after / "etc" / "passwd", "user", date=1_000_000_001)
    copies = seal("--before", before, "--after", after, "--only", "/opt", "--only", "/etc")
    listed = _listing(layer)
    options = ("--link", "--only", "/opt", "--only", "/etc")
    assert seal("--before", before, "--after", after, *options) == copies
    assert _listing(layer) == listed
    for name in ("opt/a/run.sh", "etc/passwd", "opt/latest"):
        assert (layer / name).lstat().st_ino == (after / name).lstat().st_ino
    assert (layer / "opt" / "a" / "run.sh").stat().st_ino == (layer / "opt" / "twin").stat().st_ino


def test_files_left_out_of_a_linked_layer_stay_for_the_next_step(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    before, after = trees
    write(layer.with_name("leave-out"), "opt/*/tests\n")
    write(after / "opt" / "a" / "tests" / "x", "x")
    write(after / "opt" / "a" / "y", "y")
    assert seal("--before", before, "--after", after, "--link") == {"opt/a/y": "y"}
    assert (after / "opt" / "a" / "tests" / "x").read_text() == "x"


def _listing(tree: Path) -> list[tuple[str, int, int, int, int, float]]:
    """Name, mode, owner, group, size and date of every entry."""
    found = [(path, path.lstat()) for path in sorted(tree.rglob("*"))]
    return [
        (str(path.relative_to(tree)), i.st_mode, i.st_uid, i.st_gid, i.st_size, i.st_mtime)
        for path, i in found
    ]


def test_removed_files_are_reported_once(
    seal: Seal, trees: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = trees
    for name in ("gone/a", "gone/b", "etc/old"):
        write(before / name, "x")
    assert seal("--before", before, "--after", after) == {}
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "seal-layer: /etc/old was removed, but stays in the image",
        "seal-layer: /gone was removed, but stays in the image",
    ]


def test_every_date_becomes_the_same(seal: Seal, layer: Path) -> None:
    write(layer / "a" / "b", "x")
    (layer / "link").symlink_to("nowhere")
    seal()
    dates = {path.lstat().st_mtime for path in [layer, *layer.rglob("*")]}
    assert dates == {DATE}


def test_files_older_than_the_step_keep_their_date(
    seal: Seal, trees: tuple[Path, Path], layer: Path, tmp_path: Path
) -> None:
    before, after = trees
    started = write(tmp_path / "started", "", date=1_500_000_000)
    write(after / "from-a-package", "x", date=1_400_000_000)
    write(after / "made-by-a-script", "x", date=1_500_000_000)
    seal("--before", before, "--after", after, "--since", started)
    assert (layer / "from-a-package").stat().st_mtime == 1_400_000_000
    assert (layer / "made-by-a-script").stat().st_mtime == DATE


def test_compiled_python_goes_where_its_source_is(seal: Seal, layer: Path) -> None:
    write(layer / "p" / "a.py", "")
    write(layer / "p" / "__pycache__" / "a.cpython-39.pyc", "compiled")
    write(layer / "p" / "q" / "b.py", "")
    write(layer / "p" / "q" / "__pycache__" / "b.cpython-39.opt-1.pyc", "compiled")
    write(layer / "p" / "q" / "__pycache__" / "sourceless.cpython-39.pyc", "all there is")
    assert [*seal()] == ["p/a.py", "p/q/__pycache__/sourceless.cpython-39.pyc", "p/q/b.py"]
    assert not (layer / "p" / "__pycache__").exists()


def test_compiled_python_of_a_layer_below_goes_too(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    before, after = trees
    for tree in trees:
        write(tree / "p" / "a.py", "")
    write(after / "p" / "__pycache__" / "a.cpython-311.pyc", "compiled")
    write(after / "p" / "new", "x")
    assert [*seal("--before", before, "--after", after)] == ["p/new"]
    assert not (layer / "p" / "__pycache__").exists()


def test_a_wheel_does_not_say_from_where_it_was_installed(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    before, after = trees
    info = after / "usr" / "local" / "Ascend" / "site-packages" / "te-0.4.dist-info"
    lines = ["te/__init__.py,sha256=a,1", "te-0.4.dist-info/RECORD,,", ""]
    for name in ("direct_url.json", "uv_cache.json"):
        write(info / name, '{"url": "file:///root/selfgz4711/te.whl"}')
        lines.insert(1, f"te-0.4.dist-info/{name},sha256=b,90")
    record = write(info / "RECORD", "\n".join(lines))
    record.chmod(0o440)
    write(info / "METADATA", "Name: te")
    found = seal("--before", before, "--after", after, "--link")
    kept = layer / info.relative_to(after)
    assert sorted(path.name for path in kept.iterdir()) == ["METADATA", "RECORD"]
    expected = "te/__init__.py,sha256=a,1\nte-0.4.dist-info/RECORD,,\n"
    assert found[str((kept / "RECORD").relative_to(layer))] == expected
    assert stat.S_IMODE((kept / "RECORD").stat().st_mode) == 0o440
    # The installed files, which the layer's are links to, are what the next installer finds.
    assert record.read_text() == "\n".join(lines)
    assert (info / "direct_url.json").exists()


def test_a_left_out_folder_is_removed_with_its_contents(seal: Seal, layer: Path) -> None:
    patterns = "*-packages/p/*/tests\n*-packages/p/tests\nusr/bin/*dump*\n"
    write(layer.with_name("leave-out"), patterns)
    site = layer / "usr" / "lib" / "site-packages"
    for name in ("p/a/b/tests/deep/x", "p/tests/x", "p/a/latests/x", "q/a/tests/x", "p/tests.py"):
        write(site / name, "x")
    (site / "p" / "a" / "tests").symlink_to("b")
    write(layer / "usr" / "bin" / "lto-dump-10", "x")
    write(layer / "usr" / "bin" / "g++", "x")
    found = [name.removeprefix("usr/lib/site-packages/") for name in seal()]
    assert found == ["usr/bin/g++", "p/a/latests/x", "p/tests.py", "q/a/tests/x"]
    assert not (site / "p" / "a" / "tests").is_symlink()
    assert (site / "p" / "a" / "b").is_dir()


def test_nothing_is_left_out_unless_something_is_named(seal: Seal, layer: Path) -> None:
    write(layer / "tests" / "x", "x")
    assert seal() == {"tests/x": "x"}


def test_python_files_are_compiled_for_their_place(seal: Seal, layer: Path) -> None:
    source = write(layer / "site" / "p" / "a.py", "def f():\n    return {'a', 'b', None}\n")
    write(layer / "site" / "broken.py", "def\n")
    write(layer / "elsewhere" / "c.py", "")
    write(layer.with_name("compile"), "/site\n/missing\n")
    tag = sys.implementation.cache_tag
    compiled = source.parent / "__pycache__" / f"a.{tag}.pyc"
    seal()
    assert [*layer.rglob("*.pyc")] == [compiled]
    assert {int(path.stat().st_mtime) for path in layer.rglob("*")} == {DATE}
    first = compiled.read_bytes()
    assert marshal.loads(first[16:]).co_filename == "/site/p/a.py"
    # Python takes it as it is, but not for a source that has been edited.
    assert int.from_bytes(first[8:12], "little") == DATE
    assert int.from_bytes(first[12:16], "little") == source.stat().st_size
    seal()
    assert compiled.read_bytes() == first


@needs_root
def test_rights_of_others_are_dropped(seal: Seal, layer: Path, trees: tuple[Path, Path]) -> None:
    before, after = trees
    for tree in trees:
        write(tree / "usr/bin/su", "su").chmod(0o4755)
        write(tree / "run/log/x", "x").chmod(0o777)
        for folder in ("var/tmp", "run/lock"):
            (tree / folder).mkdir(parents=True)
            (tree / folder).chmod(0o1777)
    write(after / "usr/bin/new", "new").chmod(0o2775)
    os.setxattr(after / "usr/bin/new", "security.capability", CAPABILITY)

    assert seal("--before", before, "--after", after) == {"usr/bin/new": "new"}
    seal("--before", before, "--after", after, "--drop-rights")
    found = {str(each.relative_to(layer)): each.stat().st_mode for each in layer.glob("*/**/*")}
    usual = dict.fromkeys(("usr/bin", "usr/bin/su", "usr/bin/new"), 0o755)
    expected = {**usual, "run/lock": 0o1755, "var/tmp": 0o1755}
    assert {name: stat.S_IMODE(mode) for name, mode in found.items()} == expected
    assert os.listxattr(layer / "usr/bin/new") == []


@needs_root
def test_a_folder_that_its_list_gives_to_a_group_is_the_owner_s_alone_to_write(
    seal: Seal, layer: Path, trees: tuple[Path, Path]
) -> None:
    """CANN's own list has opp/static_kernel with 770."""
    before, after = trees
    folder = after / "usr/local/Ascend/opp/static_kernel"
    folder.mkdir(parents=True)
    folder.chmod(0o770)
    seal("--before", before, "--after", after, "--link", "--only", "/usr/local/Ascend")
    mode = (layer / "usr/local/Ascend/opp/static_kernel").stat().st_mode
    assert stat.S_IMODE(mode) == 0o750


def test_compiled_files_of_other_layers(seal: Seal, layer: Path, tmp_path: Path) -> None:
    for part in ("kernels", "toolkit"):
        write(tmp_path / "cann" / part / "opt" / part / "a.py", "x = 1\n")
    tag = sys.implementation.cache_tag
    found = {*seal("--compiled-of", tmp_path / "cann", "/opt")}
    assert found == {f"opt/{p}/__pycache__/a.{tag}.pyc" for p in ("kernels", "toolkit")}
    assert {int(path.stat().st_mtime) for path in layer.rglob("*")} == {DATE}


def test_caches_logs_and_temporary_files_are_left_out(
    seal: Seal, trees: tuple[Path, Path], layer: Path
) -> None:
    before, after = trees
    for name in ("var/cache/apt/x.deb", "var/log/dpkg.log", "dev/null", "tmp/x/y", "run/secrets/x"):
        write(after / name, "x")
    write(after / "var" / "lib" / "dpkg" / "status", "x")
    assert seal("--before", before, "--after", after) == {"var/lib/dpkg/status": "x"}
    assert not [name for name in ("dev", "tmp", "run/secrets") if (layer / name).exists()]


@needs_root
def test_folders_of_logs_and_caches_stay_without_their_files(
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


def test_a_file_hard_linked_in_both_trees_is_not_read(
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
