# SPDX-License-Identifier: Apache-2.0
"""Compares an installed CANN with the lists of its packages' files, as 'dpkg -V' does.

Each part of toolkit and kernels leaves the list by which its installer has copied. It has the hash
of a file only if people may edit that. Where the listings of an installed 8.1.RC1 go deep enough,
which is all of opp and its kernels, they have what the lists name, except for ``left_out``, and the
hashes are right. NNAL's list is not read: it names libraries that its package does not have. The
probe of images begins with this file, so it is for Python 3.5.
"""

import csv
import glob
import hashlib
import os
import re

PLACES = ("*/script/filelist.csv", "tools/*/script/filelist.csv")
PLACES += ("share/info/*/script/filelist.csv",)
COLUMNS = {"operation", "relative_install_path", "install_type", "hash"}
PLACED = ("copy", "copy_entity", "move")
SETTING = re.compile(r"(?mi)^\w*?(INSTALL|FEATURE|CHIP)_TYPE=(\S*)")
NAMED = 20


def compare(home):
    """What each list in the folder ``home`` of a release names, and is missing or has changed.

    A list with "few" may be mistaken itself: two of nine known lists name two files too many.
    """
    found = []
    for path in sorted(path for place in PLACES for path in glob.glob(os.path.join(home, place))):
        rows = [row for row in rows_of(path) if is_placed(row, chosen(path))]
        hashes = {row["relative_install_path"]: row["hash"] for row in rows}
        names = sorted(set(hashes) - left_out(home, path, hashes))
        missing = [name for name in names if not is_there(os.path.join(home, name))]
        changed = [name for name in names if is_changed(os.path.join(home, name), hashes[name])]
        if names:
            each = {"list": path, "files": len(names), "count": len(missing)}
            each["few"] = len(missing) <= min(5, len(names) // 50)
            each.update(missing=missing[:NAMED], changed=changed[:NAMED])
            found.append(each)
    return found


def rows_of(path):
    """The rows of a list; none of one in another form, as MindStudio's, which has no hashes."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as stream:
            reader = csv.DictReader(stream)
            rows = list(reader) if COLUMNS <= set(reader.fieldnames or ()) else []
    except (OSError, csv.Error):
        return []
    return [row for row in rows if not (row.get("module") or "").startswith("#")]


def chosen(path):
    """What was installed of the part with the list ``path``: INSTALL, FEATURE and CHIP."""
    info = os.path.join(os.path.dirname(os.path.dirname(path)), "ascend_install.info")
    try:
        with open(info, encoding="utf-8", errors="replace") as stream:
            return {name.upper(): value for name, value in SETTING.findall(stream.read())}
    except OSError:
        return {}


def is_placed(row, choice):
    """Whether the installer has put what the row names where it names it."""
    name = row["relative_install_path"] or ""
    if row["operation"] not in PLACED or name.startswith("/") or "$" in name or not name:
        return False
    kinds, kind = (row["install_type"] or "").split(";"), choice.get("INSTALL", "")
    if kind != "full" and not {"all", kind} & set(kinds):
        return False
    features, chips = ((row.get(key) or "all").split(";") for key in ("feature", "chip"))
    if choice.get("FEATURE", "all") != "all" and not {"all", "comm"} & set(features):
        return False
    return choice.get("CHIP", "all") == "all" or "all" in chips


def left_out(home, path, names):
    """Those of ``names`` that need not be there, as in 8.1.RC1.

    Some scripts of an installer are only in its package, and the libraries for AI CPUs of the other
    machine are taken away.
    """
    scripts = os.path.relpath(os.path.dirname(path), home) + "/"
    return {name for name in names if name.startswith(scripts) or "/aicpu_kernel/lib/" in name}


def is_there(path):
    """Whether a file is there, or a folder that has something in it."""
    return bool(os.listdir(path)) if os.path.isdir(path) else os.path.lexists(path)


def is_changed(path, sha256):
    """Whether a file of a known hash has another one."""
    if not re.match(r"[0-9a-f]{64}$", sha256 or "") or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest() != sha256
