# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: prints what is there as one line of JSON. Python 3.7, stdlib only."""

import email
import json
import os
import platform
import re
import stat
import struct
import subprocess
import sys

RECORD = json.loads(sys.argv[1])
HOME = RECORD["toolkit_home"]
ASCEND = "/usr/local/Ascend"
TEXT = re.compile(r"\.(py[ci]?|h|hpp|json|txt|md|yaml|cuh)$")
LEFT_OVER = re.compile(r"\.(run|whl|tar\.gz|tgz)$")
# CANN installs wheels and archives that it needs, such as the kernels of its AI CPUs.
OWN_ARCHIVES = re.compile(ASCEND + r"/.*\.(whl|tar\.gz|tgz)$")
ATB = os.environ.get("ATB_HOME_PATH", "/nowhere") + "/lib"
TORCHAIR = RECORD["site_packages"] + "/torch_npu/dynamo/torchair"
ELF = b"\x7fELF"
MACHINES = {183: "aarch64", 62: "x86_64"}
# Of a file's attributes; others are labels of the host, as of SELinux and IMA.
RIGHTS = {"security.capability", "system.posix_acl_access", "system.posix_acl_default"}
# The release's own folder. ascend-toolkit/latest is a link to it or a folder of links into it.
REAL = os.path.dirname(os.path.realpath(HOME + "/opp"))
NOT_OURS = ("/proc", "/sys", "/dev", ASCEND + "/driver")


def entries(top="/"):
    """All folders, files and links of the image. Read once, which takes longest under emulation."""
    found, folders = [], [top]
    while folders:
        try:
            inside = [each for each in os.scandir(folders.pop()) if each.path not in NOT_OURS]
        except OSError:
            continue
        found += inside
        folders += [each.path for each in inside if each.is_dir(follow_symlinks=False)]
    return found


def is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def files(found):
    return [e.path for e in found if not is_folder(e) and not e.path.startswith("/run/")]


ENTRIES = entries()
FILES = files(ENTRIES)


def walk(top):
    start = top.rstrip("/") + "/"
    return [path for path in FILES if path.startswith(start)]


def sourced_environment():
    """What the vendor's scripts set, starting from what only the image can know."""
    scripts = ". %s/ascend-toolkit/set_env.sh" % ASCEND
    compiler = HOME + "/share/info/ascendnpu-ir/bin/set_env.sh"
    if os.path.exists(compiler):
        scripts += " && . " + compiler
    if "nnal" in RECORD["components"]:
        scripts += " && . %s/nnal/atb/set_env.sh --cxx_abi=%d" % (ASCEND, RECORD["cxx_abi"])
    start = {
        # ENV has one folder for the logs of every user, and the guard's modules.
        "HOME": "/tmp",
        "PYTHONPATH": "/usr/local/share/cannery/python",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LD_LIBRARY_PATH": ":".join(
            "%s/driver/%s" % (ASCEND, lib) for lib in ("lib64", "lib64/common", "lib64/driver")
        ),
    }
    done = subprocess.run(
        ["/bin/bash", "-c", scripts + " && env -0"], env=start, stdout=subprocess.PIPE
    )
    pairs = (item.split("=", 1) for item in done.stdout.decode().split("\0") if "=" in item)
    noise = ("PWD", "SHLVL", "_", "OLDPWD", "HOME")
    return {name: value for name, value in pairs if name not in noise}


def stand_ins():
    """Every file by which the simulator says that something is a stand-in."""
    found = [path for path in walk(ASCEND) if os.path.basename(path) == "SIMULATED"]
    found += [path for path in walk(ASCEND + "/simulated")]
    apex = RECORD["site_packages"] + "/apex/SIMULATED"
    return sorted(found + [apex] * os.path.exists(apex))


def install_infos():
    found = {}
    for path in walk(ASCEND):
        match = re.match(r"ascend_(\w+)_install\.info$", os.path.basename(path))
        if match:
            with open(path) as stream:
                found[match.group(1)] = dict(
                    line.strip().split("=", 1) for line in stream if "=" in line
                )
    # Kernels before 8.5 and NNAL have no such file in every release.
    parts = sorted(path for path in walk(REAL + "/share/info") if "/ops" in path)
    kernels = [REAL + "/opp_kernel/version.info"]
    kernels += [path for path in parts if path.endswith("/version.info")]
    others = {"kernels": kernels, "nnal": [ASCEND + "/nnal/atb/latest/version.info"]}
    for package, paths in others.items():
        for path in paths:
            if package not in found and os.path.exists(path):
                found[package] = version_info(path)
    # That of NNAL does not name a release in every release, and its folder does.
    if "nnal" in found and not found["nnal"].get("version"):
        latest = os.path.realpath(ASCEND + "/nnal/atb/latest")
        found["nnal"]["version"] = os.path.basename(latest)
    return found


def version_info(path):
    """The pairs of a version.info, whose separator is '=' or ':', with the release as version."""
    found = dict(re.findall(r"(?m)^ *([^=:\n>]+?) *[=:] *(.*?) *$", read(path)))
    folder = found.get("version_dir", "")  # before 8.5 named after the release
    named = found.get("Ascend-cann-atb") or (folder if folder[:1].isdigit() else "")
    # Some files have small letters, as 8.0.rc2.
    found["version"] = re.sub(r"\brc(?=\d)", "RC", named or found.get("Version", ""))
    return found


def part_versions():
    """Part of the toolkit to its release. Other parts have versions of their own."""
    parts = ("compiler", "runtime", "share/info/runtime")
    paths = {each: "%s/%s/version.info" % (REAL, each) for each in parts}
    return {
        each: version_info(path)["version"] for each, path in paths.items() if os.path.exists(path)
    }


def machine_of(path):
    """The machine of an ELF file; what is for neither is for the NPU, as operators are."""
    if TEXT.search(path) or os.path.islink(path):
        return ""
    with open(path, "rb") as stream:
        head = stream.read(20)
    return MACHINES.get(struct.unpack_from("<H", head, 18)[0], "npu") if head[:4] == ELF else ""


def elf_machines(packages):
    """How many ELF files there are for which machine, and those that would be loaded and are wrong.

    CANN has libraries for both machines: to build programs for either, and for the CPU of the
    device. Of CANN, those are judged that the image's own programs load: from folders of ENV's
    search paths, from run paths of what is there, as Python modules, and from folders that are
    named after this machine.
    """
    counts, wrong, loaded = {}, [], loadable()
    own = re.compile("/linux/%s/" % RECORD["machine"])
    modules = tuple(os.path.realpath(each) + "/" for each in search_path("PYTHONPATH"))
    for path in walk(packages) + walk(ASCEND):
        machine = machine_of(path)
        if machine:
            counts[machine] = counts.get(machine, 0) + 1
        if machine in ("", RECORD["machine"], "npu"):
            continue
        by_python = path.startswith(modules) and is_module(path)
        if path.startswith(packages) or path in loaded or own.search(path) or by_python:
            wrong.append(path)
    helpers = helpers_of_wheels(wrong) if wrong else set()
    return {"counts": counts, "wrong": [path for path in wrong if path not in helpers][:20]}


def search_path(name):
    return [each for each in os.environ.get(name, "").split(":") if each.startswith(ASCEND + "/")]


def loadable():
    """The files of CANN that the loader would take by their names, as the files that they are."""
    folders, seen, found = search_path("LD_LIBRARY_PATH") + search_path("PATH"), set(), set()
    while folders:
        folder = os.path.realpath(folders.pop())
        if folder in seen or not os.path.isdir(folder) or folder.startswith(NOT_OURS):
            continue
        seen.add(folder)
        files = {os.path.realpath(os.path.join(folder, name)) for name in os.listdir(folder)}
        files = {path for path in files if os.path.isfile(path)}
        found |= files
        for path in (each for each in files if machine_of(each) == RECORD["machine"]):
            folders += [each for each in run_paths(path) if each.startswith(ASCEND + "/")]
    return found


def run_paths(path):
    """The folders that a program or library names itself (DT_RPATH and DT_RUNPATH, elf(5))."""
    with open(path, "rb") as stream:
        content = stream.read()
    try:
        start, size, count = struct.unpack_from("<Q14xHH", content, 32)
        headers = [struct.unpack_from("<II6Q", content, start + i * size) for i in range(count)]
        tags = {}
        for kind, _, offset, _, _, length, _, _ in headers:
            if kind == 2:  # PT_DYNAMIC
                pairs = struct.iter_unpack("<QQ", content[offset : offset + length // 16 * 16])
                tags.update((tag, value) for tag, value in pairs if tag in (5, 15, 29))
        names = tags.pop(5, None)  # DT_STRTAB, an address in one of the segments
        texts = []
        for kind, _, offset, address, _, length, _, _ in headers:
            if kind == 1 and names is not None and address <= names < address + length:
                begins = [offset + names - address + each for each in tags.values()]
                texts += [content[each : content.index(b"\0", each)].decode() for each in begins]
    except (struct.error, ValueError):
        return []
    origin = re.compile(r"\$(ORIGIN|\{ORIGIN\})")
    folders = [each for text in texts for each in text.split(":")]
    return [os.path.normpath(origin.sub(os.path.dirname(path), each)) for each in folders]


def helpers_of_wheels(wrong):
    """Those of ``wrong`` that a wheel for this machine, or for any, brings on purpose.

    A debugger brings libraries for the processes that it looks into, and MindSpore programs for the
    card's own processors. A module that Python would import is never one of them.
    """
    found = set()
    for each in installed():
        paths = {os.path.normpath(str(each.locate_file(name))) for name in each.files or ()}
        others = [path for path in wrong if path in paths and not is_module(path)]
        tags = re.findall(r"(?m)^Tag: \S+-(\w+)$", each.read_text("WHEEL") or "") if others else []
        own = [tag for tag in tags if tag.endswith(RECORD["machine"])]
        files = (path for path in paths if os.path.isfile(path))
        if "any" in tags or own and any(machine_of(path) == RECORD["machine"] for path in files):
            found.update(others)
    return found


def is_module(path):
    with open(path, "rb") as stream:
        return b"PyInit_" + os.path.basename(path).split(".")[0].encode() in stream.read()


def broken_scripts():
    broken = []
    for name in os.listdir("/usr/local/bin"):
        path = "/usr/local/bin/" + name
        with open(path, "rb") as stream:
            first = stream.readline().decode("utf-8", "replace").strip()
        if first.startswith("#!") and not os.path.exists(first[2:].split()[0]):
            broken.append("%s: %s" % (path, first))
    return broken


def installed(**where):
    try:
        from importlib.metadata import distributions as every
    except ImportError:
        from importlib_metadata import distributions as every
    return every(**where)


def header(package):
    """The fields of a package's metadata, without its description, which is long."""
    names = ("METADATA", "PKG-INFO", "")
    text = next(filter(None, (package.read_text(name) for name in names)), "")
    return email.message_from_string(text.partition("\n\n")[0])


def distributions():
    names = {}
    for each in installed():
        meta = header(each)
        own = {"version": meta["Version"], "summary": meta["Summary"] or ""}
        # Of two with one name Python imports the first.
        names.setdefault(re.sub(r"[-_.]+", "-", meta["Name"]).lower(), own)
    return names


def twice():
    """The packages with two versions in the folder of the image's packages."""
    versions = {}
    for each in installed(path=[RECORD["site_packages"]]):
        meta = header(each)
        name = re.sub(r"[-_.]+", "-", meta["Name"] or "").lower()
        versions.setdefault(name, set()).add(meta["Version"])
    return {name: sorted(each) for name, each in versions.items() if len(each) > 1}


def left_overs():
    # What a wheel brings is part of it, whatever its name ends in.
    own = RECORD["site_packages"]
    found = [path for path in walk("/") if LEFT_OVER.search(path) and not path.startswith(own)]
    found = [path for path in found if not OWN_ARCHIVES.match(path)]
    for folder in ("/var/lib/apt/lists", "/root/.cache", "/tmp", "/var/tmp", "/var/cache/apt"):
        if os.path.isdir(folder):
            found += [p for p in walk(folder) if os.path.getsize(p) and "/lock" not in p]
    # venv installs pip from these wheels, which Debian keeps apart.
    venv = ("/ensurepip/_bundled/", "/usr/share/python-wheels/")
    return sorted(path for path in set(found) if not any(part in path for part in venv))


def rights():
    """What makes one user another, and what a user without rights can write to."""
    found = []
    for each in ENTRIES:
        path = each.path
        if each.is_symlink() or path == "/tmp" or path.startswith("/tmp/"):
            continue
        info = os.lstat(path)
        # The login records of the base belong to a group of their own.
        writable = stat.S_IWOTH | (0 if os.path.dirname(path) == "/var/log" else stat.S_IWGRP)
        if info.st_mode & (stat.S_ISUID | stat.S_ISGID | writable):
            found.append("%s %o" % (path, stat.S_IMODE(info.st_mode)))
        elif (
            info.st_uid == 1000 or info.st_mode & stat.S_IXUSR and RIGHTS & set(os.listxattr(path))
        ):
            found.append(path)
    return sorted(found)


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as stream:
        return stream.read()


print(
    json.dumps(
        {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "executable": os.path.realpath(sys.executable),
            "environment": dict(os.environ),
            "sourced": sourced_environment(),
            "infos": install_infos(),
            "stand_ins": stand_ins(),
            "own_record": json.loads(read("/usr/local/share/cannery/target.json") or "{}"),
            "parts": part_versions(),
            "version_cfg": read(HOME + "/version.cfg") or read(REAL + "/version.cfg"),
            "elf": elf_machines(RECORD["site_packages"]),
            "rights": rights(),
            "broken_scripts": broken_scripts(),
            "distributions": distributions(),
            "twice": twice(),
            "left_overs": left_overs(),
            "torchair": os.path.exists(TORCHAIR),
            "lists": compare(REAL),  # file_lists.py, put before
            "install_record": read("/etc/Ascend/ascend_cann_install.info"),
            "constraints": read(os.environ.get("PIP_CONSTRAINT", "")),
            "mount_points": {
                path: [os.path.isdir(path), len(os.listdir(path)) if os.path.isdir(path) else 0]
                for path in (ASCEND + "/driver", "/usr/local/dcmi")
            },
            "npu_smi": os.path.exists("/usr/local/bin/npu-smi"),
            "operators": sorted(
                os.listdir(HOME + "/opp/built-in/op_impl/ai_core/tbe/kernel")
                if os.path.isdir(HOME + "/opp/built-in/op_impl/ai_core/tbe/kernel")
                else []
            ),
            "nnal_libraries": sorted(os.listdir(ATB) if os.path.isdir(ATB) else []),
        }
    )
)
