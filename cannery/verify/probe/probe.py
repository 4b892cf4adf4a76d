# SPDX-License-Identifier: Apache-2.0
"""Runs in any image: prints what is in it as a line of JSON. Python 3.5, standard library only.

Every step may fail on its own; what it said is under "failed". Nothing is written.
"""

import base64
import glob
import hashlib
import json
import os
import platform
import re
import subprocess
import sys

SECONDS, SMALL = 60, 1 << 20
OWN = "/usr/local/share/cannery"
DISTS, NPU = ("site-packages", "dist-packages"), ("torch_npu", "mindspore")
FIRST = ("/usr/local/Ascend", os.path.expanduser("~/Ascend"), "/opt/Ascend", "/home/*/Ascend")
SYSTEM = ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOMES = ("ascend-toolkit/*", "cann", "cann-*", "latest", "nnae/*", "nnrt/*")
INFOS = ("ascend_*_install.info", "*-linux/ascend_*_install.info", "*/version.info")
INFOS += ("version.info", "share/info/*/version.info")
NNAL_INFOS = ("nnal/*/*/version.info", "nnal/*/*/ascend_*_install.info")
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel/ascend*"
LIBRARIES = ("/lib64", "/lib64/plugin/opskernel", "/%s-linux/devlib" % platform.machine())
# As in cannery/image/simulator_spec.py.
MARK, MARKED = b"npusim", ("libascendcl.so", "libatb.so", "libascend_hal.so")
MARKER_FILES = ("simulated/*", "*/SIMULATED", "*/*/SIMULATED", "*/*/*/SIMULATED")
LIBRARY_FOLDERS = ("lib64", "*/*/lib64", "nnal/atb/*/atb/*/lib")
TBE = "opp/built-in/op_impl/ai_core/tbe"
OTHER_PYTHONS = (
    *("usr/bin/python3", "usr/bin/python3.*[0-9]", "usr/local/bin/python3"),
    *("usr/local/bin/python3.*[0-9]", "usr/local/python3*/bin/python3"),
    *("opt/*conda*/bin/python3", "opt/*conda*/envs/*/bin/python3"),
    *("root/*conda*/bin/python3", "root/*conda*/envs/*/bin/python3"),
    *("home/*/*conda*/bin/python3", "home/*/*conda*/envs/*/bin/python3"),
)
SHELL_FILES = (
    *("etc/profile", "etc/profile.d/*.sh", "etc/bash.bashrc", "etc/bashrc"),
    *("root/.bashrc", "root/.bash_profile", "root/.profile"),
    *("home/*/.bashrc", "home/*/.bash_profile", "home/*/.profile"),
)
PROGRAMS = ("bash", "sh", "python3", "sshd", "ssh", "npu-smi", "hccn_tool", "atc", "git", "sleep")
MENTION = re.compile(r"set_env\.sh|\bASCEND_\w+=|/usr/local/Ascend|conda activate")
RECORD_ENTRY = re.compile(r"^\"?(triton/.*?)\"?,sha256=([\w-]+)")


def read(path, limit=SMALL):
    try:
        with open(path, "rb") as stream:
            return stream.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def below(roots, patterns):
    """The existing paths of ``patterns`` below ``roots``, each of which may be a pattern."""
    paths = []
    for root in roots:
        for pattern in patterns:
            paths += sorted(glob.glob(os.path.join(root, pattern)))
    return list(dict.fromkeys(paths))


def pairs(text):
    """The lines NAME=VALUE and NAME : VALUE, with lower-case names and without quotes."""
    lines = (re.match(r"\s*([\w. -]+?)\s*[=:]\s*(.*?)\s*$", line) for line in text.splitlines())
    return {m.group(1).lower(): m.group(2).strip("\"'") for m in lines if m}


def libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def users():
    rows = [line.split(":") for line in read("/etc/passwd").splitlines()]
    keys = ("name", "uid", "gid", "home", "shell")
    return [dict(zip(keys, (r[0], r[2], r[3], r[5], r[6]))) for r in rows if len(r) == 7]


def which(name):
    for folder in (os.environ.get("PATH", "") + SYSTEM).split(":"):
        full = os.path.join(folder, name)
        if folder and os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    return ""


def shell_files():
    files = {}
    for path in below(("/",), SHELL_FILES):
        lines = [line.strip() for line in read(path).splitlines()]
        lines = [line for line in lines if not line.startswith("#") and MENTION.search(line)]
        if lines:
            files[path] = lines[:20]
    return files


def distributions():
    """Name to [version, folder] of the Python packages, the first on sys.path first."""
    installed = {}
    for folder in dict.fromkeys(sys.path):
        patterns = ("*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*.egg-info")
        for path in below((folder,), patterns):
            head = read(path).split("\n\n")[0]
            name, version = (
                re.search(r"(?m)^%s:[ \t]*(\S+)" % key, head) for key in ("Name", "Version")
            )
            if name and version:
                versions = installed.setdefault(re.sub(r"[-_.]+", "-", name.group(1)).lower(), [])
                if [version.group(1), folder] not in versions:
                    versions.append([version.group(1), folder])
    return installed


def other_pythons():
    """The other interpreters that have a torch_npu or a MindSpore."""
    pythons = {}
    for path in below(("/",), OTHER_PYTHONS):
        real = os.path.realpath(path)
        prefix = os.path.dirname(os.path.dirname(real))
        patterns = ["lib/python3*/%s/%s-*.dist-info" % (d, n) for d in DISTS for n in NPU]
        packages = below((prefix,), patterns)
        if packages and real != os.path.realpath(sys.executable) and prefix != sys.prefix:
            pythons[real] = [os.path.basename(each)[: -len(".dist-info")] for each in packages]
    return pythons


def toolkit_homes():
    homes = {}
    named = [os.environ.get(name, "") for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")]
    for path in [*named, *below(FIRST, HOMES)]:
        if os.path.isdir(path):
            homes.setdefault(real_home(path), []).append(path)
    return homes


def real_home(path):
    """The folder of a release; ascend-toolkit/latest may be a link, or a folder of links, to it."""
    links = [p for p in below((path,), ("opp", "compiler", "runtime")) if os.path.islink(p)]
    return os.path.dirname(os.path.realpath(links[0])) if links else os.path.realpath(path)


def ascend():
    homes = toolkit_homes()
    infos = below(homes, (*INFOS, "version.cfg")) + below(FIRST, NNAL_INFOS)
    return {
        "homes": homes,
        "infos": {path: pairs(read(path)) for path in dict.fromkeys(map(os.path.realpath, infos))},
        "operators": sorted({os.path.basename(each) for each in below(homes, (KERNELS,))}),
        "set_env": below(FIRST, ("*/set_env.sh", "nnal/*/set_env.sh")),
        "simulated": stand_ins(homes),
        "lists": [each for home in homes for each in compare(home)],  # file_lists.py, put before
    }


def stand_ins(homes):
    """The signs that CANN is a stand-in: files, and the mark in libraries, which a copy keeps."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders += below((*FIRST, *homes), LIBRARY_FOLDERS)
    signs = below((*FIRST, *homes), (*MARKER_FILES, "SIMULATED"))
    for path in below([folder for folder in folders if folder], MARKED):
        try:
            with open(path, "rb") as stream:
                signs += [path] if MARK in stream.read() else []
        except OSError:
            continue
    return signs


def driver():
    """Files that only a host should have: the driver's, its tools, and its libraries."""
    places = ("Ascend/driver/*", "Ascend/firmware/*", "dcmi/*", "bin/npu-smi", "sbin/npu-smi")
    folders = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib64", "/usr/lib/*-linux-gnu")
    libraries = ("libascend_hal.so*", "libdrvdsmi_host.so*", "libdcmi.so*")
    return below(("/usr/local",), places) + below(folders, libraries)


def triton():
    """Whose files are on the disk, of those that triton and triton-ascend both have."""
    records = {}
    for folder in dict.fromkeys(sys.path):
        for path in below(
            (folder,), ("triton-*.dist-info/RECORD", "triton_ascend-*.dist-info/RECORD")
        ):
            name = os.path.basename(os.path.dirname(path)).split("-")[0].replace("_", "-")
            lines = (RECORD_ENTRY.match(line) for line in read(path, 32 * SMALL).splitlines())
            records[name] = (folder, {m.group(1): m.group(2) for m in lines if m})
    if len(records) < 2:
        return {}
    folder, first = records["triton"]
    second = records["triton-ascend"][1]
    counts = {"triton": 0, "triton-ascend": 0, "neither": 0}
    for path in sorted(first.keys() & second.keys())[:200]:
        full = os.path.join(folder, path)
        if first[path] != second[path] and os.path.isfile(full):
            with open(full, "rb") as stream:
                digest = base64.urlsafe_b64encode(hashlib.sha256(stream.read()).digest())
            owners = {first[path]: "triton", second[path]: "triton-ascend"}
            counts[owners.get(digest.decode().rstrip("="), "neither")] += 1
    return counts


def cann_environment(home):
    """The environment with CANN's paths, whatever the image's has, and its stand-in of a driver."""
    env = dict(os.environ)
    paths = {
        "PYTHONPATH": [home + "/python/site-packages", home + "/" + TBE],
        "LD_LIBRARY_PATH": [home + each for each in LIBRARIES],
        "PATH": [home + "/bin", home + "/compiler/ccec_compiler/bin"],
    }
    for name, folders in paths.items():
        env[name] = ":".join(filter(None, [env.get(name, ""), *folders]))
    env.update(ASCEND_OPP_PATH=home + "/opp", ASCEND_HOME_PATH=home, ASCEND_TOOLKIT_HOME=home)
    return env


def attempt(argv, env):
    try:
        done = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, _ = done.communicate(timeout=SECONDS)
        return {"code": done.returncode, "output": output.decode("utf-8", "replace")[-2000:]}
    except subprocess.TimeoutExpired:
        done.kill()
        return {"code": -1, "output": "no answer in %d s" % SECONDS}
    except OSError as error:
        return {"code": -1, "output": str(error)}


def cann_programs():
    """CANN's own Python packages and its compiler of models, where they are: do they start?"""
    ended = {}
    for home in list(toolkit_homes())[:1]:
        env = cann_environment(home)
        for name in ("te", "tbe", "hccl"):
            if below((home,), ("python/site-packages/" + name, TBE + "/" + name)):
                ended[name] = attempt([sys.executable, "-c", "import " + name], env)
        compiler = (below((home,), ("bin/atc", "compiler/bin/atc")) or [which("atc")])[0]
        if compiler:
            ended["atc"] = attempt([compiler, "--help"], env)
    return ended


def torch_file():
    """The version in the files of torch, which its metadata may belie."""
    for folder in sys.path:
        text = read(os.path.join(folder, "torch", "version.py"))
        match = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text)
        if match:
            return match.group(1)
    return ""


STEPS = {
    "machine": platform.machine,
    "libc": libc,
    "os": lambda: pairs(read("/etc/os-release")),
    "python": lambda: {
        "path": os.path.realpath(sys.executable),
        "version": platform.python_version(),
    },
    "other_pythons": other_pythons,
    "users": users,
    "programs": lambda: {name: which(name) for name in PROGRAMS if which(name)},
    "environment": lambda: dict(os.environ),
    "shell_files": shell_files,
    "distributions": distributions,
    "torch_file": torch_file,
    "ascend": ascend,
    "driver": driver,
    "triton": triton,
    "cann_programs": cann_programs,
    "own_record": lambda: json.loads(read(OWN + "/target.json") or "{}"),
    "constraints": lambda: read(os.environ.get("PIP_CONSTRAINT", "")),
}

facts = {"probe": 1, "failed": {}}
for name, step in STEPS.items():
    try:
        facts[name] = step()
    except Exception as error:
        facts["failed"][name] = "%s: %s" % (type(error).__name__, error)
print("\ncannery-probe: " + json.dumps(facts))
