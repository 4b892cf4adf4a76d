# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: imports modules once, and runs each probe in a copy of this process.

Importing torch takes most of the time of a probe that uses it. A copy is as good as a process of its
own, as long as nothing has used the device before.
"""

import base64
import importlib
import json
import os
import sys
import tempfile

ASKED = json.loads(sys.argv[1])


def are_imported(names):
    """Import the modules; whether that went well."""
    try:
        for name in names:
            importlib.import_module(name)
    except BaseException:
        return False
    return True


def run_here(code, is_copy):
    sys.argv = ["-c"]
    if not is_copy:
        os.execv(sys.executable, [sys.executable, "-c", code])
    exec(compile(code, "probe", "exec"), {"__name__": "__main__"})
    # The copy ends as any process does, and what goes wrong then is in its exit code.
    sys.exit()


def text_of(stream):
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


# What is left of an import that failed would change what the probes find.
is_ready = are_imported(ASKED["modules"])
answers = {}
for name, encoded in ASKED["probes"].items():
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            run_here(base64.b64decode(encoded).decode(), is_ready)
        _, status = os.waitpid(child, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        answers[name] = {"code": code, "stdout": text_of(out), "stderr": text_of(err)}
print(json.dumps(answers))
