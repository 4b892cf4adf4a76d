# SPDX-License-Identifier: Apache-2.0
"""A program that stands for mmdebstrap: it runs the hooks as mmdebstrap does, and then fails."""

from __future__ import annotations

from pathlib import Path

import pytest

MMDEBSTRAP = """\
#!/usr/bin/python3
import json, os, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
root = here / "root"
(root / "etc/apt/sources.list.d").mkdir(parents=True, exist_ok=True)
(root / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True, exist_ok=True)
sources = [word for word in sys.argv if word.startswith("deb ")]
(root / "etc/apt/sources.list").write_text("\\n".join(sources) + "\\n")
with (here / "argv").open("a") as out:
    out.write("\\n".join(sys.argv) + "\\n")
for stage in ("setup", "extract", "essential", "customize"):
    for word in sys.argv:
        if word.startswith(f"--{stage}-hook="):
            subprocess.run(["sh", "-c", word.partition("=")[2], "hook", str(root)], check=True)
    if stage == "setup":
        given = root / "etc/apt/auth.conf.d/90cannery.conf"
        seen = {"mode": given.stat().st_mode, "text": given.read_text()} if given.exists() else None
        (here / "seen.json").write_text(json.dumps(seen))
print("E: the mirror does not answer")
sys.exit(1)
"""


def fake_mmdebstrap(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Put the program into ``folder``, which then is the first of PATH."""
    folder.mkdir()
    (folder / "mmdebstrap").write_text(MMDEBSTRAP, encoding="utf-8")
    (folder / "mmdebstrap").chmod(0o755)
    patch.setenv("PATH", str(folder), prepend=":")
    return folder
