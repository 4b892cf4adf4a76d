# SPDX-License-Identifier: Apache-2.0
"""Disks that are full or cannot be written, and interruptions: nothing is ever half-written."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.checkout import CAN_MOUNT, Checkout, Result

pytestmark = pytest.mark.slow

TARGET = "py39-torch231-cann8t39"
SEVERAL = {"render": ["render"], "lock": ["lock", "--target", "py39-*"]}
"""Commands that write the files of several targets. To lock one starts two processes."""

READ_ONLY = """
mount --bind "$1/images" "$1/images" && mount -o remount,bind,ro "$1/images" || exit 99
shift
exec "$@"
"""

# $1 the checkout, $2 where its images/ are shown afterwards, $3 how much of the disk is left.
FULL_DISK = """
cp -a "$1/images" "$2" &&
mount -t tmpfs -o size=32m tmpfs "$1/images" &&
cp -a "$2/." "$1/images/" && rm -r "$2" || exit 99
cat /dev/zero >"$1/images/fill" 2>/dev/null
truncate -s "-$3" "$1/images/fill"
root="$1" shown="$2"
shift 3
"$@"
code=$?
rm "$root/images/fill"
cp -a "$root/images" "$shown"
exit $code
"""


def make_stale(checkout: Checkout) -> None:
    for path in checkout.root.glob("images/*/Dockerfile"):
        path.write_text("stale", encoding="utf-8")
    (checkout.root / "images" / TARGET / "orphan").write_text("orphan", encoding="utf-8")


def images(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("command", ["render", "lock"])
def test_a_read_only_images_folder_is_reported(
    installed: Checkout, uv: dict[str, str], command: str
) -> None:
    make_stale(installed)
    before = installed.state()
    words = [*CAN_MOUNT, "sh", "-c", READ_ONLY, "sh", str(installed.root)]
    result = installed.start(*SEVERAL[command], before=words, env=uv)
    result.refused(9, f"cannot write {installed.root}/images/")
    assert "read-only file system" in result.messages[0]
    assert installed.state() == before


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("space", ["0", "16K"])
@pytest.mark.parametrize("command", ["render", "lock"])
def test_a_full_disk_keeps_images(
    installed: Checkout, tmp_path: Path, uv: dict[str, str], command: str, space: str
) -> None:
    make_stale(installed)
    before = images(installed.root / "images")
    words = ["sh", "-c", FULL_DISK, "sh", str(installed.root), str(tmp_path / "after"), space]
    result = installed.start(*SEVERAL[command], before=[*CAN_MOUNT, *words], env=uv)
    result.refused(9, f"cannot write {installed.root}/images/")
    assert "no space left on device" in result.messages[0]
    assert images(tmp_path / "after") == before


@pytest.mark.usefixtures("mounts")
def test_no_room_for_temporary_files(
    installed: Checkout, tmp_path: Path, uv: dict[str, str]
) -> None:
    (tmp_path / "small").mkdir()
    before = installed.state()
    mount = 'mount -t tmpfs -o size=4k tmpfs "$TMPDIR" && exec "$@"'
    env = {**uv, "TMPDIR": str(tmp_path / "small")}
    result = installed.start("lock", before=[*CAN_MOUNT, "sh", "-c", mount, "sh"], env=env)
    result.refused(9, "no space left on device. Check disk space and permissions, then retry.")
    assert installed.state() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption(
    installed: Checkout, note: Path, uv: dict[str, str], number: signal.Signals
) -> None:
    before = installed.state()
    with subprocess.Popen(
        installed.argv("lock"),
        env=installed.environ({**uv, "UV_SLEEPS": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        for _ in range(500):
            if note.exists() and note.read_text(encoding="utf-8"):
                break
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    result = Result(code=process.returncode, out=out, err=err)
    result.refused(130, "interrupted; what was running has been stopped.")
    assert not Path(f"/proc/{note.read_text(encoding='utf-8')}").exists()
    assert installed.state() == before
