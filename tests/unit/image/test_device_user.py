# SPDX-License-Identifier: Apache-2.0
"""The user to whom the driver gives its devices, on bases that have a user of the same number."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from cannery.deploy.run_spec import DRIVER_MOUNTS
from tests.programs import needs_root
from tests.unit.matrices import CHECKOUT

SCRIPT = CHECKOUT / "cannery" / "image" / "context" / "prepare-system"
FILES = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "shadow": "root:*:19000:0:99999:7:::\n",
    "group": "root:x:0:\nsudo:x:27:\n",
    "gshadow": "root:*::\nsudo:*::\n",
}
UBUNTU = {
    "passwd": f"{FILES['passwd']}ubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/bash\n",
    "shadow": f"{FILES['shadow']}ubuntu:!:19800:0:99999:7:::\n",
    "group": (
        "root:x:0:\nadm:x:4:syslog,ubuntu\nsudo:x:27:ubuntu\nplug:x:46:a,ubuntu,b\n"
        "ubuntu-fans:x:47:ubuntu,ubuntu2\nubuntu:x:1000:\n"
    ),
    "gshadow": "root:*::\nadm:*::syslog,ubuntu\nsudo:*:ubuntu:ubuntu,a\nubuntu:!::\n",
    "subuid": "ubuntu:100000:65536\n",
    "subgid": "ubuntu:100000:65536\nother:165536:65536\n",
}
CANN = {
    "passwd": f"{FILES['passwd']}HwHiAiUser:x:1001:1001::/home/HwHiAiUser:/bin/sh\n",
    "shadow": f"{FILES['shadow']}HwHiAiUser:!:19800:0:99999:7:::\n",
    "group": "root:x:0:\nsudo:x:27:HwHiAiUser\nHwHiAiUser:x:1001:\ndevices:x:1000:\n",
    "gshadow": "root:*::\nsudo:*::HwHiAiUser\nHwHiAiUser:!::\n",
}

AFTER = {
    "passwd": f"{FILES['passwd']}HwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\n",
    "shadow": f"{FILES['shadow']}HwHiAiUser:*:10957:0:99999:7:::\n",
    "group": "root:x:0:\nsudo:x:27:\nHwHiAiUser:x:1000:\n",
    "gshadow": "root:*::\nsudo:*::\nHwHiAiUser:!::\n",
}
AFTER_UBUNTU = {
    **AFTER,
    "group": (
        "root:x:0:\nadm:x:4:syslog\nsudo:x:27:\nplug:x:46:a,b\nubuntu-fans:x:47:ubuntu2\n"
        "HwHiAiUser:x:1000:\n"
    ),
    "gshadow": "root:*::\nadm:*::syslog\nsudo:*::a\nHwHiAiUser:!::\n",
    "subuid": "",
    "subgid": "other:165536:65536\n",
}


@pytest.mark.parametrize(
    ("before", "after"), [(FILES, AFTER), (UBUNTU, AFTER_UBUNTU), (CANN, AFTER), (AFTER, AFTER)]
)
@needs_root
def test_nothing_of_another_user_with_the_number_is_left(
    tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "home" / "ubuntu").mkdir(parents=True)
    for name, text in before.items():
        (tmp_path / "etc" / name).write_text(text)
    (tmp_path / "etc" / "shadow").chmod(0o640)
    bashrc = tmp_path / "home" / "ubuntu" / ".bashrc"
    bashrc.touch()
    (bashrc.parent / "link").symlink_to("/nowhere")
    for path in (bashrc.parent, bashrc, bashrc.parent / "link"):
        os.chown(path, 1000, 1000, follow_symlinks=False)

    subprocess.run(["bash", SCRIPT, tmp_path], check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "etc").iterdir()} == after
    assert stat.S_IMODE((tmp_path / "etc" / "shadow").stat().st_mode) == 0o640
    owned = {
        path for path in tmp_path.rglob("*") if 1000 in (path.lstat().st_uid, path.lstat().st_gid)
    }
    assert owned == {tmp_path / "home" / "HwHiAiUser"}
    folders = [path for path in DRIVER_MOUNTS if not path.startswith(("/usr/local/bin/", "/etc/"))]
    assert all((tmp_path / path[1:]).is_dir() for path in folders)


@needs_root
def test_a_user_named_x_leaves_password_fields_alone(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for name in ("shadow", "gshadow"):
        (tmp_path / "etc" / name).touch()
    (tmp_path / "etc" / "passwd").write_text("x:x:1000:1000::/:/bin/sh\n")
    (tmp_path / "etc" / "group").write_text("adm:x:4:x,y\nx:x:1000:\n")
    subprocess.run(["bash", SCRIPT, tmp_path], check=True)
    assert (tmp_path / "etc" / "group").read_text() == "adm:x:4:y\nHwHiAiUser:x:1000:\n"
