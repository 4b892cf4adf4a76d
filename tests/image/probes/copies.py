# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: imports modules once, and runs each program in a copy of this process.

Importing torch, or compiling the doctor, takes most of the time of a program that uses it. A copy is
as good as a process of its own, as long as importing is all that was done before.
"""

import base64
import importlib
import json
import os
import runpy
import shutil
import sys
import tempfile

ASKED = json.loads(sys.argv[1])
"""The modules, the programs by a name, and where modules are that Python does not find itself."""


def are_imported(names, places):
    """Import the modules; whether that went well."""
    found = list(map(shutil.which, places))
    try:
        sys.path[:0] = found
        for name in names:
            importlib.import_module(name)
    except BaseException:
        return False
    finally:
        del sys.path[: len(found)]
    return True


def run_code(code, arguments, is_copy):
    sys.argv = ["-c"] + arguments
    if not is_copy:
        os.execv(sys.executable, [sys.executable, "-c", code] + arguments)
    exec(compile(code, "probe", "exec"), {"__name__": "__main__"})


def run_program(argv, is_copy):
    path = shutil.which(argv[0])
    if not path:
        sys.exit("%s is not in PATH" % argv[0])
    if not is_copy or not is_for_this_python(path):
        os.execv(path, [path] + argv[1:])
    sys.argv = [path] + argv[1:]
    sys.path[0] = os.path.dirname(path)
    runpy.run_path(path, run_name="__main__")


def is_for_this_python(path):
    """Whether the first line of a program names this interpreter, and none of a venv."""
    with open(path, "rb") as stream:
        first = os.fsdecode(stream.readline())
    words = first[2:].split() if first.startswith("#!") else []
    if words[:1] == ["/usr/bin/env"]:
        words = list(map(shutil.which, words[1:]))
    if len(words) != 1 or not words[0] or sys.prefix != sys.base_prefix:
        return False
    settings = os.path.join(os.path.dirname(words[0]), "..", "pyvenv.cfg")
    is_this = os.path.realpath(words[0]) == os.path.realpath(sys.executable)
    return is_this and not os.path.exists(settings)


def text_of(stream):
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


# What is left of an import that failed would change what the programs find.
is_ready = are_imported(ASKED["modules"], ASKED["places"])
answers = {}
for name, asked in ASKED["programs"].items():
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            if "code" in asked:
                code = base64.b64decode(asked["code"]).decode()
                run_code(code, asked.get("argv", []), is_ready)
            else:
                run_program(asked["argv"], is_ready)
            # The copy ends as any process does, and what goes wrong then is in its exit code.
            sys.exit()
        _, status = os.waitpid(child, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        answers[name] = {"code": code, "stdout": text_of(out), "stderr": text_of(err)}
print(json.dumps(answers))
