# SPDX-License-Identifier: Apache-2.0
"""Lists of files in the vendor's form, as the installer of a part leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

COLUMNS = (
    *("module", "operation", "relative_path_in_pkg", "relative_install_path", "is_in_docker"),
    *("permission", "owner:group", "install_type", "softlink", "feature", "is_common_path"),
    *("configurable", "hash", "block", "pkg_inner_softlink", "chip"),
)


def row(path: str, operation: str = "copy", **changes: str) -> str:
    """A row for ``path``; ``changes`` are other columns."""
    values = dict.fromkeys(COLUMNS, "NA") | {"install_type": "all", "feature": "all", "chip": "all"}
    values |= {"operation": operation, "relative_install_path": path, "permission": "440"}
    return ",".join({**values, **changes}[name] for name in COLUMNS)


def file_list(*rows: str) -> str:
    return "\n".join([",".join(COLUMNS), *rows, ""])


def write_part(home: Path, part: str, *rows: str, info: Mapping[str, str] | None = None) -> Path:
    """The list of the part in the folder ``part`` of ``home``; ``info`` says what was installed."""
    folder = home / part
    (folder / "script").mkdir(parents=True, exist_ok=True)
    (folder / "script/filelist.csv").write_text(file_list(*rows), encoding="utf-8")
    lines = "".join(f"{name}={value}\n" for name, value in (info or {}).items())
    (folder / "ascend_install.info").write_text(lines, encoding="utf-8")
    return folder / "script/filelist.csv"
